// The head of a job's views: name, status and links to the views; if the job hangs, a notice with the stacks of all ranks.

import { Link, Status, Trouble, When, html, place, useNow, useState } from "../app/core.js";
import { jobPath } from "../app/address.js";
import { call } from "../app/calls.js";
import { stillText } from "../app/text.js";

/** The current stacks of all ranks, captured when the user presses the button. */
function useStacks(name) {
  const [told, tell] = useState(null);
  const [error, setError] = useState(null);
  const [busy, setBusy] = useState(false);
  const look = async () => {
    setBusy(true);
    setError(null);
    await call("stacks", { job: name }).then(tell, setError);
    setBusy(false);
  };
  const shown = html`<p><button type="button" disabled=${busy} onClick=${look}>${told ? "Refresh" : "Show stacks of all ranks"}</button></p>
    <${Trouble} error=${error} />
    ${told && html`<p role="status">${told.headline}</p><pre class="text" tabindex="0">${told.text}</pre>`}`;
  return { told, shown };
}

/** If the job hangs, its head shows the stacks instead. */
export function Stacks({ job }) {
  const { told, shown } = useStacks(job.TrainingJobName);
  if ((job.SecondaryStatus !== "Training" || job.MusterHang) && !told) return null;
  return html`<section class="card"><h2>Stacks</h2>${shown}</section>`;
}

/** Stacks stay visible when the job no longer hangs, as the user may be reading them. */
function Hang({ job }) {
  const { told, shown } = useStacks(job.TrainingJobName);
  const hang = job.MusterHang;
  if (!hang) return told && html`<section class="card"><h2>Stacks captured during the hang</h2>${shown}</section>`;
  return html`<section class="card cause" aria-label="The job hangs"><div role="status"><h2>The job hangs</h2>
      <p class="reason">${hang.verdict}</p>
      <p>Last activity: <${When} seconds=${hang.since} />. Detected: <${When} seconds=${hang.noticed} />.
        <span class="quiet"> This notice disappears when the job prints a line or makes progress.</span></p></div>${shown}</section>`;
}

/** `job`: the job's description, once it is known. */
export function JobHead({ name, job, children }) {
  const here = place.peek().path;
  const now = useNow();
  const still = job && stillText(job, now);
  const tab = (view, text) => {
    const to = jobPath(name, view);
    return html`<${Link} to=${to} aria-current=${here === to ? "page" : null}>${text}<//>`;
  };
  return html`<header class="job-head">
    <p class="crumbs"><${Link} to="/ui/jobs">Jobs<//></p>
    <div class="row">
      <h1>${name}</h1>
      ${job && html`<${Status} job=${job} />`}
      ${still && html`<span class="quiet">${still}</span>`}
      <span class="grow"></span>${children}
    </div>
    ${job && html`<${Hang} job=${job} />`}
    <nav class="tabs" aria-label="Job views">${tab("", "Overview")}${tab("metrics", "Metrics")}${
      tab("hosts", "Hosts")}${tab("log", "Log")}</nav>
  </header>`;
}
