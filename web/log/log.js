// The log of a job. Only what is seen is in the page: the server has the lines, and searches them.

import { Dialog, Empty, JobHead, Trouble, address, ask, call, html, listen, useEffect, useMemo, useRef,
         useState } from "../app/core.js";

const LINE = 20; // Pixels; style.css has it too.
const CHUNK = 200;
const CHUNKS_KEPT = 40;
const HEIGHT_MAX = 8_000_000; // Browsers know no taller element than about twice that.
const HITS_KEPT = 20_000;
const PAUSE_MS = 1000; // Before the server is asked again for what it did not give.
const ENDED = ["Completed", "Failed", "Stopped"];
const FIRST_ERROR = String.raw`(?i)\b(error|exception|traceback|fatal|panic|segmentation fault|killed)\b`;

const rest = () => new Promise((done) => setTimeout(done, PAUSE_MS));

/** What of the log is asked for, of the parts of the address. */
const FILTERS = ["host", "rank", "stream", "level", "fold"];
const filterOf = (query) => Object.fromEntries(FILTERS.map((each) => [each, query[each] || ""]));

/**
 * Rows by number, fetched as they are wanted: all lines of the hosts or, in a view, those that a filter lets through,
 * folded where that is asked for. The server makes a view of the log piece by piece, a call each. Numbers are those of
 * one edition of the log: all begins anew with another one.
 */
class Lines {
  constructor(job, filter, changed) {
    const isView = FILTERS.some((each) => each !== "host" && filter[each]);
    Object.assign(this, { job, filter, isView, changed, edition: null, count: 0, all: Infinity, looked: 0, full: false,
      hosts: [], chunks: new Map(), wanted: new Set(), left: false, looks: false, news: false, pauses: null });
  }

  leave() {
    this.left = true;
    clearTimeout(this.pauses);
  }

  /** Nothing is asked for a while, then all that is wanted. */
  pause() {
    if (!this.left) this.pauses ??= setTimeout(() => {
      this.pauses = null;
      this.look();
    }, PAUSE_MS);
  }

  ask(input) {
    return call("log", { job: this.job, ...this.filter, ...input });
  }

  at(number) {
    const index = Math.floor(number / CHUNK);
    const chunk = this.chunks.get(index);
    const row = chunk?.rows[number - index * CHUNK];
    // Others may have written since what a row says.
    const isOld = chunk?.settled < index * CHUNK + chunk?.rows.length && this.looked > chunk.looked;
    if (!row || isOld) this.want(index);
    if (chunk) {
      this.chunks.delete(index); // What is used last stands last.
      this.chunks.set(index, chunk);
    }
    return row;
  }

  async want(index) {
    if (this.pauses !== null || this.wanted.has(index)) return;
    this.wanted.add(index);
    const { looked } = this;
    const due = Math.min(this.count - index * CHUNK, CHUNK);
    try {
      const told = await this.ask({ from: index * CHUNK, count: CHUNK });
      const isOther = this.grow(told);
      this.chunks.set(index, { rows: told.lines, settled: told.settled ?? Infinity, looked: told.looked_to });
      if (isOther || (told.lines.length < due && !(this.looked > looked))) this.pause();
      for (const old of this.chunks.keys()) {
        if (this.chunks.size <= CHUNKS_KEPT) break;
        this.chunks.delete(old);
      }
      this.changed(null);
    } catch (error) {
      this.pause();
      this.changed(error);
    } finally {
      this.wanted.delete(index);
    }
  }

  /** Whether these are other lines than those before. */
  grow(told) {
    const isOther = this.count > 0 && told.edition !== this.edition;
    if (isOther) {
      this.chunks.clear();
      this.count = 0;
    }
    this.edition = told.edition;
    this.count = Math.max(this.count, told.count);
    this.hosts = told.hosts;
    if (this.isView) Object.assign(this, { all: told.all, looked: told.looked_to, full: told.full });
    return isOther;
  }

  get done() {
    return !this.isView || this.full || this.looked >= this.all;
  }

  /** Whether there are more rows. One look at a time: news while it goes on make another one. */
  async look() {
    this.news = true;
    if (this.looks) return;
    this.looks = true;
    try {
      while (!this.left && this.pauses === null && (this.news || !this.done)) {
        this.news = false;
        const { looked } = this;
        const isOther = this.grow(await this.ask({ from: this.count, count: 0 }));
        if (isOther || !(this.done || this.looked > looked)) this.pause();
        this.changed(null);
      }
    } catch (error) {
      if (!(error.status >= 400 && error.status < 500)) this.pause(); // Else the answer stays as it is.
      this.changed(error);
    } finally {
      this.looks = false;
    }
  }

  /** The row where the line of that number stands, or the next one. */
  async rowOf(number) {
    if (!this.isView) return number;
    for (;;) {
      const { looked } = this;
      const told = await this.ask({ from: 0, count: 0, line: number });
      this.grow(told);
      if (this.looked > number || this.done || this.left) return told.row;
      if (this.looked <= looked) await rest();
    }
  }
}

/** [[0, 2], [5, 5]] as "0–2, 5"; hosts by their names. */
const ranges = (all, name) => all.map(([from, to]) => (from === to ? name(from) : `${name(from)}–${name(to)}`)).join(", ");
function writersText([ranks, hosts], names) {
  const texts = [];
  if (ranks.length) texts.push(`ranks ${ranges(ranks, String)}`);
  if (hosts.length) texts.push(ranges(hosts, (each) => names[each]));
  return texts.join(", ");
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

function Row({ line, number, lines, search, hits, current, open }) {
  const real = line ? line[0] : lines.isView ? null : number;
  if (real === null) return html`<div class="line"></div>`;
  const here = address(location.pathname, { ...lines.filter, line: real + 1 });
  const choose = (event) => {
    event.preventDefault();
    ask({ line: real + 1 });
  };
  const kind = `line${hits.has(real) ? " hit" : ""}${real === current ? " current" : ""}`;
  if (!line) return html`<div class=${kind}><a href=${here} onClick=${choose}>${real + 1}</a></div>`;
  const [, host, time, text, bytes, writers] = line;
  const cut = !writers && bytes > new TextEncoder().encode(text).length;
  const who = writers ? writersText(writers, lines.hosts) : lines.hosts.length > 1 ? lines.hosts[host] : "";
  return html`<div class=${kind}><a href=${here} onClick=${choose}>${real + 1}</a><span
    >${clock(time)}${who && ` ${who}`}</span>${marked(text, search).map(
      ([part, is]) => (is ? html`<mark>${part}</mark>` : part))}${cut &&
      html`<button type="button" class="small" onClick=${() => open(real)}>… show all ${bytes} bytes</button>`}</div>`;
}

function Whole({ lines, number, close }) {
  const [text, set] = useState("Loading …");
  useEffect(() => {
    call("log", { job: lines.job, host: lines.filter.host, from: number, count: 1, whole: true }).then(
      (told) => set(told.lines[0][3]), (error) => set(error.message));
  }, [number]);
  return html`<${Dialog} title=${`Line ${number + 1}`} close=${close}>
    <pre class="text wraps" tabindex="0">${text}</pre><//>`;
}

/** The lines that are seen, and how the window over them moves. */
function Window({ lines, version, search, hits, current, follows, setFollows, goal, open }) {
  const box = useRef(null);
  const [top, setTop] = useState(0);
  const [rows, setRows] = useState(30);
  const own = useRef(-1); // Where we have put the scroll bar ourselves.
  const wants = useRef(follows); // As `follows`, at once: an effect may run after a later key.
  wants.current = follows;
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
  const follow = (is) => {
    wants.current = is;
    setFollows(is);
  };
  useEffect(() => {
    // A box that goes, with its view, has a last size to tell.
    const watch = new ResizeObserver(() =>
      box.current && setRows(Math.max(Math.floor(box.current.clientHeight / LINE), 1)));
    watch.observe(box.current);
    return () => watch.disconnect();
  }, []);
  useEffect(() => {
    if (wants.current) move(lastTop);
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
    follow(to >= lastTop - 1);
  };
  const by = (delta) => follow(move(top + delta) >= lastTop);
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
        html`<${Row} key=${number} number=${number} line=${lines.at(number)} lines=${lines}
          search=${search} hits=${found} current=${current} open=${open} />`)}</div>
    </div></div>`;
}

/** Searches the whole log, piece by piece, and tells what was found so far. */
function useSearch(lines, search) {
  const { edition } = lines;
  const [state, set] = useState({ hits: [], done: true });
  useEffect(() => {
    if (!search.q || edition === null) return set({ hits: [], done: true });
    const ended = new AbortController();
    const run = async () => {
      let from = 0;
      let all = 0;
      const hits = [];
      for (;;) {
        const told = await call("search-log", { job: lines.job, ...lines.filter, pattern: search.q, from,
          expression: Boolean(search.re), any_case: Boolean(search.any) }, ended.signal);
        if (told.edition !== edition) return lines.look(); // And then all is searched anew.
        all += told.numbers.length;
        for (const number of told.numbers) if (hits.length < HITS_KEPT) hits.push(number);
        const gains = told.looked_to > from;
        from = told.looked_to;
        const done = from >= told.count;
        set({ hits: [...hits], all, done, part: told.count ? from / told.count : 1 });
        if (done) return;
        if (!gains) await rest();
      }
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
      ${Object.entries(all).map(([value, text]) => html`<option value=${value}>${text}</option>`)}</select></label>`;
  const file = (form) => address("/ui/call/download", { job: name, ...lines.filter, form });
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
    ${lines.isView && html`<span class="quiet" role="status">${lines.count} rows${lines.full ? ", no more fit" :
      lines.done ? "" : ` … ${Math.round((100 * lines.looked) / lines.all)} %`}</span>`}
    <label><span class="hidden">Rank</span><input type="search" inputmode="numeric" class="rank" placeholder="Rank"
      value=${query.rank || ""} maxlength="7" onChange=${(event) => ask({ rank: event.target.value.trim(), line: "" })} /></label>
    ${choice("stream", "Stream", { "": "Both streams", stdout: "stdout", stderr: "stderr" })}
    ${choice("level", "Level", { "": "All levels", info: "Info and above", warning: "Warnings, errors", error: "Errors" })}
    ${toggle("fold", "Fold", "One row for what several ranks wrote alike")}
    ${lines.hosts.length > 1 || query.host ? html`<label><span class="hidden">Host</span>
      <select value=${query.host || ""} onChange=${(event) => ask({ host: event.target.value, line: "" })}>
        <option value="">All hosts</option>${(query.host ? hosts : lines.hosts).map((each) =>
          html`<option value=${each}>${each}</option>`)}</select></label>` : null}
    <button type="button" onClick=${jump}>First error</button>
    ${grows && html`<button type="button" aria-pressed=${follows}
      onClick=${() => setFollows(!follows)}>${follows ? "Following" : "Follow"}</button>`}
    <a class="button" href=${file("")} download>Download</a>
    <a class="button" href=${file("jsonl")} download>JSONL</a>
  </div>`;
}

export function Log({ name, query }) {
  const filter = filterOf(query);
  const shown = JSON.stringify(filter);
  const [version, redraw] = useState(0);
  const [error, setError] = useState(null);
  const [follows, setFollows] = useState(!query.line && !query.error);
  const [goal, setGoal] = useState({ number: null });
  const [place, setPlace] = useState(-1);
  const [whole, open] = useState(null);
  const [status, setStatus] = useState(null);
  const allHosts = useRef([]);
  const lines = useMemo(() => new Lines(name, filter, (wrong) => {
    if (lines.left) return;
    setError(wrong);
    redraw((old) => old + 1);
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
    const next = place < 0 ? (by > 0 ? 0 : found.hits.length - 1) : (place + by + found.hits.length) % found.hits.length;
    setPlace(next);
    ask({ line: found.hits[next] + 1 });
  };
  const jump = async () => {
    let from = 0;
    for (;;) {
      const told = await call("search-log", { job: name, ...filter, pattern: FIRST_ERROR, expression: true, from });
      if (told.numbers.length) return ask({ line: told.numbers[0] + 1, error: "" });
      const gains = told.looked_to > from;
      from = told.looked_to;
      if (from >= told.count) return setError({ message: "No line looks like an error." });
      if (!gains) await rest();
    }
  };
  useEffect(() => {
    if (query.error === "first") jump().catch(setError);
  }, [query.error]);
  return html`<div class="log-page">
    <${JobHead} name=${name} status=${status?.TrainingJobStatus} secondary=${status?.SecondaryStatus} />
    <${Tools} lines=${lines} query=${query} name=${name} follows=${follows} setFollows=${setFollows}
      found=${{ ...found, place }} step=${step} jump=${() => jump().catch(setError)} 
      hosts=${allHosts.current.length ? allHosts.current : [filter.host]} grows=${status && !ENDED.includes(status.TrainingJobStatus)} />
    <${Trouble} error=${found.error || error} />
    ${lines.count === 0 && status && (lines.isView
      ? lines.done && html`<${Empty} title="No line is like that">
        <button type="button" onClick=${() => ask(filterOf({}))}>Show all lines</button><//>`
      : html`<${Empty} title="No lines yet"><p class="quiet">They are shown as they come.</p><//>`)}
    <${Window} lines=${lines} version=${version} search=${search} hits=${found.hits} current=${current}
      follows=${follows} setFollows=${setFollows} goal=${goal} open=${open} />
    ${whole !== null && html`<${Whole} lines=${lines} number=${whole} close=${() => open(null)} />`}
  </div>`;
}
