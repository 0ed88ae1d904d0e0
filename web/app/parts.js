// Parts that several views are made of.

import { fullDate, go, html, place, shortDate, useState } from "./core.js";

/** A link within the page. */
export function Link({ to, children, ...rest }) {
  const follow = (event) => {
    if (event.button !== 0 || event.metaKey || event.ctrlKey || event.shiftKey || event.altKey) return;
    event.preventDefault();
    const url = new URL(to, location);
    go(url.pathname, Object.fromEntries(url.searchParams));
  };
  return html`<a href=${to} onClick=${follow} ...${rest}>${children}</a>`;
}

const SIGNS = { InProgress: "◐", Stopping: "◌", Completed: "✓", Failed: "✕", Stopped: "■" };
const WORDS = { InProgress: "Running", Stopping: "Stopping", Completed: "Completed", Failed: "Failed",
                Stopped: "Stopped" };

/** A status by colour, sign and word. */
export function Status({ status, secondary }) {
  const waits = status === "InProgress" && secondary === "Pending";
  const kind = waits ? "Waiting" : status;
  return html`<span class="status ${kind}"><span aria-hidden="true">${waits ? "○" : SIGNS[status]}</span>
    ${" "}${waits ? "Waiting" : WORDS[status] || status}</span>`;
}

export function When({ seconds }) {
  if (!seconds) return html`<span class="quiet">–</span>`;
  const iso = new Date(seconds * 1000).toISOString();
  return html`<time datetime=${iso} title=${fullDate(seconds)}>${shortDate(seconds)}</time>`;
}

export function Copy({ text, what }) {
  const [done, set] = useState(false);
  const copy = async () => {
    try {
      await navigator.clipboard.writeText(text);
    } catch {
      // Without TLS browsers have no clipboard: the old way.
      const area = document.createElement("textarea");
      area.value = text;
      document.body.append(area);
      area.select();
      document.execCommand("copy");
      area.remove();
    }
    set(true);
    setTimeout(() => set(false), 1500);
  };
  return html`<button type="button" class="small" onClick=${copy} aria-label=${`Copy ${what}`}>
    <span aria-live="polite">${done ? "Copied" : "Copy"}</span></button>`;
}

export function Trouble({ error, children }) {
  return error ? html`<p class="trouble" role="alert">${error.message} ${children}</p>` : null;
}

export function Empty({ title, children }) {
  return html`<div class="empty"><p class="empty-title">${title}</p>${children}</div>`;
}

export const jobPath = (name, view) => `/ui/jobs/${name}${view ? `/${view}` : ""}`;

/** The name of a job and the ways of looking at it. */
export function JobHead({ name, status, secondary, children }) {
  const here = place.peek().path;
  const tab = (view, text) => {
    const to = jobPath(name, view);
    return html`<${Link} to=${to} aria-current=${here === to ? "page" : null}>${text}<//>`;
  };
  return html`<header class="job-head">
    <p class="crumbs"><${Link} to="/ui/jobs">Jobs<//></p>
    <div class="row">
      <h1>${name}</h1>
      ${status && html`<${Status} status=${status} secondary=${secondary} />`}
      <span class="grow"></span>${children}
    </div>
    <nav class="tabs" aria-label="Views of the job">${tab("", "Overview")}${tab("metrics", "Metrics")}${
      tab("log", "Log")}</nav>
  </header>`;
}
