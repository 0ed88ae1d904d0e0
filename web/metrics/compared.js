// Compared jobs and the time range shown. Pure.

export const COMPARED_MAX = 8;
export const NARROWEST = 2; // Seconds.

/** The jobs that the address names, without duplicates, the view's own job first. */
export function comparedJobs(name, others) {
  const all = [name, ...(others || "").split(",").filter((each) => /^[a-zA-Z0-9-]{1,63}$/.test(each))];
  return [...new Set(all)].slice(0, COMPARED_MAX);
}

/** Each hyperparameter with its value in each job, in the jobs' order. Those that differ come first. */
export function parametersOf(descriptions) {
  const names = new Set(descriptions.flatMap((each) => Object.keys(each.HyperParameters || {})));
  const rows = [...names].sort().map((name) => {
    const values = descriptions.map((each) => each.HyperParameters?.[name]);
    return { name, values, differs: values.some((value) => value !== values[0]) };
  });
  return [...rows.filter((row) => row.differs), ...rows.filter((row) => !row.differs)];
}

/**
 * When each job's metrics start and end. If jobs are compared, times are relative to the job's first metric (`begins`).
 * `whole`: the range that includes all of them. `all`: [{ name, metrics: [{ name, first, last }, …] }, …].
 */
export function timesOf(all, compares) {
  const jobs = all.map((job) => ({
    name: job.name,
    names: new Map(job.metrics.map((each) => [each.name, each])),
    first: Math.min(...job.metrics.map((each) => each.first)),
    last: Math.max(...job.metrics.map((each) => each.last)),
  }));
  for (const job of jobs) job.begins = compares && Number.isFinite(job.first) ? job.first : 0;
  const known = jobs.filter((job) => Number.isFinite(job.first));
  const whole = [Math.min(...known.map((job) => job.first - job.begins)), Math.max(...known.map((job) => job.last - job.begins)) + 1];
  return { jobs, whole };
}

/** The names of all metrics of the jobs, without duplicates, and those that contain `part`, ignoring case. */
export function namesOf(jobs, part = "") {
  const metrics = [...new Set(jobs.flatMap((job) => [...job.names.keys()]))].sort();
  return { metrics, shown: metrics.filter((each) => each.toLowerCase().includes(part.toLowerCase())) };
}

/** The time range in the address, or null. */
export function rangeOf({ from, to }) {
  const range = [Number(from), Number(to)];
  return from !== undefined && range.every(Number.isFinite) && range[0] >= 0 && range[1] > range[0] ? range : null;
}

/** How the address changes to show `from` to `to`: whole seconds, at least NARROWEST, not before 0. null: everything. */
export function zoomedTo(from, to) {
  if (from === null) return { from: "", to: "" };
  const start = Math.max(Math.floor(from), 0);
  return { from: start, to: Math.max(Math.ceil(to), start + NARROWEST) };
}

/** The range after a zoom button is pressed. */
export function zoomStep(step, [from, to]) {
  const length = to - from;
  if (step === "in") return [from + length / 4, to - length / 4];
  if (step === "out") return [from - length / 2, to + length / 2];
  const by = (step === "earlier" ? -length : length) / 2;
  return [from + by, to + by];
}
