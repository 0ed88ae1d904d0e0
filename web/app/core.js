// What every view stands on: rendering, the address, calls of the server, news from it, and the parts that
// several views show.

import { h, render } from "../vendor/preact.mjs";
import { useEffect, useMemo, useRef, useState } from "../vendor/hooks.mjs";
import htm from "../vendor/htm.mjs";
import { effect, signal } from "../vendor/signals-core.mjs";

export const html = htm.bind(h);
export { render, useEffect, useMemo, useRef, useState, effect, signal };

/** The signal's value; the component is drawn again when it changes. */
export function useSignal(source) {
  const [value, set] = useState(source.peek());
  useEffect(() => effect(() => set(() => source.value)), [source]);
  return value;
}

// The address is the state of the view: nothing that a reload should keep stands elsewhere.

const read = () => ({
  path: location.pathname,
  query: Object.fromEntries(new URLSearchParams(location.search)),
});
export const place = signal(read());
addEventListener("popstate", () => (place.value = read()));

export function address(path, query = {}) {
  const kept = Object.entries(query).filter(([, value]) => value !== "" && value != null);
  const text = new URLSearchParams(kept).toString();
  return text ? `${path}?${text}` : path;
}

export function go(path, query = {}, replaces = false) {
  history[replaces ? "replaceState" : "pushState"](null, "", address(path, query));
  place.value = read();
}

/** Changes parts of the query; an empty part goes. */
export function ask(changes, replaces = true) {
  const { path, query } = place.peek();
  go(path, { ...query, ...changes }, replaces);
}

// Calls.

export const visit = signal(undefined); // undefined: not known yet; null: nobody is logged in.
export const mayLogIn = signal(false);

export class Refused extends Error {
  constructor(status, text) {
    super(text);
    this.status = status;
  }
}

export async function call(name, input = {}, signal = undefined) {
  let answer;
  try {
    answer = await fetch(`/ui/call/${name}`, {
      method: "POST",
      body: JSON.stringify(input),
      headers: { "Content-Type": "application/json" },
      signal,
    });
  } catch (error) {
    if (error.name === "AbortError") throw error;
    throw new Refused(0, "The server does not answer.");
  }
  const told = await answer.json().catch(() => {
    // What broke off midway, or is no longer wanted, is no answer; a refusal may have no JSON.
    if (signal?.aborted) throw signal.reason;
    if (answer.ok) throw new Refused(0, "The server's answer broke off.");
    return {};
  });
  if (answer.status === 401) {
    mayLogIn.value = told.login === true;
    visit.value = null;
  }
  if (!answer.ok) throw new Refused(answer.status, told.message || `HTTP ${answer.status}`);
  return told;
}

/**
 * Runs `work` now and on news of the kinds that are named, one run at a time; gives the last
 * answer and the last error. News while it runs make one more run of it.
 */
export function useNews(work, kinds, job, keys) {
  const [state, set] = useState({});
  useEffect(() => {
    const ended = new AbortController();
    let busy = false;
    let again = false;
    const run = async () => {
      again = true;
      if (busy) return;
      busy = true;
      while (again && !ended.signal.aborted) {
        again = false;
        try {
          const value = await work(ended.signal);
          if (!ended.signal.aborted) set({ value });
        } catch (error) {
          if (!ended.signal.aborted) set((old) => ({ value: old.value, error }));
        }
      }
      busy = false;
    };
    run();
    const close = listen(kinds, job, run);
    return () => {
      ended.abort();
      close();
    };
  }, keys);
  return state;
}

// One stream for all that listen: a browser has few connections to one server. The stream of a job
// tells the news of all jobs, too. A hidden page has none: it would hold a connection for nothing.
/** How soon a server that did not answer is asked again. */
export const AGAIN_MS = 2000;
const listeners = new Set();
let source = null;
let streamed = null; // The job of the stream.
let again = null;

function tune() {
  const wanted = document.hidden || listeners.size === 0 ? null : [...listeners].map((each) => each.job).find(Boolean) || "";
  if (wanted === streamed && (source === null || source.readyState !== EventSource.CLOSED)) return;
  source?.close();
  clearTimeout(again);
  source = null;
  streamed = wanted;
  if (wanted === null) return;
  source = new EventSource(address("/ui/call/events", { job: wanted }));
  for (const kind of ["jobs", "log"])
    source.addEventListener(kind, (event) => {
      for (const each of [...listeners]) if (each.kinds.includes(kind)) each.tell(kind, event.data);
    });
  // A browser comes again by itself where a stream ends, not where it is refused.
  source.addEventListener("error", () => {
    if (source?.readyState === EventSource.CLOSED) again = setTimeout(tune, AGAIN_MS);
  });
}
document.addEventListener("visibilitychange", tune);

/** Calls `tell` on news of these kinds ("jobs", and of `job`: "log") until what it returns is called. */
export function listen(kinds, job, tell) {
  const own = { kinds, job, tell };
  if (kinds.length) listeners.add(own);
  queueMicrotask(tune);
  return () => {
    listeners.delete(own);
    queueMicrotask(tune);
  };
}

/** Lines come many times a second; a view of what they tell need not. */
const NEWS_MS = 1000;

/** Runs `work` now and, at most once a second, when the job's log has grown or any job has changed. */
export function useLog(work, job, keys, kinds = ["log", "jobs"]) {
  useEffect(() => {
    const ended = new AbortController();
    let timer = null;
    let busy = false;
    const run = async () => {
      timer = null;
      busy = true;
      await work(ended.signal);
      busy = false;
    };
    const due = () => {
      if (timer === null && !ended.signal.aborted) timer = setTimeout(() => (busy ? ((timer = null), due()) : run()), NEWS_MS);
    };
    run();
    const close = listen(kinds, job, due);
    return () => {
      ended.abort();
      clearTimeout(timer);
      close();
    };
  }, keys);
}

// Texts.

const dates = new Intl.DateTimeFormat(undefined, { dateStyle: "medium", timeStyle: "medium" });
const two = (number) => String(number).padStart(2, "0");

export const fullDate = (seconds) => dates.format(new Date(seconds * 1000));

/** 14:03:07, with the day in front where that is not today. */
export function shortDate(seconds) {
  const date = new Date(seconds * 1000);
  const time = `${two(date.getHours())}:${two(date.getMinutes())}:${two(date.getSeconds())}`;
  if (date.toDateString() === new Date().toDateString()) return time;
  return `${date.getFullYear()}-${two(date.getMonth() + 1)}-${two(date.getDate())} ${time}`;
}

export function span(seconds) {
  if (seconds < 10) return `${seconds.toFixed(1)} s`;
  if (seconds < 60) return `${Math.round(seconds)} s`;
  const minutes = Math.floor(seconds / 60);
  if (minutes < 60) return `${minutes} min ${Math.round(seconds % 60)} s`;
  if (minutes < 1440) return `${Math.floor(minutes / 60)} h ${minutes % 60} min`;
  return `${Math.floor(minutes / 1440)} d ${Math.floor((minutes % 1440) / 60)} h`;
}

export const sizeText = (bytes) => {
  const step = bytes < 1000 ? 0 : Math.min(Math.floor(Math.log10(bytes) / 3), 4);
  return `${step ? (bytes / 1000 ** step).toFixed(1) : bytes} ${["bytes", "KB", "MB", "GB", "TB"][step]}`;
};

// Parts that several views are made of.

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

/** A time, or "–" for none and for one that no calendar has: files say of theirs what they like. */
export function When({ seconds }) {
  const date = new Date((seconds || NaN) * 1000);
  if (Number.isNaN(date.getTime())) return html`<span class="quiet">–</span>`;
  return html`<time datetime=${date.toISOString()} title=${fullDate(seconds)}>${shortDate(seconds)}</time>`;
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

/** What lies over the page until it is closed. */
export function Dialog({ title, close, children }) {
  const box = useRef(null);
  useEffect(() => box.current.showModal(), []);
  return html`<dialog ref=${box} onClose=${close} aria-label=${title}>
    <div class="row"><h2>${title}</h2><span class="grow"></span>
      <button type="button" onClick=${() => box.current.close()}>Close</button></div>
    ${children}</dialog>`;
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
      tab("hosts", "Hosts")}${tab("log", "Log")}</nav>
  </header>`;
}
