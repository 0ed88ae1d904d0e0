// The log of a job. Only what is seen is in the page: the server has the lines, and searches them.

import { Empty, JobHead, Trouble, address, ask, call, html, listen, useEffect, useMemo, useRef,
         useState } from "../app/core.js";

const LINE = 20; // Pixels; style.css has it too.
const CHUNK = 200;
const CHUNKS_KEPT = 40;
const HEIGHT_MAX = 8_000_000; // Browsers know no taller element than about twice that.
const HITS_KEPT = 20_000;
const ENDED = ["Completed", "Failed", "Stopped"];
const FIRST_ERROR = String.raw`(?i)\b(error|exception|traceback|fatal|panic|segmentation fault|killed)\b`;

/** Lines by number, fetched as they are wanted. */
class Lines {
  constructor(job, host, changed) {
    Object.assign(this, { job, host, changed, count: 0, hosts: [], chunks: new Map(), wanted: new Set() });
  }

  at(number) {
    const index = Math.floor(number / CHUNK);
    const chunk = this.chunks.get(index);
    const end = Math.min((index + 1) * CHUNK, this.count) - index * CHUNK;
    if (!chunk || (chunk.length < end && !chunk[number - index * CHUNK])) this.want(index);
    if (chunk) {
      this.chunks.delete(index); // What is used last stands last.
      this.chunks.set(index, chunk);
    }
    return chunk?.[number - index * CHUNK];
  }

  async want(index) {
    if (this.wanted.has(index)) return;
    this.wanted.add(index);
    try {
      const told = await call("log", { job: this.job, host: this.host, from: index * CHUNK, count: CHUNK });
      this.chunks.set(index, told.lines);
      this.grow(told.count, told.hosts);
      for (const old of this.chunks.keys()) {
        if (this.chunks.size <= CHUNKS_KEPT) break;
        this.chunks.delete(old);
      }
      this.changed(null);
    } catch (error) {
      this.changed(error);
    } finally {
      this.wanted.delete(index);
    }
  }

  grow(count, hosts) {
    this.count = Math.max(this.count, count);
    if (hosts) this.hosts = hosts;
  }

  async look() {
    try {
      const told = await call("log", { job: this.job, host: this.host, from: this.count, count: 0 });
      this.grow(told.count, told.hosts);
      this.changed(null);
    } catch (error) {
      this.changed(error);
    }
  }
}

const pad = (number, size = 2) => String(number).padStart(size, "0");
function clock(millis) {
  const date = new Date(millis);
  return `${pad(date.getHours())}:${pad(date.getMinutes())}:${pad(date.getSeconds())}.${pad(date.getMilliseconds(), 3)}`;
}

/** What of a line is to be marked, as [text, is marked]. */
function marked(text, search) {
  if (!search.q || search.re) return [[text, false]];
  const [where, what] = search.any ? [text.toLowerCase(), search.q.toLowerCase()] : [text, search.q];
  const parts = [];
  let from = 0;
  for (let at = where.indexOf(what); at >= 0 && parts.length < 20; at = where.indexOf(what, from)) {
    parts.push([text.slice(from, at), false], [text.slice(at, at + what.length), true]);
    from = at + what.length;
  }
  parts.push([text.slice(from), false]);
  return parts;
}

function Row({ line, number, hosts, search, isHit, isCurrent, open }) {
  const here = address(location.pathname, { host: search.host, line: number + 1 });
  const choose = (event) => {
    event.preventDefault();
    ask({ line: number + 1 });
  };
  const kind = `line${isHit ? " hit" : ""}${isCurrent ? " current" : ""}`;
  if (!line) return html`<div class=${kind}><a href=${here} onClick=${choose}>${number + 1}</a></div>`;
  const [, host, time, text, bytes] = line;
  const cut = bytes > new TextEncoder().encode(text).length;
  return html`<div class=${kind}><a href=${here} onClick=${choose}>${number + 1}</a><span
    >${clock(time)}${hosts.length > 1 ? ` ${hosts[host]}` : ""}</span>${marked(text, search).map(
      ([part, is]) => (is ? html`<mark>${part}</mark>` : part))}${cut &&
      html`<button type="button" class="small" onClick=${() => open(number)}>… show all ${bytes} bytes</button>`}</div>`;
}

function Whole({ lines, number, close }) {
  const [text, set] = useState("Loading …");
  const box = useRef(null);
  useEffect(() => {
    box.current.showModal();
    call("log", { job: lines.job, host: lines.host, from: number, count: 1, whole: true }).then(
      (told) => set(told.lines[0][3]), (error) => set(error.message));
  }, [number]);
  return html`<dialog ref=${box} onClose=${close} aria-label=${`Line ${number + 1}`}>
    <div class="row"><h2>Line ${number + 1}</h2><span class="grow"></span>
      <button type="button" onClick=${() => box.current.close()}>Close</button></div>
    <pre class="text wraps" tabindex="0">${text}</pre></dialog>`;
}

/** The lines that are seen, and how the window over them moves. */
function Window({ lines, version, search, hits, current, follows, setFollows, goal, open }) {
  const box = useRef(null);
  const [top, setTop] = useState(0);
  const [rows, setRows] = useState(30);
  const own = useRef(-1); // Where we have put the scroll bar ourselves.
  const height = Math.min(lines.count * LINE, HEIGHT_MAX);
  const scaled = lines.count * LINE > HEIGHT_MAX;
  const lastTop = Math.max(lines.count - rows, 0);

  const move = (to) => {
    const bounded = Math.min(Math.max(to, 0), lastTop);
    setTop(bounded);
    const range = box.current.scrollHeight - box.current.clientHeight;
    const at = scaled ? (lastTop ? (bounded / lastTop) * range : 0) : bounded * LINE;
    box.current.scrollTop = at;
    own.current = box.current.scrollTop; // It may not go that far.
    return bounded;
  };
  useEffect(() => {
    const watch = new ResizeObserver(() => setRows(Math.max(Math.floor(box.current.clientHeight / LINE), 1)));
    watch.observe(box.current);
    return () => watch.disconnect();
  }, []);
  useEffect(() => {
    if (follows) move(lastTop);
  }, [follows, lines.count, rows]);
  useEffect(() => {
    if (goal.number !== null) move(goal.number - Math.floor(rows / 3));
  }, [goal]);

  const scrolled = () => {
    const at = box.current.scrollTop;
    if (Math.abs(at - own.current) <= 1) return;
    own.current = -1;
    const range = box.current.scrollHeight - box.current.clientHeight;
    const to = scaled ? (range ? (at / range) * lastTop : 0) : at / LINE;
    setTop(to);
    setFollows(to >= lastTop - 1);
  };
  const by = (delta) => setFollows(move(top + delta) >= lastTop);
  const wheel = (event) => {
    if (!scaled || event.ctrlKey || event.shiftKey || !event.deltaY) return;
    event.preventDefault();
    by(event.deltaMode === 1 ? event.deltaY : event.deltaY / LINE);
  };
  const key = (event) => {
    const steps = { ArrowUp: -1, ArrowDown: 1, PageUp: 2 - rows, PageDown: rows - 2, Home: -lines.count, End: lines.count };
    if (!(event.key in steps) || event.ctrlKey || event.altKey || event.metaKey) return;
    event.preventDefault();
    by(steps[event.key]);
  };
  const first = Math.floor(top);
  const seen = [];
  for (let number = first; number < Math.min(first + rows + 1, lines.count); ++number) seen.push(number);
  const found = useMemo(() => new Set(hits), [hits]);
  const shift = follows ? 0 : Math.round((first - top) * LINE);
  return html`<div class="log" ref=${box} tabindex="0" role="region" aria-label="Log"
      onScroll=${scrolled} onWheel=${wheel} onKeyDown=${key}>
    <div class="log-all" style=${{ height: `${height}px` }}>
      <div class="log-seen" style=${{ transform: `translateY(${shift}px)` }}>${seen.map((number) =>
        html`<${Row} key=${number} number=${number} line=${lines.at(number)} hosts=${lines.hosts}
          search=${search} isHit=${found.has(number)} isCurrent=${number === current} open=${open} />`)}</div>
    </div></div>`;
}

/** Searches the whole log, piece by piece, and tells what was found so far. */
function useSearch(job, host, search, turn) {
  const [state, set] = useState({ hits: [], done: true });
  useEffect(() => {
    if (!search.q) return set({ hits: [], done: true });
    const ended = new AbortController();
    const run = async () => {
      let from = 0;
      let all = 0;
      const hits = [];
      for (;;) {
        const told = await call("search-log", { job, host, pattern: search.q, from,
          expression: Boolean(search.re), any_case: Boolean(search.any) }, ended.signal);
        all += told.numbers.length;
        for (const number of told.numbers) if (hits.length < HITS_KEPT) hits.push(number);
        from = told.looked_to;
        const done = from >= told.count;
        set({ hits: [...hits], all, done, part: told.count ? from / told.count : 1 });
        if (done) return;
      }
    };
    const timer = setTimeout(() => run().catch((error) => {
      if (error.name !== "AbortError") set({ hits: [], done: true, error });
    }), 150);
    return () => {
      clearTimeout(timer);
      ended.abort();
    };
  }, [job, host, search.q, search.re, search.any, turn]);
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
  const key = (event) => {
    if (event.key !== "Enter") return;
    event.preventDefault();
    step(event.shiftKey ? -1 : 1);
  };
  const tally = !query.q ? "" : found.error ? "" :
    `${found.place >= 0 ? `${found.place + 1} of ` : ""}${found.all ?? 0}${found.done ? "" : ` … ${Math.round(found.part * 100) || 0} %`}`;
  return html`<div class="filters log-tools">
    <label><span class="hidden">Search in the log</span><input type="search" placeholder="Search the whole log …"
      value=${text} maxlength="500" spellcheck="false" onInput=${(event) => set(event.target.value)} onKeyDown=${key} /></label>
    ${toggle("any", "aA", "Ignore case")}${toggle("re", ".*", "As an expression (RE2)")}
    <button type="button" class="small" aria-label="Previous match" disabled=${!found.hits.length} onClick=${() => step(-1)}>↑</button>
    <button type="button" class="small" aria-label="Next match" disabled=${!found.hits.length} onClick=${() => step(1)}>↓</button>
    <span class="tally" role="status">${tally}</span>
    <span class="grow"></span>
    ${lines.hosts.length > 1 || query.host ? html`<label><span class="hidden">Host</span>
      <select value=${query.host || ""} onChange=${(event) => ask({ host: event.target.value, line: "" })}>
        <option value="">All hosts</option>${(query.host ? hosts : lines.hosts).map((each) =>
          html`<option value=${each}>${each}</option>`)}</select></label>` : null}
    <button type="button" onClick=${jump}>First error</button>
    ${grows && html`<button type="button" aria-pressed=${follows}
      onClick=${() => setFollows(!follows)}>${follows ? "Following" : "Follow"}</button>`}
    <a class="button" href=${address("/ui/call/download", { job: name, host: query.host })} download>Download</a>
  </div>`;
}

export function Log({ name, query }) {
  const host = query.host || "";
  const [version, redraw] = useState(0);
  const [error, setError] = useState(null);
  const [follows, setFollows] = useState(!query.line && !query.error);
  const [goal, setGoal] = useState({ number: null });
  const [place, setPlace] = useState(-1);
  const [whole, open] = useState(null);
  const [status, setStatus] = useState(null);
  const allHosts = useRef([]);
  const lines = useMemo(() => new Lines(name, host, (wrong) => {
    setError(wrong);
    redraw((old) => old + 1);
  }), [name, host]);
  useEffect(() => void (document.title = `Log of ${name} · muster`), [name]);
  useEffect(() => {
    lines.look();
    const describe = () => call("DescribeTrainingJob", { TrainingJobName: name }).then(setStatus, () => {});
    describe();
    return listen(["log", "jobs"], name, (kind) => (kind === "log" ? lines.look() : describe()));
  }, [lines]);
  if (!host && lines.hosts.length) allHosts.current = lines.hosts;
  const search = { q: query.q || "", re: query.re, any: query.any, host };
  const found = useSearch(name, host, search, 0);
  useEffect(() => setPlace(-1), [search.q, search.re, search.any, host]);
  const current = query.line ? Number(query.line) - 1 : -1;
  const show = (number) => {
    setFollows(false);
    setGoal({ number });
  };
  useEffect(() => {
    if (current >= 0 && lines.count > 0) show(current);
  }, [current, lines.count > 0]);
  const step = (by) => {
    if (!found.hits.length) return;
    const next = place < 0 ? (by > 0 ? 0 : found.hits.length - 1) : (place + by + found.hits.length) % found.hits.length;
    setPlace(next);
    ask({ line: found.hits[next] + 1 });
  };
  const jump = async () => {
    let from = 0;
    for (;;) {
      const told = await call("search-log", { job: name, host, pattern: FIRST_ERROR, expression: true, from });
      if (told.numbers.length) return ask({ line: told.numbers[0] + 1, error: "" });
      from = told.looked_to;
      if (from >= told.count) return setError({ message: "No line looks like an error." });
    }
  };
  useEffect(() => {
    if (query.error === "first") jump().catch(setError);
  }, [query.error]);
  return html`<div class="log-page">
    <${JobHead} name=${name} status=${status?.TrainingJobStatus} secondary=${status?.SecondaryStatus} />
    <${Tools} lines=${lines} query=${query} name=${name} follows=${follows} setFollows=${setFollows}
      found=${{ ...found, place }} step=${step} jump=${() => jump().catch(setError)} 
      hosts=${allHosts.current.length ? allHosts.current : [host]} grows=${status && !ENDED.includes(status.TrainingJobStatus)} />
    <${Trouble} error=${found.error || error} />
    ${lines.count === 0 && status && html`<${Empty} title="No lines yet">
      <p class="quiet">They are shown as they come.</p><//>`}
    <${Window} lines=${lines} version=${version} search=${search} hits=${found.hits} current=${current}
      follows=${follows} setFollows=${setFollows} goal=${goal} open=${open} />
    ${whole !== null && html`<${Whole} lines=${lines} number=${whole} close=${() => open(null)} />`}
  </div>`;
}
