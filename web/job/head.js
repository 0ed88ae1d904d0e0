// The head of a job's views: its name and status, the views, and that it hangs, with the stacks of all ranks.

import { Link, Status, Trouble, When, html, place, useNow, useState } from "../app/core.js";
import { jobPath } from "../app/address.js";
import { call } from "../app/calls.js";
import { stillText } from "../app/text.js";

/** Where all ranks stand at the moment, taken when it is asked for; `text` is the button's. */
function useStacks(name, text) {
  const [told, tell] = useState(null);
  const [error, setError] = useState(null);
  const [busy, setBusy] = useState(false);
  const look = async () => {
    setBusy(true);
    setError(null);
    await call("stacks", { job: name }).then(tell, setError);
    setBusy(false);
  };
  const shown = html`<p><button type="button" disabled=${busy} onClick=${look}>${told ? "Look again" : text}</button></p>
    <${Trouble} error=${error} />
    ${told && html`<p role="status">${told.headline}</p><pre class="text" tabindex="0">${told.text}</pre>`}`;
  return { told, shown };
}

/** Of a job that hangs the head has them. */
export function Stacks({ job }) {
  const { told, shown } = useStacks(job.TrainingJobName, "Where do all ranks stand?");
  if ((job.SecondaryStatus !== "Training" || job.MusterHang) && !told) return null;
  return html`<section class="card"><h2>Stacks</h2>${shown}</section>`;
}

/** Stacks that somebody reads stay when the job goes on. */
function Hang({ job }) {
  const { told, shown } = useStacks(job.TrainingJobName, "Show stacks of all ranks");
  const hang = job.MusterHang;
  if (!hang) return told && html`<section class="card"><h2>Stacks from when it hung</h2>${shown}</section>`;
  return html`<section class="card cause" aria-label="The job hangs"><div role="status"><h2>The job hangs</h2>
      <p class="reason">${hang.verdict}</p>
      <p>Last sign of life: <${When} seconds=${hang.since} />. Noticed: <${When} seconds=${hang.noticed} />.
        <span class="quiet"> The next line or progress removes this mark.</span></p></div>${shown}</section>`;
}

/** `job`: its description, once that is known. */
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
    <nav class="tabs" aria-label="Views of the job">${tab("", "Overview")}${tab("metrics", "Metrics")}${
      tab("hosts", "Hosts")}${tab("log", "Log")}</nav>
  </header>`;
}
