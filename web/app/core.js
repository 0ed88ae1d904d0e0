// What every view uses: rendering, the address, the server's calls and news, and the parts that several views show.

import { h, render } from "../vendor/preact.mjs";
import { useEffect, useLayoutEffect, useMemo, useRef, useState } from "../vendor/hooks.mjs";
import htm from "../vendor/htm.mjs";
import { effect, signal } from "../vendor/signals-core.mjs";
import { address, placeOf } from "./address.js";
import { inTurn, newsOf, paced } from "./news.js";
import { kindOf, whenTexts } from "./text.js";

export const html = htm.bind(h);
export { render, useEffect, useLayoutEffect, useMemo, useRef, useState, effect, signal };

/** The signal's value; the component is drawn again when it changes. */
export function useSignal(source) {
  const [value, set] = useState(source.peek());
  useEffect(() => effect(() => set(() => source.value)), [source]);
  return value;
}

// The address holds the state of the view: everything that a reload should keep.

const read = () => placeOf(location);
export const place = signal(read());
addEventListener("popstate", () => (place.value = read()));

export function go(path, query = {}, replaces = false) {
  history[replaces ? "replaceState" : "pushState"](null, "", address(path, query));
  place.value = read();
}

/** Changes parts of the query; empty parts are removed. */
export function ask(changes, replaces = true) {
  const { path, query } = place.peek();
  go(path, { ...query, ...changes }, replaces);
}

// News from the server.

const news = newsOf({
  open: (job) => new EventSource(address("/ui/call/events", { job })),
  isHidden: () => document.hidden,
});
document.addEventListener("visibilitychange", news.tune);
export const { listen } = news;

/** Runs `work` now and on news of these kinds, one run at a time. Returns its last value and its last error. */
export function useNews(work, kinds, job, keys) {
  const [state, set] = useState({});
  useEffect(() => {
    const turns = inTurn(work, (done) => set((old) => ("error" in done ? { value: old.value, error: done.error } : done)));
    turns.run();
    const close = listen(kinds, job, turns.run);
    return () => {
      turns.end();
      close();
    };
  }, keys);
  return state;
}

/** Runs `work` now and, at most once a second, when the job's log has grown or any job has changed. */
export function useLog(work, job, keys, kinds = ["log", "jobs"]) {
  useEffect(() => {
    const turns = paced(work);
    turns.run();
    const close = listen(kinds, job, turns.due);
    return () => {
      turns.end();
      close();
    };
  }, keys);
}

/** As useNews(), when the job's log has grown or any job has changed, at most once a second. */
export function useData(work, job, keys, kinds) {
  const [state, set] = useState({});
  useLog(async (left) => {
    try {
      const value = await work(left);
      if (!left.aborted) set({ value });
    } catch (error) {
      if (!left.aborted) set((old) => ({ ...old, error }));
    }
  }, job, keys, kinds);
  return state;
}

/** A number that grows every `ms` milliseconds while `runs`, to fetch what the server sends no news of. Not in a hidden page. */
export function useTurns(ms, runs = true) {
  const [turn, next] = useState(0);
  useEffect(() => {
    if (!runs) return undefined;
    const timer = setInterval(() => document.hidden || next((old) => old + 1), ms);
    return () => clearInterval(timer);
  }, [runs]);
  return turn;
}

/** The time in seconds. Redraws the component regularly, because its texts become outdated without news. */
export function useNow() {
  const [, redraw] = useState(0);
  useEffect(() => {
    const timer = setInterval(() => redraw((old) => old + 1), 20_000);
    return () => clearInterval(timer);
  }, []);
  return Date.now() / 1000;
}

// Parts that several views are made of.

/** A link within the page. */
export function Link({ to, children, ...rest }) {
  const follow = (event) => {
    if (event.button !== 0 || event.metaKey || event.ctrlKey || event.shiftKey || event.altKey) return;
    event.preventDefault();
    const { path, query } = placeOf(new URL(to, location));
    go(path, query);
  };
  return html`<a href=${to} onClick=${follow} ...${rest}>${children}</a>`;
}

const SIGNS = { InProgress: "◐", Stopping: "◌", Completed: "✓", Failed: "✕", Stopped: "■", Waiting: "○", Hangs: "▲" };
const WORDS = { InProgress: "Running", Hangs: "Hanging" };

/** A job's status by colour, sign and word. */
export function Status({ job }) {
  const kind = kindOf(job);
  return html`<span class="status ${kind}"><span aria-hidden="true">${SIGNS[kind]}</span>${" "}${WORDS[kind] || kind}</span>`;
}

/** A time, or "–" where whenTexts() has none. */
export function When({ seconds }) {
  const texts = whenTexts(seconds);
  if (!texts) return html`<span class="quiet">–</span>`;
  return html`<time datetime=${texts.iso} title=${texts.full}>${texts.short}</time>`;
}

export function Copy({ text, what }) {
  const [done, set] = useState(false);
  const copy = async () => {
    try {
      await navigator.clipboard.writeText(text);
    } catch {
      // Browsers have no clipboard API without TLS.
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

/** A table whose rows become blocks on a narrow screen. The first cell names the row. */
export function Table({ title, columns, rows }) {
  return html`<div class="scroll" tabindex="0" role="region" aria-label=${title}><table class="stack">
    <thead><tr>${columns.map((each) => html`<th scope="col">${each}</th>`)}</tr></thead>
    <tbody>${rows.map((cells) => html`<tr>${cells.map((cell, i) =>
      i === 0 ? html`<th scope="row">${cell}</th>` : html`<td data-label=${columns[i]}><div>${cell}</div></td>`)}</tr>`)}</tbody></table></div>`;
}

/** A modal dialog. */
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
