// The lines of a job's log in the page: fetching, caching and retries; searches. Nothing here draws: callers pass the
// function that calls the server.

const CHUNK = 200;
const CHUNKS_KEPT = 40;
const HITS_KEPT = 20_000;
const PAUSE_MS = 1000; // Before a retry, when the server did not return all lines.
const FIRST_ERROR = String.raw`(?i)\b(error|exception|traceback|fatal|panic|segmentation fault|killed)\b`;

const pause = () => new Promise((done) => setTimeout(done, PAUSE_MS));

/** The parts of the address that filter lines. */
const FILTERS = ["host", "rank", "stream", "level", "fold"];
export const filterOf = (query) => Object.fromEntries(FILTERS.map((each) => [each, query[each] || ""]));

/**
 * Rows by number, fetched on demand: all lines of the hosts or, in a view, the lines that match a filter, folded if
 * the filter says so. The server builds a view of the log piece by piece, one piece per call. Row numbers belong to
 * one edition of the log: when the edition changes, all rows are fetched again.
 *
 * `ask(input)` calls the server's `log`; `changed(error)` is called after each response, with null if it succeeded.
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

  /** Waits before the next request, then looks for all missing rows. */
  pause() {
    if (!this.left) this.pauses ??= setTimeout(() => {
      this.pauses = null;
      this.look();
    }, PAUSE_MS);
  }

  /** The row with that number. Undefined: it is being fetched. */
  at(number) {
    const index = Math.floor(number / CHUNK);
    const chunk = this.chunks.get(index);
    const row = chunk?.rows[number - index * CHUNK];
    // The server may have found more writers of rows that are not settled.
    const isOld = chunk?.settled < index * CHUNK + chunk?.rows.length && this.looked > chunk.looked;
    if (!row || isOld) this.want(index);
    if (chunk) {
      this.chunks.delete(index); // Keeps the map in order of last use: the first chunk is dropped first.
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

  /** Updates the state of the whole log from a response. Returns whether the edition changed. */
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

  /** Checks for more rows, one request at a time. News during a request cause one more. */
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
      // Retrying a client error (4xx) would not help.
      if (!(error.status >= 400 && error.status < 500)) this.pause();
      this.changed(error);
    } finally {
      this.looks = false;
    }
  }

  /** The number of the row with the line of that number, or with the next line that matches the filter. */
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
 * Searches the whole log piece by piece, and calls `tell` with all matches so far: { hits, all, done, part }. Returns
 * false as soon as the log's edition has changed. `ask(from)` calls the server's `search-log`.
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

/** The number of the first line that looks like an error, or null. `ask(input)` calls `search-log`. */
export async function firstError(ask) {
  for (let from = 0; ;) {
    const told = await ask({ pattern: FIRST_ERROR, expression: true, from });
    if (told.numbers.length) return told.numbers[0];
    if (told.looked_to >= told.count) return null;
    if (told.looked_to <= from) await pause();
    from = told.looked_to;
  }
}

/** The match after match `place` of `count`, or before it if `by` is -1. Wraps around. A `place` of -1: no match selected. */
export function nextPlace(place, by, count) {
  if (place < 0) return by > 0 ? 0 : count - 1;
  return (place + by + count) % count;
}

/** "3 of 17", and how much of the log has been searched. */
export function tallyText({ place, all = 0, done, part = 0 }) {
  return `${place >= 0 ? `${place + 1} of ` : ""}${all}${done ? "" : ` (${Math.round(part * 100)}% searched)`}`;
}

/** The number of rows in a view, and how much of the log the server has scanned for it. */
export function rowsText({ count, full, done, looked, all }) {
  if (full) return `${count} rows (limit reached)`;
  return `${count} rows${done ? "" : ` (${Math.round((100 * looked) / all)}% scanned)`}`;
}
