// The lines of a job's log as the page holds them: which are asked for, kept and asked for again; searches; texts of a
// row. Nothing here draws: callers pass how the server is called and how long to wait.

import { clock } from "../app/text.js";

const CHUNK = 200;
const CHUNKS_KEPT = 40;
const HITS_KEPT = 20_000;
const MARKS_MAX = 10;
const PAUSE_MS = 1000; // Before the server is asked again for lines that it did not return.
const FIRST_ERROR = String.raw`(?i)\b(error|exception|traceback|fatal|panic|segmentation fault|killed)\b`;

const pause = () => new Promise((done) => setTimeout(done, PAUSE_MS));

/** The parts of the address that choose lines. */
const FILTERS = ["host", "rank", "stream", "level", "fold"];
export const filterOf = (query) => Object.fromEntries(FILTERS.map((each) => [each, query[each] || ""]));

/**
 * Rows by number, fetched when they are wanted: all lines of the hosts or, in a view, the lines that a filter lets
 * through, folded if the filter says so. The server makes a view of the log piece by piece, one call each. Numbers
 * belong to one edition of the log: with another edition, all rows are fetched again.
 *
 * `ask(input)` calls the server's `log`; `changed(error)` is called after each response, with null if it was good.
 */
export class Lines {
  constructor(job, filter, { ask, changed }) {
    const isView = FILTERS.some((each) => each !== "host" && filter[each]);
    Object.assign(this, { job, filter, isView, changed, edition: null, count: 0, all: Infinity, looked: 0, full: false,
      hosts: [], chunks: new Map(), wanted: new Set(), left: false, looks: false, news: false, pauses: null });
    this.ask = (input) => ask({ job, ...filter, ...input });
  }

  leave() {
    this.left = true;
    clearTimeout(this.pauses);
  }

  /** Asks for nothing for a while, then for all that is wanted. */
  pause() {
    if (!this.left) this.pauses ??= setTimeout(() => {
      this.pauses = null;
      this.look();
    }, PAUSE_MS);
  }

  /** The row of that number. Undefined: it is not here yet, and is being fetched. */
  at(number) {
    const index = Math.floor(number / CHUNK);
    const chunk = this.chunks.get(index);
    const row = chunk?.rows[number - index * CHUNK];
    // Of rows that are not settled, the server may know more writers by now.
    const isOld = chunk?.settled < index * CHUNK + chunk?.rows.length && this.looked > chunk.looked;
    if (!row || isOld) this.want(index);
    if (chunk) {
      this.chunks.delete(index); // The map's order is that of the last use: its first chunk is dropped first.
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

  /** Takes over what a response says of the whole log. Returns whether it is of another edition. */
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

  /** Finds out whether there are more rows. One look at a time: news during one make one more. */
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
      // A request that the server refuses stays refused.
      if (!(error.status >= 400 && error.status < 500)) this.pause();
      this.changed(error);
    } finally {
      this.looks = false;
    }
  }

  /** The number of the row that has the line of that number, or the next line that the filter lets through. */
  async rowOf(number) {
    if (!this.isView) return number;
    for (;;) {
      const { looked } = this;
      const told = await this.ask({ from: 0, count: 0, line: number });
      this.grow(told);
      if (this.looked > number || this.done || this.left) return told.row;
      if (this.looked <= looked) await pause();
    }
  }
}

/**
 * Searches the whole log, piece by piece, and calls `tell` with all matches so far: { hits, all, done, part }. Returns
 * false, at once, when the log is of another edition by now. `ask(from)` calls the server's `search-log`.
 */
export async function searchLog(ask, edition, tell) {
  const hits = [];
  let [from, all] = [0, 0];
  for (;;) {
    const told = await ask(from);
    if (told.edition !== edition) return false;
    all += told.numbers.length;
    for (const number of told.numbers) if (hits.length < HITS_KEPT) hits.push(number);
    const gains = told.looked_to > from;
    from = told.looked_to;
    const done = from >= told.count;
    tell({ hits: [...hits], all, done, part: told.count ? from / told.count : 1 });
    if (done) return true;
    if (!gains) await pause();
  }
}

/** The number of the first line that looks like an error; null: no line does. `ask(input)` calls `search-log`. */
export async function firstError(ask) {
  for (let from = 0; ;) {
    const told = await ask({ pattern: FIRST_ERROR, expression: true, from });
    if (told.numbers.length) return told.numbers[0];
    if (told.looked_to >= told.count) return null;
    if (told.looked_to <= from) await pause();
    from = told.looked_to;
  }
}

/** The match after match `place` of `count`, or before it if `by` is -1; after the last comes the first. -1: no match yet. */
export function nextPlace(place, by, count) {
  if (place < 0) return by > 0 ? 0 : count - 1;
  return (place + by + count) % count;
}

/** 3 of 17, and how much of the log has been searched. */
export function tallyText({ place, all = 0, done, part = 0 }) {
  return `${place >= 0 ? `${place + 1} of ` : ""}${all}${done ? "" : ` … ${Math.round(part * 100)} %`}`;
}

/** How many rows a view has, and how much of the log the server has looked through for it. */
export function rowsText({ count, full, done, looked, all }) {
  if (full) return `${count} rows, no more fit`;
  return `${count} rows${done ? "" : ` … ${Math.round((100 * looked) / all)} %`}`;
}

/** [[0, 2], [5, 5]] as "0–2, 5". */
const ranges = (all, name) => all.map(([from, to]) => (from === to ? name(from) : `${name(from)}–${name(to)}`)).join(", ");

/** The ranks and hosts that wrote a folded row; `names`: those of the hosts. */
export function writersText([ranks, hosts], names) {
  const texts = [];
  if (ranks.length) texts.push(`ranks ${ranges(ranks, String)}`);
  if (hosts.length) texts.push(ranges(hosts, (each) => names[each]));
  return texts.join(", ");
}

/** What a row shows of its line. `cut`: the server sent only the beginning of it. */
export function rowTexts([, host, time, text, bytes, writers], hosts) {
  const who = writers ? writersText(writers, hosts) : hosts.length > 1 ? hosts[host] : "";
  return { time: clock(time) + (who && ` ${who}`), text, bytes, cut: !writers && bytes > new TextEncoder().encode(text).length };
}

/**
 * A line in pieces, as [text, is a match]. Matches of an expression are not marked: it is the server's kind (RE2).
 * `search.any`: case does not matter.
 */
export function marked(text, search) {
  if (!search.q || search.re) return [[text, false]];
  const [where, what] = search.any ? [text.toLowerCase(), search.q.toLowerCase()] : [text, search.q];
  // In a few languages a letter becomes two: places would be those of another text.
  if (where.length !== text.length) return [[text, false]];
  const parts = [];
  let from = 0;
  for (let at = where.indexOf(what); at >= 0 && parts.length < 2 * MARKS_MAX; at = where.indexOf(what, from)) {
    parts.push([text.slice(from, at), false], [text.slice(at, at + what.length), true]);
    from = at + what.length;
  }
  parts.push([text.slice(from), false]);
  return parts.filter(([part]) => part !== "");
}
