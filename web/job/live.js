// What a job does now: its metrics, the last lines of its log, the resource usage of its hosts.

import { Link, Table, Trouble, ask, go, html, useData, useTurns } from "../app/core.js";
import { address, jobPath } from "../app/address.js";
import { call } from "../app/calls.js";
import { shortNumber, sizeText } from "../app/text.js";
import { Said } from "../log/log.js";
import { rowTexts } from "../log/rows.js";
import { Chart } from "../metrics/chart.js";
import { CARD_COLUMNS, cardCells, statesOf } from "../machine/amounts.js";
import { bucketsByHost, firstOf, sparkOf, useOf } from "../metrics/series.js";

const METRICS = 6;
const LINES = 10;
const BUCKETS = 240;
const AGAIN_MS = 2000;

/** The course of a line's values, without axes: the values are next to it. */
function Spark({ line, count }) {
  return html`<svg class="spark" viewBox="0 0 1000 100" preserveAspectRatio="none" aria-hidden="true">
    <polyline points=${sparkOf(line.buckets, count)} /></svg>`;
}

const countOf = ({ width }, [from, to]) => Math.ceil((to - from) / width);

/** The first metrics in the order of the request, with their course and their last value; how many there are. */
async function readMetrics(job, signal) {
  const name = job.TrainingJobName;
  const { metrics } = await call("metrics", { job: name }, signal);
  const shown = firstOf(metrics, (job.AlgorithmSpecification?.MetricDefinitions || []).map((each) => each.Name), METRICS);
  const read = (each, from, buckets) =>
    call("metric", { job: name, name: each.name, from, to: each.last + 1, buckets }, signal);
  const lines = await Promise.all(shown.map(async (each) => {
    const line = await read(each, each.first, BUCKETS);
    const [last] = line.width === 1 ? line.buckets.slice(-1) : (await read(each, each.last, 1)).buckets;
    return { ...each, range: [each.first, each.last + 1], line, value: last?.[3] };
  }));
  return { lines, all: metrics.length };
}

export function LiveMetrics({ job, query }) {
  const name = job.TrainingJobName;
  const { value: told, error } = useData((signal) => readMetrics(job, signal), name, [name, job.TrainingJobStatus]);
  if (!told || told.all === 0) return html`<${Trouble} error=${error} />`;
  const open = told.lines.find((each) => each.name === query.chart);
  const to = jobPath(name, "metrics");
  return html`<section class="card" aria-label="Latest metrics"><div class="row"><h2>Metrics</h2><span class="grow"></span>
      <${Link} to=${to}>${told.all > METRICS ? `All ${told.all} metrics` : "Charts"}<//></div>
    <table class="live"><caption class="hidden">The latest value of each metric</caption><thead class="hidden"><tr>
      ${["Metric", "Trend", "Value"].map((each) => html`<th scope="col">${each}</th>`)}</tr></thead>
    <tbody>${told.lines.map((each) => html`<tr key=${each.name}><th scope="row"><button type="button" class="plain"
        aria-expanded=${each === open} onClick=${() => ask({ chart: each === open ? "" : each.name })}>${each.name}</button></th>
      <td><${Spark} line=${each.line} count=${countOf(each.line, each.range)} /></td>
      <td class="number">${shortNumber(each.value)}</td></tr>`)}</tbody></table>
    ${open && html`<${Chart} key=${open.name} name=${open.name} job=${name} lines=${[name]} of=${null} range=${open.range}
      read=${async ([start, end], buckets, signal) =>
        [await call("metric", { job: name, name: open.name, from: start, to: end, buckets }, signal)]}
      files=${[{ text: "CSV", href: address("/ui/call/metric-csv", { job: name, name: open.name }) }]} zoom=${(start, end) => start !== null && go(to, { from: Math.floor(start), to: Math.ceil(end), q: open.name })} />`}
  </section>`;
}

export function LastLines({ name, ended }) {
  const { value: told, error } = useData((signal) => call("log", { job: name, count: LINES }, signal), name, [name, ended], ["log"]);
  const to = jobPath(name, "log");
  return html`<section class="card wide" aria-label="Last lines of the log"><div class="row"><h2>Log</h2><span class="grow"></span>
      <${Link} to=${to}>${told?.count ? `All ${told.count} lines` : "All lines"}<//></div>
    <${Trouble} error=${error} />
    ${told?.lines.length === 0 && html`<p class="quiet">No lines yet.</p>`}
    ${told?.lines.length > 0 && html`<div class="last-lines" tabindex="0" role="region" aria-label="Last lines"><div>${told.lines.map((line) => {
      const { time, who, text, level, cut } = rowTexts(line, told.hosts);
      return html`<div class="line" key=${line[0]}><${Link} class="when" to=${address(to, { line: line[0] + 1 })}
        >${time.slice(0, 8)}<//><span class="when">${who}</span><${Said} text=${text} level=${level} />${cut && " …"}</div>`;
    })}</div></div>`}</section>`;
}

/** [title, measure, kind of value once the hosts have ended, as text] */
const USES = [
  ["CPUs", "processor", "mean", (value) => value.toFixed(1)],
  ["Memory", "memory", "most", sizeText],
];
const GPU_USES = [
  ["GPU", "gpu-time", "mean", (value) => `${value.toFixed(0)}%`],
  ["GPU memory", "gpu-memory", "most", sizeText],
];

/** The first hosts with their resource usage; how many there are. */
async function readHosts(job, signal) {
  const { hosts } = await call("hosts", { job }, signal);
  if (hosts.length === 0) return { hosts: [], all: 0 };
  const range = [Math.min(...hosts.map((each) => each.first)), Math.max(...hosts.map((each) => each.last)) + 1];
  const uses = hosts.some((each) => each.gpus) ? [...USES, ...GPU_USES] : USES;
  const answers = await Promise.all(uses.map(([, measure]) =>
    call("host-usage", { job, measure, skip: 0, from: range[0], to: range[1], buckets: BUCKETS }, signal)));
  const names = answers[0].hosts.map((each) => each.host);
  const lines = answers.map((each) => bucketsByHost(each, names, 1));
  return { uses, range, all: hosts.length, hosts: names.map((host, i) => ({ host, lines: lines.map((each) => each[i]) })) };
}

/** What the drivers of the hosts' GPUs report now. */
export function Gpus({ name, lives }) {
  const turn = useTurns(AGAIN_MS, lives);
  const read = async (signal) => lives ? statesOf(await call("DescribeTrainingJobUsage", { TrainingJobName: name }, signal)) : [];
  const { value: cards } = useData(read, name, [name, lives, turn], []);
  if (!lives || !cards?.length) return null;
  return html`<section class="card" aria-label="GPUs"><h2>GPUs</h2><${Table} title="State of GPUs"
    columns=${["Host", "GPU", "Utilization", ...CARD_COLUMNS]} rows=${cards.map((each) => [
      each.host, each.number, each.percent < 0 ? "–" : `${each.percent}%`, ...cardCells(each.memory, each)])} /></section>`;
}

export function HostUsage({ name, lives }) {
  const turn = useTurns(AGAIN_MS, lives);
  const { value: told, error } = useData((signal) => readHosts(name, signal), name, [name, lives, turn], []);
  if (!told || told.all === 0) return html`<${Trouble} error=${error} />`;
  const count = told.hosts.length;
  return html`<section class="card" aria-label="Hosts"><div class="row"><h2>Hosts</h2><span class="grow"></span>
      <${Link} to=${jobPath(name, "hosts")}>${told.all > count ? `All ${told.all} hosts` : "Charts"}<//></div>
    <div class="scroll" tabindex="0" role="region" aria-label="Resource usage of hosts"><table class="live"><thead><tr>
      <th scope="col">Host</th>${told.uses.map(([title, , whole]) =>
        html`<th scope="col" colspan="2">${title}${lives ? "" : whole === "most" ? " (maximum)" : " (mean)"}</th>`)}</tr></thead>
    <tbody>${told.hosts.map(({ host, lines }) => html`<tr key=${host}><th scope="row">${host}</th>
      ${lines.map((line, i) => {
        const [, , whole, text] = told.uses[i];
        const value = useOf(line.buckets, lives ? "now" : whole);
        return html`<td><${Spark} line=${line} count=${countOf(line, told.range)} /></td>
          <td class="number">${value === null ? "–" : text(value)}</td>`;
      })}</tr>`)}</tbody></table></div></section>`;
}
