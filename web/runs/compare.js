// The comparison of selected runs: a chart of one metric, and a table.

import { Empty, Link, Trouble, ask, html, useData, useEffect, useTurns } from "../app/core.js";
import { address, jobPath } from "../app/address.js";
import { call } from "../app/calls.js";
import { Chart } from "../metrics/chart.js";
import { Looks, Zoom, bucketsOf, zoomOf } from "../metrics/metrics.js";
import { bestChosen, bestOf, stepsOf, timesOf, weightOf } from "../metrics/series.js";
import { DRAWN_MAX, cellText, comparedOf, drawnOf, drawnText, isMetric, isNumeric, labelOf, metricOf, metricsIn, nameOf,
         pickTurned, pickedOf } from "./query.js";
import { Label, RunStatus, tookText } from "./runs.js";

const AGAIN_MS = 5000; // The stream of events has no news of all jobs' logs.

/** Which runs are drawn, with their colours; buttons to page through them if there are more runs than colours. */
function Drawn({ drawn, told, metric }) {
  const to = (skip) => ask({ skip: skip || "" }, false);
  return html`<p role="status">${drawnText(drawn, told, metric)}:</p>
    <ul class="compared" aria-label="Runs drawn">${drawn.names.map((each, i) => html`<li key=${each}><i class="key series-${i}"></i>${each}</li>`)}
    ${drawn.all > DRAWN_MAX && html`<li class="row">
      <button type="button" class="small" disabled=${drawn.skip === 0} onClick=${() => to(Math.max(drawn.skip - DRAWN_MAX, 0))}>Previous runs</button>
      <button type="button" class="small" disabled=${drawn.skip + DRAWN_MAX >= drawn.all} onClick=${() => to(drawn.skip + DRAWN_MAX)}>Next runs</button></li>`}</ul>`;
}

const readMetrics = (names, signal) => Promise.all(names.map(async (name) => ({ name, ...await call("metrics", { job: name }, signal) })));

/** How the chart is drawn, and the chart. `known`: the metrics of each run that is drawn. */
function drawing({ known, metric, query, turn }) {
  const names = known.map((each) => each.name);
  const steps = known.filter((job) => job.metrics.some((each) => each.name === metric && each.steps)).length;
  const by = steps && query.by === "step" ? "step" : "";
  const { jobs, whole } = by ? timesOf(stepsOf(known), false) : timesOf(known, true);
  const { zooms, zoom, range } = zoomOf(query, whole);
  const look = { log: query.scale === "log", weight: weightOf(query.smooth) };
  return {
    looks: html`<${Looks} by=${by} hasSteps=${steps > 0} hidden=${by ? names.length - steps : 0} query=${query} weight=${look.weight} />
      <${Zoom} range=${range} whole=${!zooms} zoom=${zoom} />`,
    chart: html`<${Chart} key=${by + metric} name=${metric} job="" kinds=${[]} lines=${names} of="Job" range=${range} axis=${by || "span"}
      turn=${turn} look=${look} best=${bestOf(query, metric)} choose=${(kind) => ask(bestChosen(query, metric, kind), false)}
      read=${(part, buckets, signal) => bucketsOf(jobs, metric, by, part, buckets, signal)} files=${[]} zoom=${zoom} />`,
  };
}

/** A metric of the selected runs: its choice, which runs are drawn, and the chart. */
function Metric({ told, metric, drawn, query }) {
  const all = metricsIn(told);
  const { names } = drawn;
  const turn = useTurns(AGAIN_MS, told.runs.some((each) => each.status === "InProgress" && names.includes(each.name)));
  const { value, error } = useData((signal) => readMetrics(names, signal), "", [names.join(), turn], []);
  if (all.length === 0) return html`<p class="note">The selected runs have no metrics.</p>`;
  const known = value?.some((job) => job.metrics.length) && value.map((each) => each.name).join() === names.join() ? value : null;
  const { looks, chart } = known ? drawing({ known, metric, query, turn }) : {};
  return html`<div class="filters"><label>Metric <select aria-label="Metric" value=${metric}
        onChange=${(event) => ask({ metric: event.target.value, skip: "", from: "", to: "" }, false)}>
      ${all.map(([name, count]) => html`<option value=${name}>${name}${count < told.runs.length && ` (${count} of ${told.runs.length} runs)`}</option>`)}
      </select></label>${looks}</div>
    <${Drawn} drawn=${drawn} told=${told} metric=${metric} />
    <${Trouble} error=${error} />${chart}`;
}

function Row({ run, at, columns, numeric, drawn, query }) {
  const line = drawn.indexOf(run.name);
  return html`<tr><th scope="row"><div class="run"><i class="key ${line >= 0 && `series-${line}`}"></i><${Link} to=${jobPath(run.name)}>${run.name}<//>
      <button type="button" class="small" aria-label=${`Remove ${run.name} from the comparison`}
        onClick=${() => ask({ ...pickTurned(query, run.name), skip: "" })}>✕</button></div></th>
    <td data-label="Status"><${RunStatus} run=${run} /></td>
    <td data-label="Training time" class="figure">${tookText(run.duration)}</td>
    ${columns.map((row, i) => html`<td key=${row.column} data-label=${labelOf(row.column)} class=${numeric[i] ? "figure" : ""}>${
      cellText(row.values[at])}</td>`)}</tr>`;
}

/** Hyperparameters and tags that differ, then metrics; below, what is the same in all runs. */
function Table({ told, metric, drawn, query }) {
  const { differing, metrics, same } = comparedOf(told, metric, query);
  const columns = [...differing, ...metrics];
  const numeric = columns.map((row) => isMetric(row.column) || isNumeric(row.values));
  return html`<div class="scroll" tabindex="0" role="region" aria-label="Comparison of the selected runs"><table class="runs stack">
    <thead><tr class="groups"><td></td><td colspan="2"></td>
        ${differing.length > 0 && html`<th colspan=${differing.length} scope="colgroup" class="differs">Differing</th>`}
        ${metrics.length > 0 && html`<th colspan=${metrics.length} scope="colgroup">Metrics</th>`}</tr>
      <tr>${["Name", "Status", "Training time"].map((each) => html`<th scope="col" class=${each === "Training time" ? "figure" : ""}>${each}</th>`)}
        ${columns.map((row, i) => html`<th key=${row.column} scope="col" class="${numeric[i] ? "figure" : ""} ${i < differing.length ? "differs" : ""}">
          <${Label} column=${row.column} /></th>`)}</tr></thead>
    <tbody>${told.runs.map((run, at) => html`<${Row} key=${run.name} run=${run} at=${at} columns=${columns} numeric=${numeric} drawn=${drawn}
      query=${query} />`)}</tbody></table></div>
    ${told.left_out > 0 && html`<p class="note">${told.left_out} further hyperparameters, tags and metrics are not shown.</p>`}
    ${same.length > 0 && html`<section class="card same-in-all"><h2>Same in all ${told.runs.length} runs</h2>
      <dl>${same.map((row) => html`<div key=${row.column}><dt>${nameOf(row.column)}</dt><dd>${cellText(row.values[0])}</dd></div>`)}</dl></section>`}`;
}

export function Compare({ query }) {
  useEffect(() => void (document.title = "Compare runs · muster"), []);
  const picked = pickedOf(query);
  const { value: told, error } = useData(async (signal) => (picked.length ? call("compare-runs", { jobs: picked }, signal) : null), "", [picked.join()], ["jobs"]);
  const metric = told && metricOf(query, told);
  const drawn = told && drawnOf(told, metric, query.skip);
  const back = address("/ui/runs", { ...query, skip: "", metric: "", from: "", to: "" });
  return html`<header class="job-head"><p class="crumbs"><${Link} to=${back}>Runs<//></p>
      <h1>Compare ${picked.length} ${picked.length === 1 ? "run" : "runs"}</h1></header>
    <${Trouble} error=${error} />
    ${told?.unknown.length > 0 && html`<p class="note">These jobs no longer exist: ${told.unknown.join(", ")}.</p>`}
    ${picked.length === 0 && html`<${Empty} title="No runs selected"><${Link} to=${back}>Select runs<//><//>`}
    ${told?.runs.length > 0 && html`<${Metric} told=${told} metric=${metric} drawn=${drawn} query=${query} />
      <${Table} told=${told} metric=${metric} drawn=${drawn.names} query=${query} />`}`;
}
