// A chart over time with one line per job or host, its table and its files. It is drawn only while it is visible.

import { Trouble, html, useEffect, useLog, useMemo, useRef, useState } from "../app/core.js";
import { shortNumber, shortSpan } from "../app/text.js";
import Plot from "../vendor/uplot.mjs";
import { STEPS, STEP_STEPS, bestIn, columnsOf, momentText, positiveOf, smoothed, timeMarks, valuesAt } from "./series.js";

const HEIGHT = 240;
const BUCKETS_MAX = 2000;
const TABLE_ROWS = 60;
/** Opacity as two hexadecimal digits: of the band between minimum and maximum, of its edges, and of the mean. */
const OPACITY = { alone: ["44", "99", ""], compared: ["1c", "77", ""], smoothed: ["1c", "33", "44"] };

export const colour = (name) => getComputedStyle(document.documentElement).getPropertyValue(name).trim();

const X_AXES = {
  date: { values: (_, ticks, column, space, step) => timeMarks(ticks, step), space: 80 },
  span: { values: (_, ticks) => ticks.map(shortSpan), incrs: STEPS, space: 80 },
  step: { values: (_, ticks) => ticks.map(String), incrs: STEP_STEPS, space: 90 },
};

function optionsOf(answers, width, range, axis, { log, weight }, zoom, point) {
  const [between, edges, mean] = OPACITY[weight ? "smoothed" : answers.length > 1 ? "compared" : "alone"];
  const line = (i, opacity) => ({
    stroke: colour(`--series-${i}`) + opacity,
    width: opacity ? 1 : 1.5,
    spanGaps: true,
    points: opacity ? { show: false } : { size: 5 },
  });
  const look = { stroke: colour("--quiet"), grid: { stroke: colour("--line"), width: 1 },
    ticks: { stroke: colour("--line"), width: 1 } };
  return {
    width,
    height: HEIGHT,
    legend: { show: false },
    cursor: { drag: { x: true, y: false, setScale: false, dist: 4 }, y: false },
    scales: { x: { time: axis === "date", range: () => range }, y: { distr: log ? 3 : 1 } },
    series: [{}, ...answers.flatMap((_, i) => [mean, edges, edges].map((opacity) => line(i, opacity))),
             ...(weight ? answers.map((_, i) => line(i, "")) : [])],
    bands: answers.map((_, i) => ({ series: [3 * i + 3, 3 * i + 2], fill: colour(`--series-${i}`) + between })),
    axes: [{ ...look, ...X_AXES[axis] },
           { ...look, size: 76, values: (_, ticks) => ticks.map((each) => (each === null ? "" : shortNumber(each))) }],
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

/** Whether the element is visible, or nearly. */
export function useSeen(element) {
  const [seen, set] = useState(false);
  useEffect(() => {
    const watch = new IntersectionObserver((entries) => set(entries.at(-1).isIntersecting), { rootMargin: "100px" });
    watch.observe(element.current);
    return () => watch.disconnect();
  }, []);
  return seen;
}

/** The element's width, and how often the colour scheme has changed. */
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

function Table({ name, job, kinds, lines, of, range, axis, read, keys }) {
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
    <thead><tr><th scope="col">Start</th>${of && html`<th scope="col">${of}</th>`}
      ${["Mean", "Minimum", "Maximum", "Samples"].map((each) => html`<th scope="col">${each}</th>`)}</tr></thead>
    <tbody>${rows.flatMap((each, i) => each.buckets.map(([number, low, high, mean, count]) => html`<tr>
      <td class="number">${momentText(each.from + number * each.width, axis)}</td>
      ${of && html`<td class="job">${lines[i]}</td>`}
      ${[mean, low, high, count].map((value) => html`<td class="number">${shortNumber(value)}</td>`)}</tr>`))}</tbody>
  </table></div>`;
}

function Readout({ columns, at, lines, of, axis }) {
  const told = valuesAt(columns, at);
  if (!told) return html`<p class="readout"></p>`;
  const values = lines.map((line, i) => {
    if (!told[i]) return null;
    const { mean, low, high } = told[i];
    const between = low === high ? "" : ` (${shortNumber(low)} to ${shortNumber(high)})`;
    return html`<span><i class="key series-${i}"></i>${of ? `${line}: ` : ""}${shortNumber(mean)}${between} </span>`;
  });
  return html`<p class="readout">${momentText(columns[0][at], axis)}: ${values}</p>`;
}

/** The choice of the metric's best value, and that of each line, in the range shown. */
function Best({ name, answers, lines, of, axis, best, choose }) {
  const place = ({ from, to }) => [from, ...(to - from > 1 ? [to - 1] : [])].map((each) => momentText(each, axis)).join(" to ");
  return html`<select class="small" aria-label=${`Best value of ${name}`} value=${best} onChange=${(event) => choose(event.target.value)}>
      ${[["", "No best value"], ["min", "Best: minimum"], ["max", "Best: maximum"]].map(([kind, text]) =>
        html`<option value=${kind}>${text}</option>`)}</select>
    ${best && answers && lines.map((line, i) => {
      const found = bestIn(answers[i], best);
      return found && html`<span><i class="key series-${i}"></i>${of ? `${line}: ` : ""}${shortNumber(found.value)} (${place(found)})</span>`;
    })}`;
}

/**
 * `lines`: their names. `of`: what they name, e.g. "Job"; null if there is only one line. `read(range, buckets, signal)`
 * returns { from, width, buckets } of each line. It is called again on news of the `kinds` about `job`, and when `range`
 * or `turn` changes. `axis`: as momentText()'s. `look`: { log, weight } of the y axis and of smoothing. `files`: [{ text, href }].
 * `zoom(from, to)`. `choose(kind)`: the user's choice of the `best` value; undefined: there is none.
 */
export function Chart({ name, job, kinds, lines, of, range, axis = "date", look = {}, best, choose, read, turn, files, zoom }) {
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
  const positive = useMemo(() => look.log && columns && positiveOf(columns), [columns, look.log]);
  useEffect(() => {
    if (!ready || !columns) return undefined;
    const shown = positive ? positive.columns : columns;
    const means = look.weight ? shown.filter((_, i) => i % 3 === 1).map((each) => smoothed(each, look.weight)) : [];
    const plot = new Plot(optionsOf(answers, width, range, axis, look, zoom, setAt), [...shown, ...means], box.current);
    drawn.current = plot;
    return () => plot.destroy();
  }, [answers, ready, width, scheme, look.log, look.weight]);
  return html`<section class="card chart" aria-label=${name}>
    <h2>${name}</h2>
    <div class="plot" ref=${box} onDblClick=${() => zoom(null, null)} aria-hidden="true"></div>
    <${Readout} columns=${columns} at=${at} lines=${lines} of=${of} axis=${axis} />
    ${positive && positive.left > 0 && html`<p class="readout">The log scale leaves out values ≤ 0: in ${positive.left} of ${positive.all} points.</p>`}
    <${Trouble} error=${error} />
    <div class="row">${choose && html`<${Best} name=${name} answers=${columns && answers} lines=${lines} of=${of} axis=${axis} best=${best} choose=${choose} />`}
      ${files.map((each) => html`<a download href=${each.href}>${each.text}</a>`)}</div>
    <details onToggle=${(event) => setOpen(event.target.open)}><summary>Table</summary>
      ${open && html`<${Table} name=${name} job=${job} kinds=${kinds} lines=${lines} of=${of} range=${range}
        axis=${axis} read=${read} keys=${keys} />`}</details>
  </section>`;
}
