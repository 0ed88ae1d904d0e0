// What each host of a job did, and how long each phase took: a waterfall (docs/protocols/timeline.md).

import { Link, Trouble, ask, html, useEffect, useLog, useState } from "../app/core.js";
import { jobPath } from "../app/address.js";
import { call } from "../app/calls.js";
import { barOf, differenceText, haveStarted, hostsOf, isStart, lengthOf, megabytes, slowestOf, summaryOf, tookText, waited,
         whole } from "./phases.js";

const SHOWN_HOSTS = 4;
const GROWS_MS = 1000;

function Bar({ phase, length }) {
  const { from, width } = barOf(phase, length);
  return html`<svg viewBox="0 0 1000 10" preserveAspectRatio="none" aria-hidden="true">
    <rect x=${from} y="1" width=${width} height="8" /></svg>`;
}

/** `before`: the phases of the host that this one is compared with; none: with nobody. */
function Host({ host, phases, length, all, before }) {
  const then = new Map((before || []).map((phase) => [phase.point, phase.end - phase.begin]));
  const since = (phase) => (then.has(phase.point) && !phase.grows ? differenceText(phase.end - phase.begin - then.get(phase.point)) : "");
  const attempt = host.attempt > 1 ? `, attempt ${host.attempt}` : "";
  const shown = (phase) => all || isStart(phase) || phase.grows;
  return html`<h3>${host.host}${attempt} <span class="quiet">${tookText(whole(phases))} in all</span></h3>
    <table class="timeline"><caption class="hidden">Phases of ${host.host}${attempt}</caption>
    <thead class="hidden"><tr><th scope="col">Phase</th><th scope="col">Took</th>${before && html`<th scope="col">Than the last run</th>`}<th scope="col">Bar</th></tr></thead>
    <tbody>${phases.map((phase) => html`<tr key=${phase.point} class=${phase.grows ? "now" : ""}>
      <th scope="row">${phase.name}</th>
      <td class="number">${tookText(phase.end - phase.begin)}${phase.grows ? " so far" : ""}${
        phase.point === "inputs" && host.input_bytes > 0 ? html`<br /><span class="quiet">${megabytes(host.input_bytes)}</span>` : ""}</td>
      ${before && html`<td class="number">${since(phase)}</td>`}
      <td>${shown(phase) && phase.begin < length && html`<${Bar} phase=${phase} length=${length} />`}</td></tr>`)}</tbody></table>`;
}

function Summary({ hosts }) {
  return html`<div class="scroll"><table><thead><tr>${["Phase", "Least", "Median", "Most", "By"].map((each) =>
    html`<th scope="col">${each}</th>`)}</tr></thead><tbody>${summaryOf(hosts).map((row) => html`<tr>
      <td>${row.name}</td>${[row.least, row.median, row.most].map((each) => html`<td class="number">${tookText(each)}</td>`)}
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
  const begun = state.told !== undefined && haveStarted(state.told);
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

/** The last job that ran the same code on as many hosts, with the phases of its slowest host; null: there is none. */
function useLastRun(name) {
  const [last, set] = useState(null);
  useEffect(() => {
    const ended = new AbortController();
    const look = async () => {
      const { job } = await call("last-run", { job: name }, ended.signal);
      const told = job && (await call("DescribeTrainingJobTimeline", { TrainingJobName: job }, ended.signal));
      const hosts = told ? hostsOf(told, null) : [];
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
  const hosts = hostsOf(told, now);
  if (hosts.length === 0) return null;
  const slowest = slowestOf(hosts);
  const many = hosts.length > SHOWN_HOSTS;
  const shown = many ? [hosts.find(({ host }) => host.host === query.host) || slowest] : hosts;
  const all = query.scale === "all" || waited(slowest.phases) === 0;
  const length = lengthOf(hosts, all);
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
