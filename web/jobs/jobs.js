// The table of jobs. The server filters, sorts and pages; the address holds what is asked for.

import { Empty, Link, Status, Trouble, When, ask, call, go, html, jobPath, span, useEffect,
         useNews, useState } from "../app/core.js";

const STATUSES = ["InProgress", "Completed", "Failed", "Stopped", "Stopping"];
const WORDS = { InProgress: "Active", Completed: "Completed", Failed: "Failed", Stopped: "Stopped",
                Stopping: "Stopping" };
const AGES = { "1h": 3600, "1d": 86400, "7d": 604800, "30d": 2592000 };
const SORTS = { name: "Name", status: "Status", created: "CreationTime" };
const PAGE = 50;

/** Midnight, where the reader is, that begins the day so many days behind `date`, as 2026-01-31; none: no date. */
function dayOf(date, behind) {
  const day = new Date(`${date}T00:00`);
  day.setDate(day.getDate() + behind);
  return Number.isNaN(day.getTime()) ? undefined : day.getTime() / 1000;
}

function inputOf(query) {
  const input = {
    MaxResults: PAGE,
    SortBy: SORTS[query.sort] || "CreationTime",
    SortOrder: query.order === "up" ? "Ascending" : "Descending",
  };
  if (query.name) input.NameContains = query.name;
  if (WORDS[query.status]) input.StatusEquals = query.status;
  if (AGES[query.age]) input.CreationTimeAfter = Math.floor(Date.now() / 1000) - AGES[query.age];
  if (query.age === "dates") {
    input.CreationTimeAfter = dayOf(query.from, 0) - 0.001 || undefined; // Exclusive, both.
    input.CreationTimeBefore = dayOf(query.to, 1);
  }
  if (query.type) input.MusterInstanceType = query.type;
  const [, key, value] = /^([^=]+)(?:=(.*))?$/.exec(query.tag || "") || [];
  if (key) input.MusterTag = { Key: key, Value: value };
  if (query.after) input.NextToken = query.after;
  return input;
}

/** A text of the query, which changes once typing pauses. */
function TextFilter({ query, part, text, most }) {
  const known = query[part] || "";
  const [typed, set] = useState(known);
  useEffect(() => set(known), [known]);
  useEffect(() => {
    if (typed === known) return;
    const timer = setTimeout(() => ask({ [part]: typed, after: "" }), 200);
    return () => clearTimeout(timer);
  }, [typed]);
  return html`<label><span class="hidden">${text}</span>
    <input type="search" name=${part} placeholder=${`${text} …`} value=${typed} maxlength=${most}
      spellcheck="false" onInput=${(event) => set(event.target.value)} /></label>`;
}

function Filters({ query, counts }) {
  const day = (part, text) => html`<label>${text} <input type="date" name=${part} value=${query[part] || ""}
    onChange=${(event) => ask({ [part]: event.target.value, after: "" }, false)} /></label>`;
  const all = Object.values(counts || {}).reduce((sum, count) => sum + count, 0);
  const chip = (status, text, count) => html`<button type="button" class="chip"
    aria-pressed=${(query.status || "") === status}
    onClick=${() => ask({ status, after: "" }, false)}>${text} <b>${count ?? ""}</b></button>`;
  return html`<div class="filters">
    <div class="chips" role="group" aria-label="Status">
      ${chip("", "All", counts && all)}
      ${STATUSES.filter((each) => each !== "Stopping" || counts?.Stopping).map((each) =>
        chip(each, WORDS[each], counts && (counts[each] || 0)))}
    </div>
    <span class="grow"></span>
    <${TextFilter} query=${query} part="name" text="Name contains" most="63" />
    <${TextFilter} query=${query} part="type" text="Instance type" most="64" />
    <${TextFilter} query=${query} part="tag" text="Tag: key=value" most="385" />
    <label><span class="hidden">Created</span>
      <select value=${query.age || ""} onChange=${(event) =>
          ask({ age: event.target.value, from: "", to: "", after: "" }, false)}>
        <option value="">Any time</option><option value="1h">Last hour</option>
        <option value="1d">Last day</option><option value="7d">Last 7 days</option>
        <option value="30d">Last 30 days</option><option value="dates">Between dates …</option>
      </select></label>
    ${query.age === "dates" && html`${day("from", "From")}${day("to", "to")}`}
  </div>`;
}

function Head({ query }) {
  const sort = query.sort || "created";
  const up = query.order === "up";
  const cell = (key, text) => {
    const own = sort === key;
    const turn = () => ask({ sort: key, order: own && !up ? "up" : "", after: "" }, false);
    return html`<th aria-sort=${own ? (up ? "ascending" : "descending") : null}>
      <button type="button" class="sort" onClick=${turn}>${text}
        <span aria-hidden="true">${own ? (up ? " ↑" : " ↓") : ""}</span></button></th>`;
  };
  return html`<thead><tr>${cell("name", "Name")}${cell("status", "Status")}${cell("created", "Created")}
    <th>Took</th><th>Now</th></tr></thead>`;
}

function now(job) {
  if (job.MusterQueuePlace) return `${job.MusterQueuePlace} of ${job.MusterQueueLength} in the queue`;
  return job.TrainingJobStatus === "InProgress" ? job.SecondaryStatus : "";
}

function Row({ job }) {
  const end = job.TrainingEndTime || (job.TrainingJobStatus === "InProgress" ? Date.now() / 1000 : 0);
  return html`<tr>
    <td class="name"><${Link} to=${jobPath(job.TrainingJobName)}>${job.TrainingJobName}<//></td>
    <td><${Status} status=${job.TrainingJobStatus} secondary=${job.SecondaryStatus} /></td>
    <td><${When} seconds=${job.CreationTime} /></td>
    <td class="number">${end ? span(Math.max(end - job.CreationTime, 0)) : "–"}</td>
    <td class="quiet">${now(job)}</td>
  </tr>`;
}

function None({ query, counts }) {
  if (counts && Object.keys(counts).length === 0)
    return html`<${Empty} title="No jobs yet">
      <p>Submit one, where you use <code>sm</code>:</p>
      <div class="command"><code>sm submit --script train.py --wait</code></div><//>`;
  return html`<${Empty} title="No job is like that">
    <button type="button" onClick=${() => go("/ui/jobs")}>Show all jobs</button><//>`;
}

export function Jobs({ query }) {
  useEffect(() => void (document.title = "Jobs · muster"), []);
  const asked = JSON.stringify(query);
  const { value: counts } = useNews((signal) => call("counts", {}, signal), ["jobs"], "", []);
  const { value, error } = useNews(
    (signal) => call("ListTrainingJobs", inputOf(query), signal), ["jobs"], "", [asked]);
  const jobs = value?.TrainingJobSummaries;
  return html`<h1>Jobs</h1>
    <${Filters} query=${query} counts=${counts} />
    <${Trouble} error=${error} />
    ${jobs && jobs.length === 0 && html`<${None} query=${query} counts=${counts} />`}
    ${jobs && jobs.length > 0 && html`<div class="scroll"><table class="jobs">
      <${Head} query=${query} />
      <tbody>${jobs.map((job) => html`<${Row} key=${job.TrainingJobName} job=${job} />`)}</tbody>
    </table></div>
    <div class="row pages">
      ${query.after && html`<button type="button" onClick=${() => history.back()}>Previous page</button>`}
      <span class="grow"></span>
      ${value.NextToken && html`<button type="button"
        onClick=${() => ask({ after: value.NextToken }, false)}>Next page</button>`}
    </div>`}`;
}
