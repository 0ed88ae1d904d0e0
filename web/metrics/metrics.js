// A job's metrics, alone or over those of other jobs.

import { Empty, JobHead, Trouble, address, ask, call, html, useEffect, useLog, useRef, useState } from "../app/core.js";
import { Chart, useSeen } from "./chart.js";

const COMPARED_MAX = 8;
const NARROWEST = 2; // Seconds.
const CHARTS = 24; // More are made as one comes near the last of them.

/** The jobs of the address, each once, the view's own first. */
export function comparedJobs(name, others) {
  const all = [name, ...(others || "").split(",").filter((each) => /^[a-zA-Z0-9-]{1,63}$/.test(each))];
  return [...new Set(all)].slice(0, COMPARED_MAX);
}

/** Names of hyperparameters with each job's value; those that differ come first. */
export function parametersOf(descriptions) {
  const names = new Set(descriptions.flatMap((each) => Object.keys(each.HyperParameters || {})));
  const rows = [...names].sort().map((name) => {
    const values = descriptions.map((each) => each.HyperParameters?.[name]);
    return { name, values, differs: values.some((value) => value !== values[0]) };
  });
  return [...rows.filter((row) => row.differs), ...rows.filter((row) => !row.differs)];
}

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
      ${i > 0 && html` <button type="button" class="small" aria-label=${`Compare no more with ${job}`}
        onClick=${() => put(jobs.filter((each) => each !== job))}>✕</button>`}</li>`)}
    ${jobs.length < COMPARED_MAX && html`<li><form class="row" onSubmit=${add}>
      <input aria-label="A job to compare with" placeholder="Compare with job …" list="near" value=${text}
        onInput=${type} onFocus=${type} autocomplete="off" /><button>Add</button>
      <datalist id="near">${near.filter((each) => !jobs.includes(each)).map((each) =>
        html`<option value=${each} />`)}</datalist></form></li>`}</ul>`;
}

/** The time of the address, or all of `whole`, and how it is changed. */
export function zoomOf(query, whole) {
  const zooms = query.from !== undefined && Number(query.to) > Number(query.from);
  const zoom = (from, to) => {
    if (from === null) return ask({ from: "", to: "" }, false);
    const start = Math.max(Math.floor(from), 0);
    return ask({ from: start, to: Math.max(Math.ceil(to), start + NARROWEST) }, false);
  };
  return { zooms, zoom, range: zooms ? [Number(query.from), Number(query.to)] : whole };
}

/** By keys what dragging does by the mouse. */
export function Zoom({ range, whole, zoom }) {
  const [from, to] = range;
  const length = to - from;
  const near = () => length > NARROWEST && zoom(from + length / 4, to - length / 4);
  const far = () => zoom(from - length / 2, to + length / 2);
  const move = (by) => zoom(from + by * length, to + by * length);
  return html`<div class="chips" role="group" aria-label="Time that is shown">
    <button type="button" class="small" onClick=${near}>Zoom in</button>
    <button type="button" class="small" disabled=${whole} onClick=${far}>Zoom out</button>
    <button type="button" class="small" disabled=${whole} onClick=${() => move(-0.5)}>Earlier</button>
    <button type="button" class="small" disabled=${whole} onClick=${() => move(0.5)}>Later</button>
    <button type="button" class="small" disabled=${whole} onClick=${() => zoom(null, null)}>Whole time</button></div>`;
}

/** What the server knows of each job's metrics, and how jobs were asked for. */
function useJobs(names) {
  const [state, set] = useState({});
  useLog(async (signal) => {
    try {
      const all = await Promise.all(names.map(async (name) => {
        const [told, description] = await Promise.all([
          call("metrics", { job: name }, signal), call("DescribeTrainingJob", { TrainingJobName: name }, signal)]);
        return { name, metrics: told.metrics, description };
      }));
      if (!signal.aborted) set({ all });
    } catch (error) {
      if (!signal.aborted) set((old) => ({ ...old, error }));
    }
  }, names[0], [names.join()]);
  return state;
}

/** Where each job's time begins, and how long the longest goes on. */
function timesOf(all, compares) {
  const jobs = all.map((job) => ({
    name: job.name,
    names: new Map(job.metrics.map((each) => [each.name, each])),
    first: Math.min(...job.metrics.map((each) => each.first)),
    last: Math.max(...job.metrics.map((each) => each.last)),
  }));
  for (const job of jobs) job.begins = compares && Number.isFinite(job.first) ? job.first : 0;
  const told = jobs.filter((job) => Number.isFinite(job.first));
  const whole = [Math.min(...told.map((job) => job.first - job.begins)), Math.max(...told.map((job) => job.last - job.begins)) + 1];
  return { jobs, whole };
}

/** Asks for each job's buckets of the range, which counts from the job's own beginning. */
async function bucketsOf(jobs, name, [from, to], buckets, signal) {
  return Promise.all(jobs.map(async (job) => {
    const start = Math.floor(from) + job.begins;
    const end = Math.max(Math.ceil(to) + job.begins, start + 1);
    if (!job.names.has(name)) return { from: Math.floor(from), width: 1, buckets: [] };
    const told = await call("metric", { job: job.name, name, from: start, to: end, buckets }, signal);
    return { ...told, from: told.from - job.begins };
  }));
}

/** Makes more charts once it comes into view, or when it is pressed. */
function More({ grow }) {
  const button = useRef(null);
  const seen = useSeen(button);
  useEffect(() => {
    if (seen) grow();
  });
  return html`<button type="button" ref=${button} onClick=${grow}>More charts</button>`;
}

export function Metrics({ name, query }) {
  const names = comparedJobs(name, query.with);
  const { all, error } = useJobs(names);
  useEffect(() => void (document.title = `Metrics of ${name} · muster`), [name]);
  const known = all && all.length === names.length && all.every((each, i) => each.name === names[i]) ? all : null;
  const own = known?.[0].description;
  const compares = names.length > 1;
  const { jobs, whole } = known ? timesOf(known, compares) : {};
  const metrics = known ? [...new Set(jobs.flatMap((job) => [...job.names.keys()]))].sort() : [];
  const shown = metrics.filter((each) => each.toLowerCase().includes((query.q || "").toLowerCase()));
  const { zooms, zoom, range } = zoomOf(query, whole);
  const [most, setMost] = useState(CHARTS);
  return html`<${JobHead} name=${name} status=${own?.TrainingJobStatus} secondary=${own?.SecondaryStatus} />
    <${Trouble} error=${error} />
    <${Compared} name=${name} jobs=${names} />
    ${known && metrics.length === 0 && html`<${Empty} title="No metrics yet">
      <p class="quiet">They come of the job's lines, by the MetricDefinitions that it was submitted with.</p><//>`}
    ${metrics.length > 0 && html`<div class="filters">
        <input type="search" aria-label="Name of the metric contains" placeholder="Metric …" value=${query.q || ""}
          onInput=${(event) => ask({ q: event.target.value })} />
        <${Zoom} range=${range} whole=${!zooms} zoom=${zoom} />
        <span class="quiet"><span role="status">${shown.length} of ${metrics.length}</span> ·
          drag to look closer, double click to see all</span></div>
      <div class="charts">${shown.slice(0, most).map((each) => html`<${Chart} key=${each} name=${each} job=${name} lines=${names}
        of=${compares ? "Job" : null} range=${range} relative=${compares} zoom=${zoom}
        read=${(range, buckets, signal) => bucketsOf(jobs, each, range, buckets, signal)}
        files=${jobs.filter((job) => job.names.has(each)).map((job) => ({
          text: compares ? `CSV of ${job.name}` : "CSV",
          href: address("/ui/call/metric-csv", { job: job.name, name: each }) }))} />`)}</div>
      ${most < shown.length && html`<${More} grow=${() => setMost((old) => old + CHARTS)} />`}`}
    ${known && compares && html`<${Parameters} descriptions=${known.map((each) => each.description)} />`}`;
}
