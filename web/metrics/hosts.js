// Resource usage of a job's hosts over time, and a metric by rank.

import { Empty, Trouble, ask, html, useData, useEffect, useLog, useRef, useState, useTurns } from "../app/core.js";
import { address } from "../app/address.js";
import { call } from "../app/calls.js";
import { shortDate, shortNumber } from "../app/text.js";
import { JobHead } from "../job/head.js";
import { bucketsByHost, skipOf, wholeSeconds } from "./series.js";
import { Chart, colour, useLook } from "./chart.js";
import { Zoom, zoomOf } from "./metrics.js";
import { COLUMNS, RANKS_MAX, addRows, cellAfter, columnCount, columnWidth, figuresOf, inside, mapOf, rankName,
         strengthOf } from "./ranks.js";

const HOSTS = 8; // As many as have a colour.
const AGAIN_MS = 2000;
const MIB = 1 << 20;
const MEASURES = [
  ["processor", "CPUs in use", 1],
  ["memory", "Memory (MiB)", MIB],
  ["disk-read", "Disk reads (MiB/s)", MIB],
  ["disk-written", "Disk writes (MiB/s)", MIB],
  ["network-in", "Network in (MiB/s)", MIB],
  ["network-out", "Network out (MiB/s)", MIB],
];
const GPU_MEASURES = [
  ["gpu-time", "GPU utilization (%)", 1],
  ["gpu-memory", "Memory per GPU (MiB)", MIB],
];
const LIVES = ["InProgress", "Stopping"];

const LABELS = 96; // Pixels at the left.
const ROW = [3, 18]; // Pixels of a row, least and most.
const MAP_HEIGHT = 320;

/** The job and its hosts. */
function useHosts(name) {
  const [lives, setLives] = useState(false);
  const turn = useTurns(AGAIN_MS, lives);
  const { value = {}, error } = useData(async (signal) => {
    const [told, description] = await Promise.all([
      call("hosts", { job: name }, signal), call("DescribeTrainingJob", { TrainingJobName: name }, signal)]);
    setLives(LIVES.includes(description.TrainingJobStatus));
    return { hosts: told.hosts, description };
  }, name, [name, turn], ["jobs"]);
  return { ...value, error };
}

/** The buckets of the hosts in the order of `names`; empty for hosts missing from the response. */
async function usageOf(job, measure, unit, skip, names, range, buckets, signal) {
  const told = await call("host-usage", { job, measure, skip, ...wholeSeconds(range), buckets }, signal);
  return bucketsByHost(told, names, unit);
}

/** The hosts shown, with their colours; buttons to page through them if there are more hosts than colours. */
function Shown({ names, skip, all }) {
  const to = (number) => ask({ skip: number || "" }, false);
  return html`<ul class="compared" aria-label="Hosts shown">
    ${names.map((each, i) => html`<li key=${each}><i class="key series-${i}"></i>${each}</li>`)}
    ${all > HOSTS && html`<li class="row"><span role="status">Hosts ${skip + 1}–${skip + names.length} of ${all}</span>
      <button type="button" class="small" disabled=${skip === 0} onClick=${() => to(Math.max(skip - HOSTS, 0))}>Previous hosts</button>
      <button type="button" class="small" disabled=${skip + HOSTS >= all} onClick=${() => to(skip + HOSTS)}>Next hosts</button></li>`}</ul>`;
}

/**
 * The metric by rank and time. Each call scans a piece of the log; news of the log make it scan the new lines. Columns
 * are so wide that they need not change until the job has run twice as long.
 */
function useRanks(job, metric, zoomed) {
  const [state, set] = useState({});
  const held = useRef({});
  useLog(async (signal) => {
    try {
      const { metrics } = await call("metrics", { job }, signal);
      const known = metrics.find((each) => each.name === metric);
      if (!known) return void set({ metric, map: mapOf(new Map()) });
      const [from, to] = zoomed ? zoomed.map(Math.floor) : [known.first, known.last + 1];
      const width = columnWidth(from, to);
      const key = [metric, from, width].join();
      if (held.current.key !== key) held.current = { key, next: 0, rows: new Map() };
      const own = held.current;
      for (let more = true; more;) {
        const told = await call("ranks", { job, name: metric, first: own.next, from, to: from + COLUMNS * width,
          buckets: COLUMNS }, signal);
        addRows(own.rows, told.rows);
        own.next = told.next;
        more = told.next < told.count;
        const columns = columnCount(from, to, width);
        set({ metric, from, width, columns, map: mapOf(own.rows), looked: told.count ? told.next / told.count : 1 });
      }
    } catch (error) {
      if (!signal.aborted) set((old) => ({ ...old, error }));
    }
  }, job, [job, metric, zoomed?.join()]);
  return state.metric === metric || state.error ? state : {};
}

function draw(canvas, width, map, columns, at) {
  const tall = Math.min(Math.max(MAP_HEIGHT / map.rows.length, ROW[0]), ROW[1]);
  const scale = devicePixelRatio || 1;
  const height = tall * map.rows.length;
  [canvas.width, canvas.height] = [width * scale, height * scale];
  [canvas.style.width, canvas.style.height] = [`${width}px`, `${height}px`];
  const pen = canvas.getContext("2d");
  pen.scale(scale, scale);
  const wide = (width - LABELS) / columns;
  const left = (x) => Math.round(LABELS + x * wide); // Whole pixels, because overlapping cells would look darker.
  const named = Math.ceil(14 / tall);
  pen.textBaseline = "middle";
  map.rows.forEach((row, y) => {
    pen.globalAlpha = 1;
    pen.fillStyle = colour("--quiet");
    const text = row.rank < 0 ? row.host : `rank ${row.rank}`;
    if (y % named === 0) pen.fillText(text, 0, Math.min(y * tall + Math.max(tall, 14) / 2, height - 6), LABELS - 8);
    pen.fillStyle = colour("--accent");
    row.means.slice(0, columns).forEach((value, x) => {
      if (value === null) return;
      pen.globalAlpha = strengthOf(value, map);
      pen.fillRect(left(x), y * tall, left(x + 1) - left(x), tall > 6 ? tall - 1 : tall);
    });
  });
  if (!at) return;
  pen.globalAlpha = 1;
  pen.strokeStyle = colour("--text");
  pen.lineWidth = 2;
  pen.strokeRect(LABELS + at[0] * wide, at[1] * tall, wide, tall);
}

function HeatMap({ name, seen: { from, width: seconds, columns, map } }) {
  const box = useRef(null);
  const canvas = useRef(null);
  const { width, scheme } = useLook(box);
  const [place, put] = useState(null);
  const at = place && inside(...place, columns, map.rows.length);
  useEffect(() => {
    if (width > LABELS) draw(canvas.current, width, map, columns, at);
  }, [width, scheme, map, columns, at?.join()]);
  const key = (event) => {
    const cell = cellAfter(event.key, at, columns, map.rows.length);
    if (!cell) return;
    event.preventDefault();
    put(cell);
  };
  const point = (event) => {
    const area = canvas.current.getBoundingClientRect();
    const x = (event.clientX - area.left - LABELS) / (area.width - LABELS);
    put(x < 0 ? null : [Math.floor(x * columns), Math.floor((event.clientY - area.top) / area.height * map.rows.length)]);
  };
  const row = at && map.rows[at[1]];
  const value = row?.means[at[0]] ?? null;
  return html`<div ref=${box} class="heat" tabindex="0" role="application" onKeyDown=${key} onPointerMove=${point}
      aria-label=${`${name} by rank and time; use the arrow keys to read values`}><canvas ref=${canvas} aria-hidden="true" /></div>
    <div class="row quiet"><span>${shortDate(from)} to ${shortDate(from + columns * seconds)}</span><span class="grow"></span>
      <span>colour scale: ${shortNumber(map.low)} (weakest) to ${shortNumber(map.high)} or more (strongest)</span></div>
    <p class="readout" aria-live="polite">${row && html`${rankName(row)}, ${shortDate(from + at[0] * seconds)}: ${
      value === null ? "no value" : html`${shortNumber(value)} (mean of ${row.counts[at[0]]} values)`}`}</p>`;
}

function RankTable({ name, seen: { from, width, map } }) {
  return html`<div class="scroll" tabindex="0" role="region" aria-label=${`Table of ${name} by rank`}><table>
    <thead><tr>${["Rank", "Host", "Mean", "Minimum", "Maximum", "Time of maximum", "Values"].map((each) =>
      html`<th scope="col">${each}</th>`)}</tr></thead>
    <tbody>${map.rows.map((row) => {
      const { mean, least, most, column, count } = figuresOf(row);
      return html`<tr><td class="number">${row.rank < 0 ? "–" : row.rank}</td><td>${row.host}</td>
        ${[mean, least, most].map((each) => html`<td class="number">${shortNumber(each)}</td>`)}
        <td class="number">${shortDate(from + column * width)}</td><td class="number">${count}</td></tr>`;
    })}</tbody></table></div>`;
}

function Ranks({ name, metrics, metric, zoomed }) {
  const [open, setOpen] = useState(false);
  const seen = useRanks(name, metric, zoomed);
  const rows = seen.map?.rows.length;
  return html`<section class="card" aria-label="By rank">
    <div class="row"><h2>By rank</h2><select aria-label="Metric by rank" value=${metric}
      onChange=${(event) => ask({ metric: event.target.value }, false)}>${metrics.map((each) =>
        html`<option value=${each}>${each}</option>`)}</select>
      <span class="quiet" role="status">${seen.looked < 1 ? `${Math.floor(seen.looked * 100)}% of the log scanned` : ""}</span></div>
    <${Trouble} error=${seen.error} />
    ${rows === 0 && html`<p class="quiet">No values${zoomed ? " in this time range" : " yet"}.</p>`}
    ${rows > 0 && html`<${HeatMap} name=${metric} seen=${seen} />
      ${rows === RANKS_MAX && html`<p class="quiet">Showing the first ${RANKS_MAX} ranks.</p>`}
      <details onToggle=${(event) => setOpen(event.target.open)}><summary>Table</summary>
        ${open && html`<${RankTable} name=${metric} seen=${seen} />`}</details>`}
  </section>`;
}

export function Hosts({ name, query }) {
  const { hosts, description, error } = useHosts(name);
  useEffect(() => void (document.title = `Hosts of ${name} · muster`), [name]);
  const first = hosts?.length ? Math.min(...hosts.map((each) => each.first)) : 0;
  const last = hosts?.length ? Math.max(...hosts.map((each) => each.last)) : 0;
  const { zooms, zoom, range } = zoomOf(query, [first, last + 1]);
  const skip = skipOf(query.skip, hosts?.length || 0);
  const metrics = (description?.AlgorithmSpecification?.MetricDefinitions || []).map((each) => each.Name);
  const metric = metrics.includes(query.metric) ? query.metric : metrics[0];
  const names = (hosts || []).slice(skip, skip + HOSTS).map((each) => each.host);
  const measures = hosts?.some((each) => each.gpus) ? [...MEASURES, ...GPU_MEASURES] : MEASURES;
  return html`<${JobHead} name=${name} job=${description} />
    <${Trouble} error=${error} />
    ${hosts && hosts.length === 0 && html`<${Empty} title="No host metrics">
      <p class="quiet">muster records them while a host is running, starting one second after it starts.</p><//>`}
    ${names.length > 0 && html`<${Shown} names=${names} skip=${skip} all=${hosts.length} />
      <div class="filters"><${Zoom} range=${range} whole=${!zooms} zoom=${zoom} />
        <span class="quiet">drag to zoom in, double-click to reset</span></div>
      <div class="charts">${measures.map(([measure, title, unit]) => html`<${Chart} key=${measure} name=${title} job=${name}
        kinds=${["jobs"]} lines=${names} of=${hosts.length > 1 ? "Host" : null} range=${range} turn=${last} zoom=${zoom}
        read=${(part, buckets, signal) => usageOf(name, measure, unit, skip, names, part, buckets, signal)}
        files=${[{ text: "CSV", href: address("/ui/call/host-csv", { job: name, measure }) }]} />`)}</div>`}
    ${metric && html`<${Ranks} key=${metric} name=${name} metrics=${metrics} metric=${metric} zoomed=${zooms ? range : null} />`}`;
}
