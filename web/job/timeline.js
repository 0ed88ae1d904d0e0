// The phases of each host of a job as a waterfall chart (docs/protocols/timeline.md).

import { Link, Table, Trouble, ask, html, useData, useEffect, useState } from "../app/core.js";
import { jobPath } from "../app/address.js";
import { call } from "../app/calls.js";
import { barOf, colourOf, differenceText, haveStarted, hostsOf, isStart, keysOf, lengthOf, megabytes, shortTook, shownOf, slowestOf, summaryOf,
         ticksOf, tookText, waited, whole } from "./phases.js";

const GROWS_MS = 1000;

function Bar({ phase, length }) {
  const { from, width } = barOf(phase, length);
  return html`<svg viewBox="0 0 1000 10" preserveAspectRatio="none" aria-hidden="true">
    <rect x=${from} y="1" width=${width} height="8" /></svg>`;
}

/** `before`: the phases to compare this host's with, if any. */
function Host({ host, phases, length, all, before }) {
  const then = new Map((before || []).map((phase) => [phase.point, phase.end - phase.begin]));
  const since = (phase) => (then.has(phase.point) && !phase.grows ? differenceText(phase.end - phase.begin - then.get(phase.point)) : "");
  const attempt = host.attempt > 1 ? `, attempt ${host.attempt}` : "";
  const shown = (phase) => all || isStart(phase) || phase.grows;
  return html`<h3>${host.host}${attempt} <span class="quiet">${tookText(whole(phases))} total</span></h3>
    <table class="timeline"><caption class="hidden">Phases of ${host.host}${attempt}</caption>
    <thead class="hidden"><tr><th scope="col">Phase</th><th scope="col">Duration</th>${before && html`<th scope="col">Difference from last run</th>`}<th scope="col">Bar</th></tr></thead>
    <tbody>${phases.map((phase) => html`<tr key=${phase.point} class=${phase.grows ? "now" : ""}>
      <th scope="row">${phase.name}</th>
      <td class="number">${tookText(phase.end - phase.begin)}${phase.grows ? " so far" : ""}${
        phase.point === "inputs" && host.input_bytes > 0 ? html`<br /><span class="quiet">${megabytes(host.input_bytes)}</span>` : ""}</td>
      ${before && html`<td class="number">${since(phase)}</td>`}
      <td>${shown(phase) && phase.begin < length && html`<${Bar} phase=${phase} length=${length} />`}</td></tr>`)}</tbody></table>`;
}

/** One bar for each host, with an axis; the widest phases are named below. `all`: beyond the first line. */
function Strip({ hosts, length, all }) {
  const shown = hosts.map(({ host, phases }) => ({ host, phases: phases.filter((each) => all || isStart(each) || each.grows === "start") }));
  return html`<table class="strip"><caption class="hidden">Phases of each host; the Phases button opens a table with their durations</caption>
    <tbody>${shown.map(({ host, phases }) => html`<tr key=${host.host}><th scope="row">${host.host}</th>
      <td><svg viewBox="0 0 1000 10" preserveAspectRatio="none" aria-hidden="true">${phases.map((phase) => {
        const { from, width } = barOf(phase, length);
        return html`<rect key=${phase.name} class=${`fill-${colourOf(phase)}`} x=${from} y="0" width=${width} height="10">
          <title>${phase.name}: ${tookText(phase.end - phase.begin)}</title></rect>`;
      })}</svg></td>
      <td class="number">${tookText(all ? whole(phases) : waited(phases))}</td></tr>`)}
    <tr aria-hidden="true"><td></td><td class="axis">${ticksOf(length).map((tick) =>
      html`<span style=${{ left: `${(100 * tick) / length}%` }}>${shortTook(tick)}</span>`)}</td><td></td></tr></tbody></table>
    <p class="keys quiet">${keysOf(shown, length).map(({ phase, took }) =>
      html`<span key=${phase.name}><i class=${`key series-${colourOf(phase)}`}></i>${phase.name} ${tookText(took)}</span>`)}</p>`;
}

const Summary = ({ hosts }) => html`<${Table} title="Phases of all hosts" columns=${["Phase", "Minimum", "Median", "Maximum", "Slowest host"]}
  rows=${summaryOf(hosts).map((row) => [row.name, ...[row.least, row.median, row.most].map(tookText), row.host])} />`;

/** The current time, updated every second while the job runs. */
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
 * Fetches the timeline at each step of the job and, until every host has printed its first line, when the log grows.
 * Afterwards only the bars grow: the server reads whole journals for each request.
 */
function useTimeline(name, ended, step) {
  const [begun, begin] = useState(false);
  const state = useData((signal) => call("DescribeTrainingJobTimeline", { TrainingJobName: name }, signal), name,
    [name, begun, ended, step], begun || ended ? [] : ["log"]);
  const has = state.value !== undefined && haveStarted(state.value);
  useEffect(() => begin(has), [has]);
  return state;
}

/** The last job that ran the same code on the same number of hosts, with the phases of its slowest host; null: no such job. */
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
    look().catch(() => set(null)); // Without an earlier job, the timeline shows no comparison.
    return () => ended.abort();
  }, [name]);
  return last;
}

/** The phases of each host; opened on demand. */
function Phases({ name, hosts, shown, slowest, length, all }) {
  const last = useLastRun(name);
  return html`${last && html`<p class="quiet">${slowest.host.host} (started last) compared with ${last.host.host} of <${Link} to=${jobPath(last.job)}>${last.job}<//>,
      the last run of the same code: + is longer, - is shorter.</p>`}
    ${hosts.length > shown.length && html`<${Summary} hosts=${hosts} />`}
    ${shown.map(({ host, phases }) => html`<${Host} key=${host.host} host=${host} phases=${phases} length=${length} all=${all}
      before=${last && host === slowest.host ? last.phases : null} />`)}`;
}

/** `step`: changes with each step of the job. */
export function Timeline({ name, query, ended, step }) {
  const { value: told, error } = useTimeline(name, ended, step);
  const now = useNow(!ended);
  if (!told) return html`<${Trouble} error=${error} />`;
  const hosts = hostsOf(told, now);
  if (hosts.length === 0) return null;
  const slowest = slowestOf(hosts);
  const shown = shownOf(hosts, query.host);
  const all = query.scale === "all" || waited(slowest.phases) === 0;
  const length = lengthOf(hosts, all);
  const chip = (value, text) => html`<button type="button" class="chip small" aria-pressed=${all === (value === "all")}
    onClick=${() => ask({ scale: value })}>${text}</button>`;
  const open = query.phases !== undefined;
  return html`<section class="card wide" aria-label="Timeline"><div class="row"><h2>Timeline</h2><span class="grow"></span>
      ${hosts.length > shown.length && html`<select aria-label="Host" value=${shown[0].host.host} onChange=${(event) => ask({ host: event.target.value })}>
        ${hosts.map(({ host }) => html`<option value=${host.host}>${host.host}${host === slowest.host ? " (started last)" : ""}</option>`)}</select>`}
      <div class="chips" role="group" aria-label="Time range">${chip("", "Until first line")}${chip("all", "All")}</div>
      <button type="button" class="small" aria-expanded=${open} onClick=${() => ask({ phases: open ? "" : "open" })}>Phases</button></div>
    <${Trouble} error=${error} />
    <${Strip} hosts=${shown} length=${length} all=${all} />
    ${open && html`<${Phases} name=${name} hosts=${hosts} shown=${shown} slowest=${slowest} length=${length} all=${all} />`}
  </section>`;
}
