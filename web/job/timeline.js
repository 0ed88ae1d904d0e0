// What each host of a job did, and how long each phase took: a waterfall (docs/protocols/timeline.md).

import { Trouble, ask, call, html, jobPath, Link, span, useEffect, useLog, useState } from "../app/core.js";

/** Points in their order, each with the phase that it ends. */
const PHASES = {
  launched: "queued", root: "root file system", inputs: "inputs", begun: "container", joined: "roll call",
  gathered: "other hosts", checked: "preflight", code: "code", packages: "pip", worked: "plan", rank: "launcher",
  first_line: "first line", first_metric: "first metric", last_line: "running", ended: "last line to end", stored: "results",
};
const ORDER = Object.keys(PHASES);
const STARTS = ORDER.slice(0, ORDER.indexOf("first_line") + 1);
const AFTER_LINES = ["first_line", "first_metric"];
const SHOWN_HOSTS = 4;
const GROWS_MS = 1000;
const SCALE = 1000;

/**
 * A host's phases from the submission on, in seconds; they touch, and add up to the whole. `now`: the host
 * goes on, and so does its last phase.
 */
export function phasesOf(host, submitted, now) {
  const at = new Map(host.points.map((each) => [each.point, each.ms]));
  const phases = [];
  let begin = 0;
  for (const point of ORDER) {
    if (!at.has(point)) continue;
    const end = Math.max((at.get(point) - submitted) / 1000, begin);
    phases.push({ point, name: PHASES[point], begin, end });
    begin = end;
  }
  const last = phases.at(-1);
  const end = now === null || last?.point === "stored" ? begin : Math.max((now - submitted) / 1000, begin);
  if (end > begin) {
    if (last?.point === "last_line") Object.assign(last, { end, grows: true });
    else phases.push({ point: null, name: AFTER_LINES.includes(last?.point) ? "running" : "under way", begin, end, grows: true });
  }
  return phases;
}

const isStart = (phase) => STARTS.includes(phase.point);
const waited = (phases) => phases.filter(isStart).at(-1)?.end || 0;
const whole = (phases) => phases.at(-1)?.end || 0;
const took = (seconds) => (seconds < 1 ? `${Math.round(seconds * 1000)} ms` : span(seconds));
const megabytes = (bytes) => `${(bytes / 1e6).toFixed(1)} MB`;

function Bar({ phase, length }) {
  const from = Math.min((phase.begin / length) * SCALE, SCALE - 2);
  const width = Math.max(((phase.end - phase.begin) / length) * SCALE, 2);
  return html`<svg viewBox="0 0 1000 10" preserveAspectRatio="none" aria-hidden="true">
    <rect x=${from} y="1" width=${Math.min(width, SCALE - from)} height="8" /></svg>`;
}

/** Seconds more (or fewer, with a minus) than another took. */
const difference = (seconds) => {
  const ms = Math.round(seconds * 1000);
  if (ms === 0) return "±0 ms";
  return (ms > 0 ? "+" : "-") + took(Math.abs(ms) / 1000);
};

/** `before`: the phases of the host that this one is compared with; none: with nobody. */
function Host({ host, phases, length, all, before }) {
  const then = new Map((before || []).map((phase) => [phase.point, phase.end - phase.begin]));
  const since = (phase) => (then.has(phase.point) && !phase.grows ? difference(phase.end - phase.begin - then.get(phase.point)) : "");
  const attempt = host.attempt > 1 ? `, attempt ${host.attempt}` : "";
  const shown = (phase) => all || isStart(phase) || phase.grows;
  return html`<h3>${host.host}${attempt} <span class="quiet">${took(whole(phases))} in all</span></h3>
    <table class="timeline"><caption class="hidden">Phases of ${host.host}${attempt}</caption>
    <thead class="hidden"><tr><th scope="col">Phase</th><th scope="col">Took</th>${before && html`<th scope="col">Than the last run</th>`}<th scope="col">Bar</th></tr></thead>
    <tbody>${phases.map((phase) => html`<tr key=${phase.point} class=${phase.grows ? "now" : ""}>
      <th scope="row">${phase.name}</th>
      <td class="number">${took(phase.end - phase.begin)}${phase.grows ? " so far" : ""}${
        phase.point === "inputs" && host.input_bytes > 0 ? html`<br /><span class="quiet">${megabytes(host.input_bytes)}</span>` : ""}</td>
      ${before && html`<td class="number">${since(phase)}</td>`}
      <td>${shown(phase) && phase.begin < length && html`<${Bar} phase=${phase} length=${length} />`}</td></tr>`)}</tbody></table>`;
}

/** Many hosts as one: of each phase the least, the median, the most, and whose that was. */
export function summaryOf(hosts) {
  const rows = ORDER.map((point) => {
    const times = hosts.flatMap(({ host, phases }) => phases.filter((phase) => phase.point === point)
      .map((phase) => ({ took: phase.end - phase.begin, host: host.host }))).sort((a, b) => a.took - b.took);
    return { name: PHASES[point], times };
  });
  return rows.filter((row) => row.times.length).map(({ name, times }) => ({
    name, least: times[0].took, median: times[Math.floor(times.length / 2)].took, most: times.at(-1).took, host: times.at(-1).host }));
}

function Summary({ hosts }) {
  return html`<div class="scroll"><table><thead><tr>${["Phase", "Least", "Median", "Most", "By"].map((each) =>
    html`<th scope="col">${each}</th>`)}</tr></thead><tbody>${summaryOf(hosts).map((row) => html`<tr>
      <td>${row.name}</td>${[row.least, row.median, row.most].map((each) => html`<td class="number">${took(each)}</td>`)}
      <td>${row.host}</td></tr>`)}</tbody></table></div>`;
}

/** The seconds that tick while a job runs, without asking. */
function useNow(runs) {
  const [now, set] = useState(Date.now());
  useEffect(() => {
    if (!runs) return undefined;
    const timer = setInterval(() => set(Date.now()), GROWS_MS);
    return () => clearInterval(timer);
  }, [runs]);
  return runs ? now : null;
}

/**
 * Asked for at each step of the job, and with its log until every host has begun to tell; from then on only
 * bars grow, as the server reads whole journals for it.
 */
function useTimeline(name, ended, step) {
  const [state, set] = useState({});
  const begun = state.told?.hosts.length > 0 && state.told.hosts.every((host) => host.points.some((each) => each.point === "first_line"));
  useLog(async (signal) => {
    try {
      const told = await call("DescribeTrainingJobTimeline", { TrainingJobName: name }, signal);
      if (!signal.aborted) set({ told });
    } catch (error) {
      if (!signal.aborted) set((old) => ({ ...old, error }));
    }
  }, name, [name, begun, ended, step], begun || ended ? [] : ["log"]);
  return state;
}

const asHosts = (told, now) => told.hosts.filter((host) => host.points.length)
  .map((host) => ({ host, phases: phasesOf(host, told.submitted_ms, now) }));
/** The host that was last to begin. */
const slowestOf = (hosts) => hosts.reduce((most, each) => (waited(each.phases) > waited(most.phases) ? each : most));

/** The last job that ran the same code on as many hosts, with the phases of its slowest host; null: there is none. */
function useLastRun(name) {
  const [last, set] = useState(null);
  useEffect(() => {
    const ended = new AbortController();
    const look = async () => {
      const { job } = await call("last-run", { job: name }, ended.signal);
      const told = job && (await call("DescribeTrainingJobTimeline", { TrainingJobName: job }, ended.signal));
      const hosts = told ? asHosts(told, null) : [];
      if (!ended.signal.aborted) set(hosts.length ? { job, ...slowestOf(hosts) } : null);
    };
    look().catch(() => set(null)); // A timeline is shown without what it could be compared with.
    return () => ended.abort();
  }, [name]);
  return last;
}

/** `step`: changes with each step of the job. */
export function Timeline({ name, query, ended, step }) {
  const { told, error } = useTimeline(name, ended, step);
  const last = useLastRun(name);
  const now = useNow(!ended);
  if (!told) return html`<${Trouble} error=${error} />`;
  const hosts = asHosts(told, now);
  if (hosts.length === 0) return null;
  const slowest = slowestOf(hosts);
  const many = hosts.length > SHOWN_HOSTS;
  const shown = many ? [hosts.find(({ host }) => host.host === query.host) || slowest] : hosts;
  const all = query.scale === "all" || waited(slowest.phases) === 0;
  const length = Math.max(...hosts.map(({ phases }) => (all ? whole(phases) : waited(phases))), 0.001);
  const chip = (value, text) => html`<button type="button" class="chip" aria-pressed=${all === (value === "all")}
    onClick=${() => ask({ scale: value })}>${text}</button>`;
  return html`<section class="card" aria-label="Timeline"><div class="row"><h2>Timeline</h2><span class="grow"></span>
      ${many && html`<select aria-label="Host" value=${shown[0].host.host} onChange=${(event) => ask({ host: event.target.value })}>
        ${hosts.map(({ host }) => html`<option value=${host.host}>${host.host}${host === slowest.host ? " (last to begin)" : ""}</option>`)}</select>`}
      <div class="chips" role="group" aria-label="Time that is shown">${chip("", "To the first line")}${chip("all", "All")}</div></div>
    <${Trouble} error=${error} />
    ${last && html`<p class="quiet">${slowest.host.host}, the last to begin, against ${last.host.host} of <${Link} to=${jobPath(last.job)}>${last.job}<//>,
      the last run of the same code: + took longer, - shorter.</p>`}
    ${many && html`<${Summary} hosts=${hosts} />`}
    ${shown.map(({ host, phases }) => html`<${Host} key=${host.host} host=${host} phases=${phases} length=${length} all=${all}
      before=${last && host === slowest.host ? last.phases : null} />`)}
  </section>`;
}
