// The phases of a job's hosts, from the points in time that each host has reported (docs/protocols/timeline.md). Pure.

import { shortSpan, span } from "../app/text.js";
import { STEPS } from "../metrics/series.js";

/** Points in order, each with the name of the phase that ends there. */
const PHASES = {
  launched: "queued", root: "root file system", inputs: "inputs", begun: "container", joined: "roll call",
  gathered: "other hosts", checked: "preflight", code: "code", packages: "pip", worked: "plan", rank: "launcher",
  first_line: "first line", first_metric: "first metric", last_line: "running", ended: "last line to end", stored: "results",
};
const ORDER = Object.keys(PHASES);
const STARTS = ORDER.slice(0, ORDER.indexOf("first_line") + 1);
const AFTER_LINES = ["first_line", "first_metric"];
const SCALE = 1000;
const NARROWEST = 2;
/** Phases that are often long have different colours, and so have neighbours. */
const COLOURS = {
  launched: 7, root: 1, inputs: 2, begun: 3, joined: 6, gathered: 4, checked: 2, code: 1, packages: 5, worked: 6, rank: 4,
  first_line: 0, first_metric: 3, last_line: 2, ended: 7, stored: 1, null: 2,
};
const KEYS_MAX = 4;
const TICKS_MAX = 5;
const SHOWN_HOSTS = 4;
const SHORT_STEPS = [0.001, 0.002, 0.005, 0.01, 0.02, 0.05, 0.1, 0.2, 0.5];

/**
 * A host's phases since the job was submitted, in seconds. Each phase begins where the previous one ends, so they add up
 * to the total time. If a host's clock puts a point before the previous one, the phase takes 0 s.
 *
 * `now`, in milliseconds: the host still runs, so its last phase grows: as part of its "start", or of its "run". Null: the
 * host has ended.
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
    if (last?.point === "last_line") Object.assign(last, { end, grows: "run" });
    else phases.push({ point: null, ...(AFTER_LINES.includes(last?.point)
      ? { name: "running", grows: "run" } : { name: "in progress", grows: "start" }), begin, end });
  }
  return phases;
}

/** Whether the phase is part of a host's start, which ends with its first line. */
export const isStart = (phase) => STARTS.includes(phase.point);
export const waited = (phases) => phases.filter(isStart).at(-1)?.end || 0;
export const whole = (phases) => phases.at(-1)?.end || 0;

export const tookText = (seconds) => (seconds < 0.9995 ? `${Math.round(seconds * 1000)} ms` : span(seconds));
export const megabytes = (bytes) => `${(bytes / 1e6).toFixed(1)} MB`;

/** How much longer (+) or shorter (-) a phase took than another one. */
export function differenceText(seconds) {
  const ms = Math.round(seconds * 1000);
  if (ms === 0) return "±0 ms";
  return (ms > 0 ? "+" : "-") + tookText(Math.abs(ms) / 1000);
}

/** Where a phase's bar begins and how wide it is, in thousandths of `length` seconds. Every bar is wide enough to be visible. */
export function barOf(phase, length) {
  const from = Math.min((phase.begin / length) * SCALE, SCALE - NARROWEST);
  const width = Math.max(((phase.end - phase.begin) / length) * SCALE, NARROWEST);
  return { from, width: Math.min(width, SCALE - from) };
}

/** The number of a phase's colour. */
export const colourOf = (phase) => COLOURS[phase.point];

/** The widest phases of the bars, in their order, each with the most seconds that a host took. */
export function keysOf(hosts, length) {
  const most = new Map();
  for (const { phases } of hosts)
    for (const phase of phases) {
      const took = phase.end - phase.begin;
      if (!(most.get(phase.name)?.took >= took)) most.set(phase.name, { phase, took });
    }
  return [...most.values()].filter(({ took }) => took > length / 50).sort((a, b) => b.took - a.took).slice(0, KEYS_MAX)
    .sort((a, b) => a.phase.begin - b.phase.begin);
}

/** Round seconds for the labels of an axis that is `length` long. */
export function ticksOf(length) {
  const step = [...SHORT_STEPS, ...STEPS].find((each) => each >= length / TICKS_MAX) || length;
  // The last label needs room before the end.
  return Array.from({ length: Math.floor((length * 0.93) / step) + 1 }, (_, i) => i * step);
}

/** A label of an axis: 0, 500 ms, 2 s, 1 min. */
export const shortTook = (seconds) => (seconds > 0 && seconds < 0.9995 ? tookText(seconds) : shortSpan(seconds));

/** Summary of many hosts: minimum, median and maximum seconds of each phase, and the slowest host. */
export function summaryOf(hosts) {
  const rows = ORDER.map((point) => {
    const times = hosts.flatMap(({ host, phases }) => phases.filter((phase) => phase.point === point)
      .map((phase) => ({ took: phase.end - phase.begin, host: host.host }))).sort((a, b) => a.took - b.took);
    return { name: PHASES[point], times };
  });
  return rows.filter((row) => row.times.length).map(({ name, times }) => ({
    name, least: times[0].took, median: times[Math.floor(times.length / 2)].took, most: times.at(-1).took, host: times.at(-1).host }));
}

/** The hosts of DescribeTrainingJobTimeline's response that have reported anything, with their phases. */
export const hostsOf = (told, now) => told.hosts.filter((host) => host.points.length)
  .map((host) => ({ host, phases: phasesOf(host, told.submitted_ms, now) }));

/** The host that was last to start. */
export const slowestOf = (hosts) => hosts.reduce((most, each) => (waited(each.phases) > waited(most.phases) ? each : most));

/** The hosts whose bars are shown: all of a few; of more, only the `wanted` one, or the last to start. */
export function shownOf(hosts, wanted) {
  if (hosts.length <= SHOWN_HOSTS) return hosts;
  return [hosts.find(({ host }) => host.host === wanted) || slowestOf(hosts)];
}

/** Whether every host has printed its first line; from then on, only the last phases grow. */
export const haveStarted = (told) =>
  told.hosts.length > 0 && told.hosts.every((host) => host.points.some((each) => each.point === "first_line"));

/** How many seconds the bars span: all of the time, or only the start. Never 0. */
export const lengthOf = (hosts, all) => Math.max(...hosts.map(({ phases }) => (all ? whole(phases) : waited(phases))), 0.001);
