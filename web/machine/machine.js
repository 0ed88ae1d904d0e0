// The machine: capacity, running and waiting jobs. Access: logged-in browsers and access keys.

import { Copy, Link, Table, Trouble, When, html, useEffect, useNews, useState, useTurns } from "../app/core.js";
import { jobPath } from "../app/address.js";
import { call, visit } from "../app/calls.js";
import { sizeText } from "../app/text.js";
import { CARD_COLUMNS, capacityOf, cardCells, cardsOf, diskText, needsText, statesOf, useText } from "./amounts.js";

const AGAIN_MS = 5000;
const GPU_JOBS = 20;

function Resources({ view }) {
  const all = capacityOf(view);
  const isReserved = all.some((each) => each.reserved);
  const meter = (each) => html`<meter min="0" max="1" value=${each.share} aria-label=${`${each.name} in use`}>${
    Math.round(each.share * 100)}%</meter>`;
  return html`<section class="card"><h2>Capacity</h2><${Table} title="Capacity"
    columns=${["Resource", "Used by jobs", ...(isReserved ? ["Reserved"] : []), "Free", "Total", "In use"]}
    rows=${all.map((each) => [each.name, each.used, ...(isReserved ? [each.reserved || "–"] : []), each.free, each.total, meter(each)])} /></section>`;
}

/** The machine, with what the drivers report of the first jobs' GPUs. */
async function readMachine(signal) {
  const view = await call("machine", {}, signal);
  const read = ({ job }) => call("DescribeTrainingJobUsage", { TrainingJobName: job }, signal).catch(() => null);
  const states = await Promise.all(view.runs.filter((each) => each.used?.gpus).slice(0, GPU_JOBS).map(read));
  return { ...view, states: states.flatMap(statesOf) };
}

function Cards({ runs, all, states }) {
  const cards = cardsOf(runs, states);
  if (!all?.of && !all?.held && !all?.note && cards.length === 0) return null;
  return html`<section class="card"><h2>GPUs ${all?.of > 0 && html`<span class="quiet">${Math.max(all.of - all.held, 0)} free</span>`}</h2>
    ${all?.note && html`<p class="note">Jobs do not use these GPUs: ${all.note}.</p>`}
    ${cards.length === 0 ? html`<p class="quiet">${all?.held ? "No GPU metrics yet." : "No job is using a GPU."}</p>`
      : html`<${Table} title="GPUs" columns=${["GPU", "Job", "Host", "Utilization", ...CARD_COLUMNS]} rows=${cards.map((each) =>
        [each.number, jobLink(each.job), each.host, `${Math.round(each.percent)}%`, ...cardCells(each.bytes, each.state)])} />`}</section>`;
}

function Rows({ title, rows, count, none, columns, cells, children }) {
  return html`<section class="card"><h2>${title} <span class="quiet">${count}</span></h2>${children}${rows.length === 0
    ? html`<p class="quiet">${none}</p>` : html`<${Table} title=${title} columns=${columns} rows=${rows.map(cells)} />`}
    ${count > rows.length && html`<p class="note">Showing the first ${rows.length}.</p>`}</section>`;
}

const jobLink = (name) => html`<${Link} to=${jobPath(name)}>${name}<//>`;

/** The columns of running jobs, and the cells of one. On a cluster, only their places and what they requested are known here. */
const RUNNING = ["Job", "Owner", "Since", "CPUs", "Memory", "GPUs", "Disk"];
const owner = (key) => html`<code>${key}</code>${key === visit.peek()?.key && " (you)"}`;
const runningCells = (each) => [
  jobLink(each.job), owner(each.key), html`<${When} seconds=${each.since / 1000} />`,
  ...["cpu", "memory"].map((name) => useText(name, each.used?.[name], each.needs[name])),
  each.needs.gpu ? (each.used?.gpus || []).map(([number]) => number).join(", ") || `${each.needs.gpu} reserved` : "–",
  diskText(each.disk)];
const SUBMITTED = ["Job", "Owner", "Since", "Slurm job", "Nodes", "Resources"];
const submittedCells = (each) => [
  jobLink(each.job), owner(each.key), html`<${When} seconds=${each.since / 1000} />`, each.slurm?.JobId || "–",
  each.slurm?.Nodes || (each.slurm?.Reason ? `waiting: ${each.slurm.Reason}` : "–"), needsText(each.needs) || "–"];

/** The nodes of a cluster. Memory is in MiB. */
const NODE_COLUMNS = ["Node", "State", "CPUs", "Memory", "GPUs", "Partitions", "Preflight"];
const nodeCells = (each) => [
  each.Name, each.Text, each.Cpus, sizeText(each.MemoryMiB * 2 ** 20), each.Gpus || "–", each.Partitions.join(", "), each.Preflight || "–"];

function Nodes({ nodes }) {
  if (nodes.Error) return html`<section class="card"><h2>Nodes</h2><p class="note">The cluster's nodes are unknown: ${nodes.Error}</p></section>`;
  return html`<${Rows} title="Nodes" rows=${nodes.Nodes} count=${nodes.Count} none="The cluster has no nodes." columns=${NODE_COLUMNS} cells=${nodeCells}>
    ${nodes.States.length > 1 && html`<p>${nodes.States.map((each) => `${each.Count} ${each.Text}`).join("; ")}</p>`}<//>`;
}

export function Machine() {
  useEffect(() => void (document.title = "Machine · muster"), []);
  const turn = useTurns(AGAIN_MS);
  const { value, error } = useNews(readMachine, ["jobs"], "", [turn]);
  const isElsewhere = value?.elsewhere;
  return html`<h1>Machine</h1>
    <${Trouble} error=${error} />
    ${isElsewhere && html`<p class="note">Slurm schedules this server's jobs. To see the jobs of all users, run <code>sm queue</code>
      ${" "}on a machine where sbatch works.</p>`}
    ${value && html`${value.nodes && html`<${Nodes} nodes=${value.nodes} />`}<${Resources} view=${value} />
      <${Cards} runs=${value.runs} states=${value.states} all=${value.resources.find((each) => each.name === "gpu")} />
      <${Rows} title=${isElsewhere ? "Submitted to Slurm" : "Running"} rows=${value.runs} count=${value.run_count}
        none="No running jobs." columns=${isElsewhere ? SUBMITTED : RUNNING} cells=${isElsewhere ? submittedCells : runningCells} />
      <${Rows} title="Waiting" rows=${value.waits} count=${value.wait_count} none="No waiting jobs."
        columns=${["Job", "Position", "Resources", "Reason"]}
        cells=${(each, i) => [jobLink(each.job), i + 1, needsText(each.needs), each.why]} />`}`;
}

/** The only place where the page shows a secret. */
function NewKey({ made, close }) {
  return html`<div class="note" role="status" aria-label="New access key">
    <p><b>The secret is shown only once.</b> Store it in a safe place.</p>
    ${[["Access key", made.id], ["Secret", made.secret]].map(([name, text]) => html`<div class="command">
      <span>${name}: <code>${text}</code></span><${Copy} text=${text} what=${name} /></div>`)}
    <button type="button" onClick=${close}>Done</button></div>`;
}

function MakeKey({ changed }) {
  const [made, setMade] = useState(null);
  const [error, setError] = useState(null);
  const make = async (event) => {
    event.preventDefault();
    const form = event.target;
    setError(null);
    setMade(null);
    try {
      setMade(await call("make-key", { comment: new FormData(form).get("comment").trim() }));
      form.reset();
      changed();
    } catch (refused) {
      setError(refused);
    }
  };
  return html`<${Trouble} error=${error} />
    ${made && html`<${NewKey} made=${made} close=${() => setMade(null)} />`}
    <form class="filters" onSubmit=${make}><label>Comment <input name="comment" maxlength="256" autocomplete="off" /></label>
      <button>Create key</button></form>`;
}

function Key({ each, changed }) {
  const [sure, setSure] = useState(false);
  const [error, setError] = useState(null);
  const remove = async () => {
    try {
      await call("delete-key", { id: each.id });
    } catch (refused) {
      setSure(false);
      setError(refused);
      return;
    }
    if (each.own) await call("visit").catch(() => {}); // This call is refused, which shows the login form.
    else changed();
  };
  const asked = each.own ? "Yes, delete it and log out" : "Yes, delete it";
  return html`<tr><td><code>${each.id}</code> ${each.own && html`<strong>(yours)</strong>`}</td>
    <td data-label="Comment"><div>${each.comment}</div></td><td data-label="Created">${each.config ? "set in the config" : html`<${When} seconds=${each.created / 1000} />`}</td>
    <td><${Trouble} error=${error} />${each.config ? null : sure
      ? html`<button type="button" class="small danger" onClick=${remove}>${asked}</button>${" "}
          <button type="button" class="small" onClick=${() => setSure(false)}>No</button>`
      : html`<button type="button" class="small" onClick=${() => setSure(true)}
          aria-label=${`Delete ${each.id}`}>Delete…</button>`}</td></tr>`;
}

function Keys() {
  const [turn, next] = useState(0);
  const changed = () => next((old) => old + 1);
  const { value, error } = useNews((signal) => call("keys", {}, signal), [], "", [turn]);
  return html`<section class="card"><h2>Access keys</h2>
    <p class="quiet">Every key has full access to this server and can create and delete keys.</p>
    <${Trouble} error=${error} />
    ${value && (value.may_make
      ? html`<${MakeKey} changed=${changed} />`
      : html`<p class="quiet">You cannot create a key here, because this connection is not encrypted. Use <code>sm key create</code>.</p>`)}
    <div class="scroll" tabindex="0" role="region" aria-label="Access keys"><table class="stack">
      <thead><tr><th>Key</th><th>Comment</th><th>Created</th><th><span class="hidden">Actions</span></th></tr></thead>
      <tbody>${(value?.keys || []).map((each) => html`<${Key} key=${each.id} each=${each} changed=${changed} />`)}</tbody>
    </table></div></section>`;
}

function Visits() {
  const [turn, next] = useState(0);
  const { value, error } = useNews((signal) => call("visits", {}, signal), [], "", [turn]);
  const end = async (id, own) => {
    await call("end-visit", { id }).catch(() => {});
    if (own) visit.value = null;
    else next(turn + 1);
  };
  return html`<section class="card"><h2>Browsers</h2>
    <p class="quiet">Browsers logged in with key <code>${visit.peek().key}</code>.</p>
    <${Trouble} error=${error} />
    <div class="scroll" tabindex="0" role="region" aria-label="Browsers"><table class="stack">
      <thead><tr><th>Browser</th><th>Logged in</th><th>Expires</th><th><span class="hidden">Actions</span></th></tr></thead>
      <tbody>${(value?.visits || []).map(
        (each) => html`<tr key=${each.id}>
          <td>${each.browser || "unknown"} ${each.own && html`<strong>(this browser)</strong>`}</td>
          <td data-label="Logged in"><${When} seconds=${each.since / 1000} /></td>
          <td data-label="Expires"><${When} seconds=${each.until / 1000} /></td>
          <td><button type="button" class="small" onClick=${() => end(each.id, each.own)}>
            ${each.own ? "Log out" : "End session"}</button></td>
        </tr>`,
      )}</tbody>
    </table></div></section>`;
}

export function Access() {
  useEffect(() => void (document.title = "Access · muster"), []);
  return html`<h1>Access</h1><${Visits} /><${Keys} />`;
}
