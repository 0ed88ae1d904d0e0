// The table of jobs. The server filters, sorts and pages; the address holds the query.

import { Empty, Link, Status, Trouble, When, ask, go, html, useEffect, useNews, useNow, useState } from "../app/core.js";
import { jobPath } from "../app/address.js";
import { call } from "../app/calls.js";
import { STATUSES, inputOf, nowText, tookText, turned } from "./query.js";

/** A text field of the query. The query changes once the user stops typing. */
export function TextFilter({ query, part, text, short, most }) {
  const known = query[part] || "";
  const [typed, set] = useState(known);
  useEffect(() => set(known), [known]);
  useEffect(() => {
    if (typed === known) return;
    const timer = setTimeout(() => ask({ [part]: typed, after: "" }), 200);
    return () => clearTimeout(timer);
  }, [typed]);
  return html`<label><span class="hidden">${text}</span>
    <input type="search" name=${part} placeholder=${`${short}…`} value=${typed} maxlength=${most}
      spellcheck="false" onInput=${(event) => set(event.target.value)} /></label>`;
}

export const Ages = () => html`<option value="">Any time</option><option value="1h">Last hour</option>
  <option value="1d">Last day</option><option value="7d">Last 7 days</option><option value="30d">Last 30 days</option>`;

function Filters({ query, counts }) {
  const day = (part, text) => html`<label><span class="hidden">${text}</span><input type="date" title=${text} name=${part} value=${query[part] || ""}
    onChange=${(event) => ask({ [part]: event.target.value, after: "" }, false)} /></label>`;
  const all = Object.values(counts || {}).reduce((sum, count) => sum + count, 0);
  const chip = (status, text, count) => html`<button type="button" class="chip"
    aria-pressed=${(query.status || "") === status}
    onClick=${() => ask({ status, after: "" }, false)}>${text} <b>${count ?? ""}</b></button>`;
  return html`<div class="filters">
    <div class="chips" role="group" aria-label="Status">
      ${chip("", "All", counts && all)}
      ${Object.entries(STATUSES).filter(([each]) => each !== "Stopping" || counts?.Stopping).map(([each, word]) =>
        chip(each, word, counts && (counts[each] || 0)))}
    </div>
    <span class="grow"></span>
    <${TextFilter} query=${query} part="name" text="Name contains" short="Name" most="63" />
    <${TextFilter} query=${query} part="type" text="Instance type" short="Type" most="64" />
    <${TextFilter} query=${query} part="tag" text="Tag: key=value" short="Tag" most="385" />
    <label><span class="hidden">Created</span>
      <select value=${query.age || ""} onChange=${(event) =>
          ask({ age: event.target.value, from: "", to: "", after: "" }, false)}>
        <${Ages} /><option value="dates">Date range…</option>
      </select></label>
    ${query.age === "dates" && html`${day("from", "From")}${day("to", "To")}`}
  </div>`;
}

/** The heading of a column that sorts the table. `before`: what stands in front of the button. */
export function Sort({ query, by, before, children, ...rest }) {
  const own = (query.sort || "created") === by;
  const up = query.order === "up";
  return html`<th aria-sort=${own ? (up ? "ascending" : "descending") : null} ...${rest}>${before}
    <button type="button" class="sort" onClick=${() => ask(turned(query, by), false)}>${children}
      <span aria-hidden="true">${own ? (up ? " ↑" : " ↓") : ""}</span></button></th>`;
}

function Head({ query }) {
  return html`<thead><tr>${[["name", "Name"], ["status", "Status"], ["created", "Created"]].map(([by, text]) =>
    html`<${Sort} query=${query} by=${by}>${text}<//>`)}<th>Duration</th><th>Activity</th></tr></thead>`;
}

function Row({ job, now }) {
  return html`<tr>
    <td class="name"><${Link} to=${jobPath(job.TrainingJobName)}>${job.TrainingJobName}<//></td>
    <td><${Status} job=${job} /></td>
    <td><${When} seconds=${job.CreationTime} /></td>
    <td class="number">${tookText(job, now)}</td>
    <td class="quiet">${nowText(job, now)}</td>
  </tr>`;
}

function None({ counts }) {
  if (counts && Object.keys(counts).length === 0)
    return html`<${Empty} title="No jobs yet">
      <p>To submit one, run this on the machine where you use <code>sm</code>:</p>
      <div class="command"><code>sm submit train.py --wait</code></div><//>`;
  return html`<${Empty} title="No matching jobs">
    <button type="button" onClick=${() => go("/ui/jobs")}>Show all jobs</button><//>`;
}

export function Jobs({ query }) {
  useEffect(() => void (document.title = "Jobs · muster"), []);
  const asked = JSON.stringify(query);
  const now = useNow();
  const { value: counts } = useNews((signal) => call("counts", {}, signal), ["jobs"], "", []);
  const { value, error } = useNews(
    (signal) => call("ListTrainingJobs", inputOf(query, Date.now() / 1000), signal), ["jobs"], "", [asked]);
  const jobs = value?.TrainingJobSummaries;
  return html`<h1>Jobs</h1>
    <${Filters} query=${query} counts=${counts} />
    <${Trouble} error=${error} />
    ${jobs && jobs.length === 0 && html`<${None} counts=${counts} />`}
    ${jobs && jobs.length > 0 && html`<div class="scroll"><table class="jobs">
      <${Head} query=${query} />
      <tbody>${jobs.map((job) => html`<${Row} key=${job.TrainingJobName} job=${job} now=${now} />`)}</tbody>
    </table></div>
    <div class="row pages">
      ${query.after && html`<button type="button" onClick=${() => history.back()}>Previous page</button>`}
      <span class="grow"></span>
      ${value.NextToken && html`<button type="button"
        onClick=${() => ask({ after: value.NextToken }, false)}>Next page</button>`}
    </div>`}`;
}
