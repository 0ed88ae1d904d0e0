// A job's metrics, alone or compared with other jobs' metrics.

import { Empty, Trouble, ask, html, useData, useEffect, useRef, useState } from "../app/core.js";
import { address } from "../app/address.js";
import { call } from "../app/calls.js";
import { JobHead } from "../job/head.js";
import { Chart, useSeen } from "./chart.js";
import { COMPARED_MAX, NARROWEST, bestChosen, bestOf, comparedJobs, namesOf, parametersOf, rangeOf, stepsOf, timesOf, weightOf,
         wholeSeconds, zoomStep, zoomedTo } from "./series.js";

const CHARTS = 24; // More are created as the user scrolls near the last one.

function Parameters({ descriptions }) {
  const rows = parametersOf(descriptions);
  if (rows.length === 0) return null;
  return html`<section class="card"><h2>Hyperparameters</h2><div class="scroll" tabindex="0" role="region"
      aria-label="Hyperparameters of the compared jobs"><table class="parameters">
    <thead><tr><th scope="col">Name</th>${descriptions.map((each) =>
      html`<th scope="col">${each.TrainingJobName}</th>`)}<th scope="col">Differs</th></tr></thead>
    <tbody>${rows.map((row) => html`<tr class=${row.differs ? "" : "same"}><td>${row.name}</td>
      ${row.values.map((value) => html`<td>${value ?? "–"}</td>`)}<td>${row.differs ? "yes" : "no"}</td></tr>`)}</tbody>
  </table></div></section>`;
}

function Compared({ name, jobs }) {
  const [text, setText] = useState("");
  const [near, setNear] = useState([]);
  const type = async (event) => {
    setText(event.target.value);
    const told = await call("ListTrainingJobs", { NameContains: event.target.value || undefined, MaxResults: 20,
      SortBy: "CreationTime", SortOrder: "Descending" }).catch(() => null);
    if (told) setNear(told.TrainingJobSummaries.map((each) => each.TrainingJobName));
  };
  const put = (all) => ask({ with: all.slice(1).join(","), from: "", to: "" }, false);
  const add = (event) => {
    event.preventDefault();
    if (text) put(comparedJobs(name, [...jobs.slice(1), text].join(",")));
    setText("");
  };
  return html`<ul class="compared">
    ${jobs.length > 1 && jobs.map((job, i) => html`<li key=${job}><i class="key series-${i}"></i>${job}
      ${i > 0 && html` <button type="button" class="small" aria-label=${`Remove ${job} from the comparison`}
        onClick=${() => put(jobs.filter((each) => each !== job))}>✕</button>`}</li>`)}
    ${jobs.length < COMPARED_MAX && html`<li><form class="row" onSubmit=${add}>
      <input aria-label="Job to compare with" placeholder="Compare with job…" list="near" value=${text}
        onInput=${type} onFocus=${type} autocomplete="off" /><button>Add</button>
      <datalist id="near">${near.filter((each) => !jobs.includes(each)).map((each) =>
        html`<option value=${each} />`)}</datalist></form></li>`}</ul>`;
}

/** The time of the address, or all of `whole`, and how it is changed. */
export function zoomOf(query, whole) {
  const range = rangeOf(query);
  return { zooms: range !== null, zoom: (from, to) => ask(zoomedTo(from, to), false), range: range || whole };
}

/** Buttons that do with the keyboard what dragging does with the mouse. */
export function Zoom({ range, whole, zoom }) {
  const go = (step) => zoom(...zoomStep(step, range));
  const near = () => range[1] - range[0] > NARROWEST && go("in");
  return html`<div class="chips" role="group" aria-label="Range">
    <button type="button" class="small" onClick=${near}>Zoom in</button>
    <button type="button" class="small" disabled=${whole} onClick=${() => go("out")}>Zoom out</button>
    <button type="button" class="small" disabled=${whole} onClick=${() => go("earlier")}>Earlier</button>
    <button type="button" class="small" disabled=${whole} onClick=${() => go("later")}>Later</button>
    <button type="button" class="small" disabled=${whole} onClick=${() => zoom(null, null)}>Reset zoom</button></div>`;
}

/** What the server knows of each job's metrics, and how jobs were asked for. */
const readJobs = (names, signal) => Promise.all(names.map(async (name) => {
  const [told, description] = await Promise.all([
    call("metrics", { job: name }, signal), call("DescribeTrainingJob", { TrainingJobName: name }, signal)]);
  return { name, metrics: told.metrics, description };
}));

/** Asks for each job's buckets of the range, which counts from the job's own beginning. */
export async function bucketsOf(jobs, name, by, range, buckets, signal) {
  return Promise.all(jobs.map(async (job) => {
    if (!job.names.has(name)) return { from: wholeSeconds(range).from, width: 1, buckets: [] };
    const told = await call("metric", { job: job.name, name, by, ...wholeSeconds(range, job.begins), buckets }, signal);
    return { ...told, from: told.from - job.begins };
  }));
}

/** Adds charts when it comes into view, or when it is pressed. */
function More({ grow }) {
  const button = useRef(null);
  const seen = useSeen(button);
  useEffect(() => {
    if (seen) grow();
  });
  return html`<button type="button" ref=${button} onClick=${grow}>Show more charts</button>`;
}

/** How all charts are drawn. */
export function Looks({ by, hasSteps, hidden, query, weight }) {
  const choice = (label, value, changed, options) => html`<select aria-label=${label} value=${value}
    onChange=${(event) => ask(changed(event.target.value), false)}>${options.map(([kind, text]) =>
      html`<option value=${kind}>${text}</option>`)}</select>`;
  return html`<div class="filters">
    ${hasSteps && choice("X axis", by, (kind) => ({ by: kind, from: "", to: "" }), [["", "By time"], ["step", "By step"]])}
    ${choice("Y axis", query.scale || "", (kind) => ({ scale: kind }), [["", "Linear scale"], ["log", "Log scale"]])}
    <label>Smoothing <input type="range" aria-label="Smoothing" min="0" max="0.99" step="0.01" value=${weight}
      onChange=${(event) => ask({ smooth: Number(event.target.value) || "" })} /> ${weight.toFixed(2)}</label>
    ${hidden > 0 && html`<span class="quiet">· ${hidden} without steps not shown</span>`}</div>`;
}

export function Metrics({ name, query }) {
  const names = comparedJobs(name, query.with);
  const { value: told, error } = useData((signal) => readJobs(names, signal), names[0], [names.join()]);
  useEffect(() => void (document.title = `Metrics of ${name} · muster`), [name]);
  const known = told && told.length === names.length && told.every((each, i) => each.name === names[i]) ? told : null;
  const own = known?.[0].description;
  const compares = names.length > 1;
  const hasSteps = known?.some((job) => job.metrics.some((each) => each.steps));
  const by = hasSteps && query.by === "step" ? "step" : "";
  const axis = by || (compares ? "span" : "date");
  const all = known && timesOf(known, axis === "span");
  const { jobs, whole } = (by ? timesOf(stepsOf(known), false) : all) || {};
  const { metrics, shown } = namesOf(jobs || [], query.q);
  const look = { log: query.scale === "log", weight: weightOf(query.smooth) };
  const { zooms, zoom, range } = zoomOf(query, whole);
  const [most, setMost] = useState(CHARTS);
  return html`<${JobHead} name=${name} job=${own} />
    <${Trouble} error=${error} />
    <${Compared} name=${name} jobs=${names} />
    ${known && metrics.length === 0 && html`<${Empty} title="No metrics yet">
      <p class="quiet">muster extracts metrics from the job's log, using the MetricDefinitions in the request.</p><//>`}
    ${metrics.length > 0 && html`<div class="filters">
        <input type="search" aria-label="Metric name contains" placeholder="Name contains…" value=${query.q || ""}
          onInput=${(event) => ask({ q: event.target.value })} />
        <${Zoom} range=${range} whole=${!zooms} zoom=${zoom} />
        <span class="quiet"><span role="status">${shown.length} of ${metrics.length}</span> ·
          drag to zoom in, double-click to reset</span></div>
      <${Looks} by=${by} hasSteps=${hasSteps} hidden=${namesOf(all.jobs).metrics.length - metrics.length} query=${query} weight=${look.weight} />
      <div class="charts">${shown.slice(0, most).map((each) => html`<${Chart} key=${by + each} name=${each} job=${name} lines=${names}
        of=${compares ? "Job" : null} range=${range} axis=${axis} zoom=${zoom}
        look=${look} best=${bestOf(query, each)} choose=${(kind) => ask(bestChosen(query, each, kind), false)}
        read=${(part, buckets, signal) => bucketsOf(jobs, each, by, part, buckets, signal)}
        files=${jobs.filter((job) => job.names.has(each)).map((job) => ({
          text: compares ? `CSV for ${job.name}` : "CSV",
          href: address("/ui/call/metric-csv", { job: job.name, name: each, by }) }))} />`)}</div>
      ${most < shown.length && html`<${More} grow=${() => setMost((old) => old + CHARTS)} />`}`}
    ${known && compares && html`<${Parameters} descriptions=${known.map((each) => each.description)} />`}`;
}
