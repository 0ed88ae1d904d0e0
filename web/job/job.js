// One job: its status, why it failed, its settings, and commands to run it again.

import { Copy, Dialog, Empty, Link, Status, Table, Trouble, When, html, useEffect, useNews, useNow, useState } from "../app/core.js";
import { address, jobPath } from "../app/address.js";
import { call } from "../app/calls.js";
import { sizeText, span } from "../app/text.js";
import { ENDED, againTexts, causeOf, hostsText, indented, isArchive, requestOf, slurmFacts } from "./texts.js";
import { JobHead, Stacks } from "./head.js";
import { Gpus, HostUsage, LastLines, LiveMetrics } from "./live.js";
import { Timeline } from "./timeline.js";

function Again({ job }) {
  const texts = againTexts(job);
  const [kind, set] = useState("sm rerun");
  return html`<section class="card"><div class="row"><h2>Run again</h2><span class="grow"></span>
      <div class="chips" role="group" aria-label="Tool">${Object.keys(texts).map((each) =>
        html`<button type="button" class="chip" aria-pressed=${each === kind}
          onClick=${() => set(each)}>${each}</button>`)}</div>
      <${Copy} text=${texts[kind]} what="the command" /></div>
    <pre class="text" tabindex="0">${texts[kind]}</pre></section>`;
}

function Cause({ job }) {
  const cause = causeOf(job);
  if (!cause) return null;
  return html`<section class="card cause" aria-label="Why it failed">
    <h2>Why it failed</h2>
    <p class="reason">${cause.reason}</p>
    ${cause.lines && html`<pre class="text" tabindex="0">${cause.lines}</pre>`}
    ${cause.place && html`<p>${cause.seconds > 0 && html`<${When} seconds=${cause.seconds} />, `}${cause.place}</p>`}
    ${cause.victims && html`<p>${cause.victims}</p>`}
    ${cause.advice && html`<p><b>What to do:</b> ${cause.advice}</p>`}
    <p><${Link} to=${`${jobPath(job.TrainingJobName, "log")}?error=first`}>Go to the first error in the log<//></p>
  </section>`;
}

function Facts({ facts }) {
  return html`<dl class="facts">${facts
    .filter(([, value]) => value !== undefined && value !== "" && value !== null)
    .map(([name, value]) => html`<div><dt>${name}</dt><dd>${value}</dd></div>`)}</dl>`;
}

function Steps({ job }) {
  const steps = job.SecondaryStatusTransitions || [];
  return html`<section class="card"><h2>History</h2><ol class="steps">${steps.map(
    (step, i) => html`<li key=${i} class=${step.EndTime ? "" : "now"}>
      <b>${step.Status}</b> <${When} seconds=${step.StartTime} />
      ${step.EndTime ? html` <span class="quiet">${span(step.EndTime - step.StartTime)}</span>` : null}
      <span class="quiet block">${step.StatusMessage}</span></li>`)}</ol></section>`;
}

const TableCard = ({ title, columns, rows }) => rows.length > 0 && html`<section class="card"><h2>${title}</h2>
  <${Table} title=${title} columns=${columns} rows=${rows} /></section>`;

/** The contents of an archive, without downloading it. */
function Inside({ job, object, close }) {
  const [told, tell] = useState(null);
  const [error, setError] = useState(null);
  useEffect(() => {
    const left = new AbortController();
    call("contents", { job, place: object.place, name: object.name }, left.signal).then(tell, (wrong) =>
      left.signal.aborted || setError(wrong));
    return () => left.abort();
  }, []);
  return html`<${Dialog} title=${`Contents of ${object.name}`} close=${close}>
    <${Trouble} error=${error} />
    ${!told && !error && html`<p class="quiet">Reading the archive…</p>`}
    ${told && told.members.length === 0 && !told.more && html`<p class="quiet">The archive is empty.</p>`}
    ${told && told.members.length > 0 && html`<div class="scroll" tabindex="0" role="region" aria-label="Archive contents"><table>
      <thead><tr>${["Name", "Size", "Modified"].map((each) => html`<th>${each}</th>`)}</tr></thead>
      <tbody>${told.members.map(([name, kind, bytes, time, target]) => html`<tr>
        <td>${name}${target && ` → ${target}`}</td>
        <td class="number">${kind === "file" ? sizeText(bytes) : kind}</td>
        <td><${When} seconds=${time} /></td></tr>`)}</tbody></table></div>`}
    ${told?.more && html`<p class="note">Showing only the first ${told.members.length} entries.</p>`}<//>`;
}

/** The files that the job has stored in the server's own S3 so far. Fetched again at each `step` of the job. */
function Objects({ name, step }) {
  const [inside, look] = useState(null);
  const { value: told, error } = useNews((signal) => call("objects", { job: name }, signal), [], "", [name, step]);
  if (!told || told.objects.length === 0) return html`<${Trouble} error=${error} />`;
  return html`<${TableCard} title="Artifacts" columns=${["File", "Type", "Size", "Modified"]} rows=${told.objects.map((each) => [
      html`<a download href=${address("/ui/call/object", { job: name, place: each.place, name: each.name })}>${each.name}</a>${
        isArchive(each.name) && html` <button type="button" class="small" aria-label=${`Contents of ${each.name}`}
          onClick=${() => look(each)}>Contents</button>`}`,
      html`<span class="short">${each.place}</span>`, html`<span class="short">${sizeText(each.bytes)}</span>`, html`<${When} seconds=${each.modified / 1000} />`])} />
    ${inside && html`<${Inside} job=${name} object=${inside} close=${() => look(null)} />`}
    ${told.more && html`<p class="note">Not all files are shown. To list all of them, use <code>aws s3 ls</code>.</p>`}`;
}

function Stop({ job }) {
  const [sure, setSure] = useState(false);
  const [error, setError] = useState(null);
  if (ENDED.includes(job.TrainingJobStatus)) return null;
  if (job.TrainingJobStatus === "Stopping") return html`<button type="button" disabled>Stopping…</button>`;
  const stop = async () => {
    setSure(false);
    await call("StopTrainingJob", { TrainingJobName: job.TrainingJobName }).catch(setError);
  };
  return html`<${Trouble} error=${error} />${sure
    ? html`<button type="button" class="danger" onClick=${stop}>Yes, stop it</button>
        <button type="button" onClick=${() => setSure(false)}>No</button>`
    : html`<button type="button" class="danger" onClick=${() => setSure(true)}>Stop…</button>`}`;
}

function Details({ job }) {
  return html`<section class="card"><h2>Details</h2><${Facts} facts=${[
      ["Status", html`<${Status} job=${job} />`],
      ["Created", html`<${When} seconds=${job.CreationTime} />`],
      ["Hosts", hostsText(job.ResourceConfig)],
      ["Image", job.AlgorithmSpecification?.TrainingImage],
      ["Time limit", job.StoppingCondition?.MaxRuntimeInSeconds && span(job.StoppingCondition.MaxRuntimeInSeconds)],
      ["Model", job.ModelArtifacts?.S3ModelArtifacts],
      ["Output", job.OutputDataConfig?.S3OutputPath],
      ["Network", job.MusterNetwork],
      ...slurmFacts(job.MusterSlurm),
    ]} />
    ${(job.MusterNotes || []).map((note) => html`<p class="quiet">${note}</p>`)}</section>`;
}

/** How long the job has run, and on what, in one line. */
function Glance({ job }) {
  const now = useNow();
  const since = job.TrainingStartTime || job.CreationTime;
  const took = span(Math.max((job.TrainingEndTime || now) - since, 0));
  const parts = [job.TrainingStartTime ? `training time ${took}` : !job.TrainingEndTime && `created ${took} ago`,
                 hostsText(job.ResourceConfig)];
  return html`<p class="quiet">${job.SecondaryStatus !== job.TrainingJobStatus && html`${job.SecondaryStatus} · `}${
    parts.filter(Boolean).join(" · ")}</p>`;
}

/** The state of the job comes first, then what it does now, then how it was requested. */
function Overview({ job, query }) {
  const name = job.TrainingJobName;
  const step = job.SecondaryStatusTransitions?.length;
  const ended = ENDED.includes(job.TrainingJobStatus);
  const place = job.MusterQueuePlace && `${job.MusterQueuePlace} of ${job.MusterQueueLength} in the queue`;
  const waits = job.SecondaryStatus === "Pending" && job.SecondaryStatusTransitions?.at(-1)?.StatusMessage;
  return html`${waits ? html`<p class="note" role="status">${place && html`<b>${place}.</b> `}${waits}</p>` : html`<${Glance} job=${job} />`}
    <${Cause} job=${job} />
    <div class="live-now"><${LiveMetrics} job=${job} query=${query} />
      <${LastLines} name=${name} ended=${ended} />
      <${HostUsage} name=${name} lives=${!ended && !waits} />
      <${Gpus} name=${name} lives=${!ended && !waits} />
      <${Timeline} name=${name} query=${query} ended=${ended} step=${step} /></div>
    <${Stacks} job=${job} />
    <div class="columns"><${Details} job=${job} /><${Steps} job=${job} /></div>
    <${Objects} name=${name} step=${step} />
    <${TableCard} title="Hyperparameters" columns=${["Name", "Value"]}
      rows=${Object.entries(job.HyperParameters || {}).sort()} />
    <${TableCard} title="Inputs" columns=${["Channel", "Source"]} rows=${(job.InputDataConfig || []).map((each) =>
      [each.ChannelName, each.DataSource?.S3DataSource?.S3Uri || "other"])} />
    <${Again} job=${job} />
    <section class="card"><details><summary><h2>Request</h2></summary>
      <pre class="text" tabindex="0">${indented(requestOf(job))}</pre></details></section>`;
}

export function Job({ name, query }) {
  useEffect(() => void (document.title = `${name} · muster`), [name]);
  const { value: job, error } = useNews(
    (signal) => call("DescribeTrainingJob", { TrainingJobName: name }, signal), ["jobs"], "", [name]);
  if (!job && error)
    return html`<${Empty} title=${`Cannot show job ${name}`}>
      <p class="quiet">${error.message}</p><${Link} to="/ui/jobs">All jobs<//><//>`;
  return html`<${JobHead} name=${name} job=${job}>
      ${job && html`<${Stop} job=${job} />`}<//>
    <${Trouble} error=${job && error} />
    ${job && html`<${Overview} job=${job} query=${query} />`}`;
}
