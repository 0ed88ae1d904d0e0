// The data of charts: buckets as columns, axis labels, how they are drawn, compared jobs, the range shown. Pure.

import { jobsIn } from "../app/address.js";
import { dayText, shortDate, shortSpan, timeText } from "../app/text.js";

const DAY = 86400;
/** Possible seconds between two labels of an axis with relative times. */
export const STEPS = [1, 2, 5, 10, 15, 30, 60, 120, 300, 600, 900, 1800, 3600, 7200, 14400, 21600, 43200,
                      ...[1, 2, 5, 10, 20, 50, 100, 200, 500].map((days) => days * DAY)];

/** Possible steps between two labels of an axis with steps. */
export const STEP_STEPS = Array.from({ length: 16 }, (_, i) => [1, 2, 5].map((each) => each * 10 ** i)).flat();

/** A place on an axis as text: "date", "span" (the time since the start) or "step". */
export const momentText = (at, axis) => (axis === "step" ? `step ${at}` : axis === "span" ? shortSpan(at) : shortDate(at));

/** 14:03 for each tick, with the day on a second line if it changed since the last tick. `step`: seconds between ticks. */
export function timeMarks(ticks, step) {
  let last = "";
  return ticks.map((tick) => {
    const date = new Date(tick * 1000);
    const day = dayText(date);
    const time = timeText(date, step < 60);
    const text = step >= DAY ? day : day === last ? time : `${time}\n${day}`;
    last = day;
    return text;
  });
}

/** A range in whole seconds, for a request to the server; at least one second. */
export function wholeSeconds([from, to], begins = 0) {
  const start = Math.floor(from) + begins;
  return { from: start, to: Math.max(Math.ceil(to) + begins, start + 1) };
}

/**
 * The responses for the lines of a chart, each { from, width, buckets: [[number, least, most, mean, count], …] }, as
 * uPlot expects them: one column of times, then mean, minimum and maximum of each line. null: the line has no such bucket.
 */
export function columnsOf(answers) {
  const { from, width } = answers.find((each) => each.buckets.length > 0) || answers[0];
  const numbers = new Set();
  for (const each of answers) for (const bucket of each.buckets) numbers.add(bucket[0]);
  const order = [...numbers].sort((a, b) => a - b);
  const at = new Map(order.map((number, i) => [number, i]));
  const columns = [order.map((number) => from + number * width)];
  for (const each of answers) {
    const [mean, least, most] = [0, 0, 0].map(() => order.map(() => null));
    for (const [number, low, high, middle] of each.buckets) {
      const i = at.get(number);
      [mean[i], least[i], most[i]] = [middle, low, high];
    }
    columns.push(mean, least, most);
  }
  return columns;
}

/** The values of the lines at one of the columns' times: [{ mean, low, high }, …], null for a line without a value. */
export function valuesAt(columns, at) {
  if (!columns || at === null || columns[0][at] === undefined) return null;
  return Array.from({ length: (columns.length - 1) / 3 }, (_, i) => {
    const [mean, low, high] = [1, 2, 3].map((part) => columns[3 * i + part][at]);
    return mean === null ? null : { mean, low, high };
  });
}

/** The columns as a log scale can show them, without values <= 0; how many buckets have such values, and how many there are. */
export function positiveOf(columns) {
  const [at, ...lines] = columns;
  const count = (column, counts) => column.filter((value) => value !== null && counts(value)).length;
  const lows = lines.filter((_, i) => i % 3 === 1);
  return {
    columns: [at, ...lines.map((column) => column.map((value) => (value > 0 ? value : null)))],
    left: lows.reduce((sum, column) => sum + count(column, (value) => value <= 0), 0),
    all: lows.reduce((sum, column) => sum + count(column, () => true), 0),
  };
}

/** The exponential moving average of the values, each with `weight` for those before it; the first values have no bias to 0. */
export function smoothed(column, weight) {
  let [sum, share] = [0, 0];
  return column.map((value) => {
    if (value === null) return null;
    [sum, share] = [sum * weight + value * (1 - weight), share * weight + 1 - weight];
    return sum / share;
  });
}

/** The "min" or "max" of a line and the first bucket with it, [from, to). Null: no values. */
export function bestIn({ from, width, buckets }, kind) {
  const [part, sign] = kind === "min" ? [1, 1] : [2, -1];
  let best = null;
  for (const bucket of buckets) if (!best || sign * bucket[part] < sign * best[part]) best = bucket;
  return best && { value: best[part], from: from + best[0] * width, to: from + (best[0] + 1) * width };
}

/** The buckets of each of the `names`, in their order, in the measure's unit; empty for an unknown host. */
export function bucketsByHost(told, names, unit) {
  const byHost = new Map(told.hosts.map((each) => [each.host, each.buckets]));
  return names.map((name) => ({ from: told.from, width: told.width, buckets: (byHost.get(name) || []).map(
    ([number, low, high, mean, count]) => [number, low / unit, high / unit, mean / unit, count]) }));
}

/** The first of `count` hosts to show, from the address's `text`. Invalid text means 0. */
export function skipOf(text, count) {
  const wanted = Math.max(Math.floor(Number(text) || 0), 0);
  return wanted < count ? wanted : 0;
}

// How the address wants charts to be drawn.

/** The weight of smoothing, 0 to 0.99. Invalid text means 0. */
export function weightOf(text) {
  const weight = Number(text);
  return weight > 0 && weight <= 0.99 ? weight : 0;
}

const KINDS = ["min", "max"]; // Parameters of the query: metrics whose best value is the minimum or the maximum.
const listOf = (text) => (text || "").split(",").filter((each) => each);

/** Which value of the metric is best: "min", "max" or "" (none is shown). */
export const bestOf = (query, name) => KINDS.find((kind) => listOf(query[kind]).includes(encodeURIComponent(name))) || "";

/** How the address changes when `kind` becomes the best value of the metric. */
export function bestChosen(query, name, kind) {
  const own = encodeURIComponent(name);
  return Object.fromEntries(KINDS.map((each) =>
    [each, [...listOf(query[each]).filter((other) => other !== own), ...(each === kind ? [own] : [])].join()]));
}

// Compared jobs and the range shown.

export const COMPARED_MAX = 8;
export const NARROWEST = 2; // Seconds.

/** The jobs that the address names, without duplicates, the view's own job first. */
export function comparedJobs(name, others) {
  return [...new Set([name, ...jobsIn(others)])].slice(0, COMPARED_MAX);
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

/** The jobs with the spans of steps of their metrics, as timesOf() wants them; metrics without steps are left out. */
export const stepsOf = (all) => all.map((job) => ({ ...job, metrics: job.metrics.filter((each) => each.steps)
  .map(({ name, steps: [first, last] }) => ({ name, first, last })) }));

/**
 * When each job's metrics start and end. If times are `relative`, they count from the job's first metric (`begins`).
 * `whole`: the range that includes all of them. `all`: [{ name, metrics: [{ name, first, last }, …] }, …].
 */
export function timesOf(all, relative) {
  const jobs = all.map((job) => ({
    name: job.name,
    names: new Map(job.metrics.map((each) => [each.name, each])),
    first: Math.min(...job.metrics.map((each) => each.first)),
    last: Math.max(...job.metrics.map((each) => each.last)),
  }));
  for (const job of jobs) job.begins = relative && Number.isFinite(job.first) ? job.first : 0;
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

// A job at a glance.

/** The first `most` of the `metrics`: those that `order` names first, in its order. */
export function firstOf(metrics, order, most) {
  const at = new Map(order.map((name, i) => [name, i]));
  const place = (each) => at.get(each.name) ?? order.length;
  return [...metrics].sort((a, b) => place(a) - place(b)).slice(0, most);
}

/** The means of `count` buckets as points of an SVG polyline, 1000 × 100; buckets without values are skipped. */
export function sparkOf(buckets, count) {
  const means = buckets.map((each) => each[3]);
  const [low, high] = [Math.min(...means), Math.max(...means)];
  const y = (mean) => (high > low ? 98 - ((mean - low) / (high - low)) * 96 : 50);
  const points = buckets.map(([number, , , mean]) => [(number / Math.max(count - 1, 1)) * 1000, y(mean)]);
  if (points.length === 1) points.push([1000, points[0][1]]);
  return points.map((each) => each.map((value) => Math.round(value * 10) / 10).join()).join(" ");
}

/** A host's usage as one value: "now", "mean" or "most". Null: no values. */
export function useOf(buckets, kind) {
  if (buckets.length === 0) return null;
  if (kind === "now") return buckets.at(-1)[3];
  if (kind === "most") return Math.max(...buckets.map((each) => each[2]));
  const [sum, count] = buckets.reduce((all, each) => [all[0] + each[3] * each[4], all[1] + each[4]], [0, 0]);
  return sum / count;
}
