// Something over time, a line each of several jobs or hosts: a chart that exists while it is seen, its table, its files.

import { Trouble, html, shortDate, span, useEffect, useLog, useMemo, useRef, useState } from "../app/core.js";
import Plot from "../vendor/uplot.mjs";

const HEIGHT = 240;
const BUCKETS_MAX = 2000;
const TABLE_ROWS = 60;
/** Two hexadecimal digits behind a colour: between least and most, and these two lines. */
const OPACITY = { alone: ["44", "99"], compared: ["1c", "77"] };
const DAY = 86400;
/** What lies between two marks of time that is counted from a beginning. */
const STEPS = [1, 2, 5, 10, 15, 30, 60, 120, 300, 600, 900, 1800, 3600, 7200, 14400, 21600, 43200,
               ...[1, 2, 5, 10, 20, 50, 100, 200, 500].map((days) => days * DAY)];

/** Up to six digits that say something. */
export function shortNumber(value) {
  if (value == null) return "–";
  const size = Math.abs(value);
  if (size !== 0 && (size >= 1e7 || size < 1e-4)) return value.toExponential(5).replace(/\.?0*e\+?/, "e");
  return String(Number(value.toPrecision(6)));
}

export const colour = (name) => getComputedStyle(document.documentElement).getPropertyValue(name).trim();

/** Text for a moment: a date, or the time since each line began. */
const moment = (at, relative) => (relative ? shortSpan(at) : shortDate(at));

/** 14:03, below it the day where that is another than the last mark's. */
function timeMarks(ticks, step) {
  let last = "";
  return ticks.map((tick) => {
    const date = new Date(tick * 1000);
    const two = (number) => String(number).padStart(2, "0");
    const day = `${date.getFullYear()}-${two(date.getMonth() + 1)}-${two(date.getDate())}`;
    const time = `${two(date.getHours())}:${two(date.getMinutes())}${step < 60 ? `:${two(date.getSeconds())}` : ""}`;
    const text = step >= DAY ? day : day === last ? time : `${time}\n${day}`;
    last = day;
    return text;
  });
}

const shortSpan = (seconds) => (seconds === 0 ? "0" : span(seconds).replace(/\.0 s$/, " s").replace(/ 0 (s|min|h)$/, ""));

/** The buckets of each line as uPlot wants them: one list of times, then mean, least, most of each. */
export function columnsOf(answers) {
  const { from, width } = answers[0];
  const numbers = new Set();
  for (const each of answers) for (const bucket of each.buckets) numbers.add(bucket[0]);
  const order = [...numbers].sort((a, b) => a - b);
  const at = new Map(order.map((number, i) => [number, i]));
  const columns = [order.map((number) => from + number * width)];
  for (const each of answers) {
    const [mean, least, most] = [0, 0, 0].map(() => new Array(order.length).fill(null));
    for (const [number, low, high, middle] of each.buckets) {
      const i = at.get(number);
      [mean[i], least[i], most[i]] = [middle, low, high];
    }
    columns.push(mean, least, most);
  }
  return columns;
}

function optionsOf(answers, width, range, relative, zoom, point) {
  const [between, edges] = answers.length > 1 ? OPACITY.compared : OPACITY.alone;
  const line = (i, part) => ({
    stroke: colour(`--series-${i}`) + (part ? edges : ""),
    width: part ? 1 : 1.5,
    spanGaps: true,
    points: part ? { show: false } : { size: 5 },
  });
  const axis = { stroke: colour("--quiet"), grid: { stroke: colour("--line"), width: 1 },
    ticks: { stroke: colour("--line"), width: 1 } };
  const times = relative
    ? { incrs: STEPS, values: (_, ticks) => ticks.map(shortSpan), space: 80 }
    : { values: (_, ticks, column, space, step) => timeMarks(ticks, step), space: 80 };
  return {
    width,
    height: HEIGHT,
    legend: { show: false },
    cursor: { drag: { x: true, y: false, setScale: false, dist: 4 }, y: false },
    scales: { x: { time: !relative, range: () => range } },
    series: [{}, ...answers.flatMap((_, i) => [0, 1, 2].map((part) => line(i, part)))],
    bands: answers.map((_, i) => ({ series: [3 * i + 3, 3 * i + 2], fill: colour(`--series-${i}`) + between })),
    axes: [{ ...axis, ...times },
           { ...axis, size: 76, values: (_, ticks) => ticks.map(shortNumber) }],
    hooks: {
      setSelect: [(plot) => {
        const { left, width: wide } = plot.select;
        if (wide > 4) zoom(plot.posToVal(left, "x"), plot.posToVal(left + wide, "x"));
        plot.setSelect({ left: 0, width: 0, top: 0, height: 0 }, false);
      }],
      setCursor: [(plot) => point(plot.cursor.idx ?? null)],
    },
  };
}

/** Whether the element is in sight, or nearly. */
export function useSeen(element) {
  const [seen, set] = useState(false);
  useEffect(() => {
    const watch = new IntersectionObserver((entries) => set(entries.at(-1).isIntersecting), { rootMargin: "100px" });
    watch.observe(element.current);
    return () => watch.disconnect();
  }, []);
  return seen;
}

/** The element's width, and how often colours have changed. */
export function useLook(element) {
  const [look, set] = useState({ width: 0, scheme: 0 });
  useEffect(() => {
    const watch = new ResizeObserver(([entry]) => {
      const width = Math.floor(entry.contentRect.width);
      set((old) => (old.width === width ? old : { ...old, width }));
    });
    watch.observe(element.current);
    const dark = matchMedia("(prefers-color-scheme: dark)");
    const change = () => set((old) => ({ ...old, scheme: old.scheme + 1 }));
    dark.addEventListener("change", change);
    return () => {
      watch.disconnect();
      dark.removeEventListener("change", change);
    };
  }, []);
  return look;
}

function Table({ name, job, kinds, lines, of, range, relative, read, keys }) {
  const [rows, setRows] = useState(null);
  const [error, setError] = useState(null);
  useLog(async (signal) => {
    try {
      const told = await read(range, TABLE_ROWS, signal);
      if (!signal.aborted) setRows(told);
    } catch (wrong) {
      if (!signal.aborted) setError(wrong);
    }
  }, job, keys, kinds);
  if (!rows) return html`<${Trouble} error=${error} />`;
  return html`<div class="scroll" tabindex="0" role="region" aria-label=${`Table of ${name}`}><table>
    <thead><tr><th scope="col">From</th>${of && html`<th scope="col">${of}</th>`}
      ${["Mean", "Least", "Most", "Samples"].map((each) => html`<th scope="col">${each}</th>`)}</tr></thead>
    <tbody>${rows.flatMap((each, i) => each.buckets.map(([number, low, high, mean, count]) => html`<tr>
      <td class="number">${moment(each.from + number * each.width, relative)}</td>
      ${of && html`<td class="job">${lines[i]}</td>`}
      ${[mean, low, high, count].map((value) => html`<td class="number">${shortNumber(value)}</td>`)}</tr>`))}</tbody>
  </table></div>`;
}

function Readout({ columns, at, lines, of, relative }) {
  if (!columns || at === null || columns[0][at] === undefined)
    return html`<p class="readout"></p>`;
  const values = lines.map((line, i) => {
    const [mean, low, high] = [1, 2, 3].map((part) => columns[3 * i + part][at]);
    if (mean === null) return null;
    const between = low === high ? "" : ` (${shortNumber(low)} to ${shortNumber(high)})`;
    return html`<span><i class="key series-${i}"></i>${of ? `${line}: ` : ""}${shortNumber(mean)}${between} </span>`;
  });
  return html`<p class="readout">${moment(columns[0][at], relative)}: ${values}</p>`;
}

/**
 * `lines`: their names, each `of` a kind, "Job", or null where it is clear whose it is. `read(range, buckets, signal)`
 * gives { from, width, buckets } of each; news of the `kinds` about `job`, and another `range` or `turn`, have it called
 * again. `relative`: times count from a beginning. `files`: [{ text, href }]. `zoom(from, to)`.
 */
export function Chart({ name, job, kinds, lines, of, range, relative, read, turn, files, zoom }) {
  const box = useRef(null);
  const seen = useSeen(box);
  const { width, scheme } = useLook(box);
  const [answers, setAnswers] = useState(null);
  const [error, setError] = useState(null);
  const [at, setAt] = useState(null);
  const [open, setOpen] = useState(false);
  const drawn = useRef(null);
  const ready = seen && width > 0;
  const keys = [name, lines.join(), range.join(), turn];
  useLog(async (signal) => {
    if (!ready) return;
    try {
      const told = await read(range, Math.min(width, BUCKETS_MAX), signal);
      if (signal.aborted) return;
      setAnswers(told);
      setError(null);
    } catch (wrong) {
      if (!signal.aborted) setError(wrong);
    }
  }, job, [...keys, ready && width], kinds);
  const columns = useMemo(() => (answers && answers.length === lines.length ? columnsOf(answers) : null), [answers]);
  useEffect(() => {
    if (!ready || !columns) return undefined;
    const plot = new Plot(optionsOf(answers, width, range, relative, zoom, setAt), columns, box.current);
    drawn.current = plot;
    return () => plot.destroy();
  }, [answers, ready, width, scheme]);
  return html`<section class="card chart" aria-label=${name}>
    <h2>${name}</h2>
    <div class="plot" ref=${box} onDblClick=${() => zoom(null, null)} aria-hidden="true"></div>
    <${Readout} columns=${columns} at=${at} lines=${lines} of=${of} relative=${relative} />
    <${Trouble} error=${error} />
    <div class="row">${files.map((each) => html`<a download href=${each.href}>${each.text}</a>`)}</div>
    <details onToggle=${(event) => setOpen(event.target.open)}><summary>Table</summary>
      ${open && html`<${Table} name=${name} job=${job} kinds=${kinds} lines=${lines} of=${of} range=${range}
        relative=${relative} read=${read} keys=${keys} />`}</details>
  </section>`;
}
