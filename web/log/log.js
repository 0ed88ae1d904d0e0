// The log of a job. The page holds only the visible lines: the server keeps the log and searches it.

import { Dialog, Empty, Trouble, ask, html, listen, useEffect, useLayoutEffect, useMemo, useRef, useState } from "../app/core.js";
import { address } from "../app/address.js";
import { call } from "../app/calls.js";
import { JobHead } from "../job/head.js";
import { ENDED } from "../job/texts.js";
import { Lines, filterOf, firstError, nextPlace, rowsText, searchLog, tallyText } from "./lines.js";
import { LINE, piecesOf, placedOf, rowTexts, seenOf, stepOf, viewOf } from "./rows.js";

/** The text of a line in the colours of its program; matches of the search are marked. */
export function Said({ text, level, search = {}, children }) {
  return html`<span class=${`said ${level}`}>${piecesOf(text, search).map(([part, classes, is]) =>
    is ? html`<mark class=${classes}>${part}</mark>` : classes ? html`<span class=${classes}>${part}</span>` : part)}${children}</span>`;
}

function Row({ line, number, lines, search, hits, current, open, wraps }) {
  const real = line ? line[0] : lines.isView ? null : number;
  if (real === null) return html`<div class="line"></div>`;
  const here = address(location.pathname, { ...lines.filter, wrap: wraps ? 1 : "", line: real + 1 });
  const choose = (event) => {
    event.preventDefault();
    ask({ line: real + 1 });
  };
  const kind = `line${hits.has(real) ? " hit" : ""}${real === current ? " current" : ""}`;
  if (!line) return html`<div class=${kind}><a href=${here} onClick=${choose}>${real + 1}</a></div>`;
  const { time, who, text, level, bytes, more, cut } = rowTexts(line, lines.hosts);
  return html`<div class=${kind}><a href=${here} onClick=${choose}>${real + 1}</a><span class="when"
    >${time}${who && ` ${who}`}</span><${Said}
      text=${text} level=${level} search=${search}>${cut &&
      html`<button type="button" class="small" onClick=${() => open(real)}>… show all ${bytes} bytes</button>`}${more > 0 &&
      html`<button type="button" class="small" onClick=${() => ask({ fold: "", line: real + 1 })}>… show ${more} more NCCL lines</button>`}<//></div>`;
}

function Whole({ lines, number, close }) {
  const [text, set] = useState("Loading…");
  useEffect(() => {
    call("log", { job: lines.job, host: lines.filter.host, from: number, count: 1, whole: true }).then(
      (told) => set(told.lines[0][3]), (error) => set(error.message));
  }, [number]);
  return html`<${Dialog} title=${`Line ${number + 1}`} close=${close}>
    <pre class="text wraps" tabindex="0">${text}</pre><//>`;
}

/** The visible lines, and scrolling. `wraps`: rows are as tall as their text, so they are measured after they are drawn. */
function Window({ lines, search, hits, current, follows, setFollows, goal, open, wraps }) {
  const box = useRef(null);
  const drawn = useRef(null);
  const [top, setTop] = useState(0);
  const [{ rows, tall }, setSize] = useState({ rows: 30, tall: 30 * LINE });
  const [fit, setFit] = useState(30);
  const average = useRef(0); // Only grows, because a shorter scroll bar would move by itself.
  const own = useRef(-1); // Where we have put the scroll bar ourselves.
  const wants = useRef(follows); // As `follows`, at once: an effect may run after a later key.
  wants.current = follows;
  average.current = wraps ? Math.max(average.current, tall / fit, LINE) : 0;
  const { height, scaled, lastTop, bounded, barOf, topOf } = viewOf(lines.count, wraps ? fit : rows, average.current);
  const range = () => box.current.scrollHeight - box.current.clientHeight;
  const seen = seenOf(wraps ? Math.min(top, Math.max(lines.count - rows - 1, 0)) : top, rows, lines.count);

  const move = (to) => {
    const wanted = bounded(to);
    setTop(wanted);
    box.current.scrollTop = barOf(wanted, range());
    own.current = box.current.scrollTop; // It may not go that far.
    return wanted;
  };
  const follow = (is) => {
    wants.current = is;
    setFollows(is);
  };
  useEffect(() => {
    // The observer can run once more after the box is removed.
    const watch = new ResizeObserver(() => box.current && setSize({
      rows: Math.max(Math.floor(box.current.clientHeight / LINE), 1), tall: box.current.clientHeight }));
    watch.observe(box.current);
    return () => watch.disconnect();
  }, []);
  useLayoutEffect(() => {
    if (!wraps || seen.length === 0) return;
    const heights = [...drawn.current.children].map((each) => each.offsetHeight);
    const placed = placedOf(heights, seen[0], top, tall, seen.at(-1) === lines.count - 1);
    drawn.current.style.transform = `translateY(${Math.round(placed.shift)}px)`;
    if (Math.abs(placed.fit - fit) > 0.01) setFit(placed.fit);
  });
  useEffect(() => {
    if (wants.current) move(lastTop);
  }, [follows, lines.count, rows, lastTop]);
  useEffect(() => {
    if (goal.number !== null) move(goal.number - (wraps ? 0 : Math.floor(rows / 3)));
  }, [goal, wraps]);

  const scrolled = () => {
    if (!box.current) return; // The last event of a box that was removed.
    const at = box.current.scrollTop;
    if (Math.abs(at - own.current) <= 1) return;
    own.current = -1;
    const to = topOf(at, range());
    setTop(to);
    follow(to >= lastTop - 1);
  };
  const by = (delta) => follow(move(top + delta) >= lastTop);
  const wheel = (event) => {
    if (!scaled || event.ctrlKey || event.shiftKey || !event.deltaY) return;
    event.preventDefault();
    by(event.deltaMode === 1 ? event.deltaY : event.deltaY / (average.current || LINE));
  };
  const key = (event) => {
    const step = stepOf(event.key, lines.count, wraps ? Math.floor(fit) : rows);
    if (step === undefined || event.ctrlKey || event.altKey || event.metaKey) return;
    event.preventDefault();
    by(step);
  };
  const found = useMemo(() => new Set(hits), [hits]);
  const shift = follows ? 0 : Math.round((Math.floor(top) - top) * LINE);
  return html`<div class=${wraps ? "log wraps-lines" : "log"} ref=${box} tabindex="0" role="region" aria-label="Log"
      onScroll=${scrolled} onWheel=${wheel} onKeyDown=${key}>
    <div class="log-all" style=${{ height: `${height}px` }}>
      <div class="log-seen" style=${wraps ? { height: `${tall}px` } : {}}><div ref=${drawn}
          style=${wraps ? undefined : { transform: `translateY(${shift}px)` }}>${seen.map((number) =>
        html`<${Row} key=${number} number=${number} line=${lines.at(number)} lines=${lines}
          search=${search} hits=${found} current=${current} open=${open} wraps=${wraps} />`)}</div></div>
    </div></div>`;
}

/** Searches the whole log piece by piece, and returns the matches found so far. */
function useSearch(lines, search) {
  const { edition } = lines;
  const [state, set] = useState({ hits: [], done: true });
  useEffect(() => {
    if (!search.q || edition === null) return set({ hits: [], done: true });
    const ended = new AbortController();
    const run = async () => {
      const isSame = await searchLog((from) => call("search-log", { job: lines.job, ...lines.filter, pattern: search.q, from,
        expression: Boolean(search.re), any_case: Boolean(search.any) }, ended.signal), edition, set);
      if (!isSame) lines.look(); // Fetches the other edition; this effect then searches it.
    };
    const timer = setTimeout(() => run().catch((error) => {
      if (error.name !== "AbortError") set({ hits: [], done: true, error });
    }), 150);
    return () => {
      clearTimeout(timer);
      ended.abort();
    };
  }, [lines, edition, search.q, search.re, search.any]);
  return state;
}

function Tools({ lines, query, name, follows, setFollows, found, step, jump, hosts, grows }) {
  const [text, set] = useState(query.q || "");
  useEffect(() => set(query.q || ""), [query.q]);
  useEffect(() => {
    if (text === (query.q || "")) return;
    const timer = setTimeout(() => ask({ q: text, line: "" }), 250);
    return () => clearTimeout(timer);
  }, [text]);
  const toggle = (part, sign, title) => html`<button type="button" class="chip" title=${title} aria-label=${title}
    aria-pressed=${Boolean(query[part])} onClick=${() => ask({ [part]: query[part] ? "" : "1" })}>${sign}</button>`;
  const choice = (part, title, all) => html`<label><span class="hidden">${title}</span>
    <select name=${part} value=${query[part] || ""} onChange=${(event) => ask({ [part]: event.target.value, line: "" })}>
      ${Object.entries(all).map(([value, word]) => html`<option value=${value}>${word}</option>`)}</select></label>`;
  const file = (form) => address("/ui/call/download", { job: name, ...lines.filter, form });
  const key = (event) => {
    if (event.key !== "Enter") return;
    event.preventDefault();
    step(event.shiftKey ? -1 : 1);
  };
  const tally = !query.q || found.error ? "" : tallyText(found);
  return html`<div class="filters log-tools">
    <label class="grow"><span class="hidden">Search the log</span><input type="search" placeholder="Search…"
      value=${text} maxlength="500" spellcheck="false" onInput=${(event) => set(event.target.value)} onKeyDown=${key} /></label>
    ${toggle("any", "aA", "Ignore case")}${toggle("re", ".*", "Regular expression (RE2)")}
    <button type="button" class="small" aria-label="Previous match" disabled=${!found.hits.length} onClick=${() => step(-1)}>↑</button>
    <button type="button" class="small" aria-label="Next match" disabled=${!found.hits.length} onClick=${() => step(1)}>↓</button>
    <span class="tally" role="status">${tally}</span>
    ${lines.isView && html`<span class="quiet" role="status">${rowsText(lines)}</span>`}
    <label><span class="hidden">Rank</span><input type="search" inputmode="numeric" class="rank" placeholder="Rank"
      value=${query.rank || ""} maxlength="7" onChange=${(event) => ask({ rank: event.target.value.trim(), line: "" })} /></label>
    ${choice("stream", "Stream", { "": "All streams", stdout: "stdout", stderr: "stderr" })}
    ${choice("level", "Level", { "": "All levels", info: "≥ Info", warning: "≥ Warning", error: "≥ Error" })}
    ${toggle("fold", "Fold", "Combine identical lines from several ranks, and NCCL INFO lines")}
    ${toggle("wrap", "Wrap", "Wrap long lines")}
    ${lines.hosts.length > 1 || query.host ? html`<label><span class="hidden">Host</span>
      <select value=${query.host || ""} onChange=${(event) => ask({ host: event.target.value, line: "" })}>
        <option value="">All hosts</option>${(query.host ? hosts : lines.hosts).map((each) =>
          html`<option value=${each}>${each}</option>`)}</select></label>` : null}
    <button type="button" onClick=${jump}>First error</button>
    ${grows && html`<button type="button" aria-pressed=${follows}
      onClick=${() => setFollows(!follows)}>${follows ? "Following" : "Follow"}</button>`}
    <details class="menu"><summary class="button">Download</summary><div class="card">
      <a href=${file("")} download>Text</a><a href=${file("jsonl")} download>JSON lines</a></div></details>
  </div>`;
}

export function Log({ name, query }) {
  const filter = filterOf(query);
  const shown = JSON.stringify(filter);
  const [, redraw] = useState(0);
  const [error, setError] = useState(null);
  const [follows, setFollows] = useState(!query.line && !query.error);
  const [goal, setGoal] = useState({ number: null });
  const [place, setPlace] = useState(-1);
  const [whole, open] = useState(null);
  const [status, setStatus] = useState(null);
  const allHosts = useRef([]);
  const lines = useMemo(() => new Lines(name, filter, {
    ask: (input) => call("log", input),
    changed: (wrong) => {
      if (lines.left) return;
      setError(wrong);
      redraw((old) => old + 1);
    },
  }), [name, shown]);
  useEffect(() => void (document.title = `Log of ${name} · muster`), [name]);
  useEffect(() => {
    lines.look();
    const failed = (wrong) => lines.left || setError((old) => old || wrong);
    const describe = () => call("DescribeTrainingJob", { TrainingJobName: name }).then(setStatus, failed);
    describe();
    const close = listen(["log", "jobs"], name, (kind) => (kind === "log" ? lines.look() : describe()));
    return () => {
      lines.leave();
      close();
    };
  }, [lines]);
  if (!filter.host && lines.hosts.length) allHosts.current = lines.hosts;
  const search = { q: query.q || "", re: query.re, any: query.any };
  const found = useSearch(lines, search);
  useEffect(() => setPlace(-1), [search.q, search.re, search.any, shown]);
  const current = query.line ? Number(query.line) - 1 : -1;
  useEffect(() => {
    if (current < 0 || lines.count === 0) return;
    setFollows(false);
    lines.rowOf(current).then((number) => lines.left || setGoal({ number }), setError);
  }, [current, lines, lines.count > 0]);
  const step = (by) => {
    if (!found.hits.length) return;
    const next = nextPlace(place, by, found.hits.length);
    setPlace(next);
    ask({ line: found.hits[next] + 1 });
  };
  const jump = async () => {
    const number = await firstError((input) => call("search-log", { job: name, ...filter, ...input }));
    if (number === null) setError({ message: "No errors found in the log." });
    else ask({ line: number + 1, error: "" });
  };
  useEffect(() => {
    if (query.error === "first") jump().catch(setError);
  }, [query.error]);
  return html`<div class="log-page">
    <${JobHead} name=${name} job=${status} />
    <${Tools} lines=${lines} query=${query} name=${name} follows=${follows} setFollows=${setFollows}
      found=${{ ...found, place }} step=${step} jump=${() => jump().catch(setError)}
      hosts=${allHosts.current.length ? allHosts.current : [filter.host]} grows=${status && !ENDED.includes(status.TrainingJobStatus)} />
    <${Trouble} error=${found.error || error} />
    ${lines.count === 0 && status && (lines.isView
      ? lines.done && html`<${Empty} title="No matching lines">
        <button type="button" onClick=${() => ask(filterOf({}))}>Show all lines</button><//>`
      : html`<${Empty} title="No lines yet"><p class="quiet">Lines appear here as the job prints them.</p><//>`)}
    <${Window} lines=${lines} search=${search} hits=${found.hits} current=${current}
      follows=${follows} setFollows=${setFollows} goal=${goal} open=${open} wraps=${Boolean(query.wrap)} />
    ${whole !== null && html`<${Whole} lines=${lines} number=${whole} close=${() => open(null)} />`}
  </div>`;
}
