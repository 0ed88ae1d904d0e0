import assert from "node:assert/strict";
import test from "node:test";
import { fakeTimers, settled } from "../setup_test.js";
import { Lines, filterOf, firstError, nextPlace, rowsText, searchLog, tallyText } from "./lines.js";

const NONE = filterOf({});
const VIEW = filterOf({ rank: "3" });
const PAUSE = 1000;

/** A server that has a log of `count` lines, and what the page knows of it. */
class Log {
  constructor({ count = 1000, filter = NONE, edition = "e1", piece = Infinity } = {}) {
    Object.assign(this, { count, edition, piece, looked: 0, asked: [], errors: [], fails: null, spoils: (told) => told });
    this.lines = new Lines("job", filter, { ask: async (input) => this.ask(input), changed: (error) => this.changed(error) });
  }

  ask(input) {
    this.asked.push(input);
    if (this.fails) throw this.fails;
    // Of a view the server looks through one piece a call.
    this.looked = Math.min(this.looked + this.piece, this.count);
    const known = this.lines.isView ? this.looked : this.count;
    const rows = Array.from({ length: Math.max(Math.min(input.count, known - input.from), 0) }, (_, i) => [input.from + i]);
    return this.spoils({ edition: this.edition, count: known, hosts: ["algo-1"], lines: rows, all: this.count, looked_to: this.looked,
                         full: false, row: input.line });
  }

  /** As the window does, which draws the rows in sight after each response. */
  changed(error) {
    this.errors.push(error);
    for (const number of this.shown || []) this.lines.at(number);
  }
}

test("lines: the address's parts that choose lines are the filter", () => {
  assert.deepEqual(NONE, { host: "", rank: "", stream: "", level: "", fold: "" });
  assert.deepEqual(filterOf({ rank: "0", q: "x", line: "7", fold: "1" }), { host: "", rank: "0", stream: "", level: "", fold: "1" });
});

test("lines: all but a host make a view", () => {
  const isView = (query) => new Lines("job", filterOf(query), {}).isView;
  assert.deepEqual([{}, { host: "a" }, { q: "x" }].map(isView), [false, false, false]);
  assert.deepEqual([{ rank: "0" }, { stream: "stdout" }, { level: "error" }, { fold: "1" }].map(isView), [true, true, true, true]);
});

test("lines: rows are fetched when they are wanted, a chunk a call, once", async () => {
  const log = new Log({ filter: filterOf({ host: "algo-1" }) });
  await log.lines.look();
  assert.deepEqual(log.asked, [{ job: "job", ...NONE, host: "algo-1", from: 0, count: 0 }]);
  assert.equal(log.lines.at(450), undefined);
  log.lines.at(451);
  await settled();
  assert.deepEqual(log.asked.slice(1), [{ job: "job", ...NONE, host: "algo-1", from: 400, count: 200 }]);
  assert.deepEqual([log.lines.at(450), log.lines.at(599)], [[450], [599]]);
  assert.deepEqual([log.asked.length, log.errors], [2, [null, null]]);
});

test("lines: chunks that were not used for longest are dropped", async () => {
  const log = new Log({ count: 50 * 200 });
  await log.lines.look();
  for (let chunk = 0; chunk < 45; ++chunk) {
    log.lines.at(0);
    log.lines.at(chunk * 200);
    await settled();
  }
  assert.equal(log.lines.chunks.size, 40);
  assert.deepEqual([log.lines.at(0), log.lines.at(44 * 200)], [[0], [44 * 200]]);
  assert.equal(log.lines.at(200), undefined);
});

test("lines: missing lines are requested again after a pause", async (t) => {
  const spoilt = {
    failures: (log) => (log.fails = new Error("HTTP 500")),
    "too few lines": (log) => (log.spoils = (told) => ({ ...told, lines: [] })),
  };
  for (const [what, spoil] of Object.entries(spoilt)) {
    const timers = fakeTimers(t);
    const log = new Log();
    log.shown = [410, 650]; // The window has rows of two chunks.
    await log.lines.look();
    await settled();
    spoil(log);
    log.lines.chunks.clear();
    log.asked = [];
    log.changed(null);
    await timers.advance(3 * PAUSE);
    assert.ok(log.asked.length > 2 && log.asked.length < 20, `${what}: asked ${log.asked.length} times`);
    Object.assign(log, { fails: null, spoils: (told) => told });
    await timers.advance(2 * PAUSE);
    assert.deepEqual([log.lines.at(410), log.lines.at(650)], [[410], [650]], what);
    t.mock.restoreAll();
  }
});

test("lines: a request that the server refuses is not made again", async (t) => {
  const timers = fakeTimers(t);
  for (const [status, again] of [[400, false], [404, false], [500, true], [503, true], [0, true]]) {
    const log = new Log();
    log.fails = Object.assign(new Error("no"), { status });
    await log.lines.look();
    await timers.advance(PAUSE);
    assert.deepEqual([log.asked.length > 1, log.errors[0]], [again, log.fails], String(status));
    log.lines.leave();
  }
});

test("lines: another edition of the log is fetched from its beginning", async (t) => {
  const timers = fakeTimers(t);
  const log = new Log({ count: 500 });
  log.shown = [0];
  await log.lines.look();
  await settled();
  assert.deepEqual(log.lines.at(0), [0]);
  Object.assign(log, { edition: "e2", count: 30, spoils: (told) => ({ ...told, lines: told.lines.map(([n]) => [n, "new"]) }) });
  await log.lines.look();
  await timers.advance(2 * PAUSE);
  assert.deepEqual([log.lines.count, log.lines.edition, log.lines.at(0)], [30, "e2", [0, "new"]]);
});

test("lines: a view is looked through to its end, piece by piece", async () => {
  const log = new Log({ count: 1000, filter: VIEW, piece: 300 });
  await log.lines.look();
  assert.deepEqual([log.asked.length, log.lines.done, log.lines.looked, log.lines.count], [4, true, 1000, 1000]);
  assert.equal(log.asked[0].rank, "3");
});

test("lines: a view that has reached its limit is done", async () => {
  const log = new Log({ filter: VIEW, piece: 300 });
  log.spoils = (told) => ({ ...told, full: true });
  await log.lines.look();
  assert.deepEqual([log.asked.length, log.lines.done], [1, true]);
});

test("lines: a view is requested again after a pause while the server makes no progress", async (t) => {
  const timers = fakeTimers(t);
  const log = new Log({ filter: VIEW, piece: 0 });
  await log.lines.look();
  assert.equal(log.asked.length, 1);
  await timers.advance(5 * PAUSE);
  assert.equal(log.asked.length, 6);
  log.lines.leave();
  await timers.advance(5 * PAUSE);
  assert.deepEqual([log.asked.length, timers.count()], [6, 0]);
});

test("lines: news while the server is asked make one more look", async () => {
  const log = new Log();
  log.lines.look();
  log.lines.look();
  log.lines.look();
  await settled();
  assert.equal(log.asked.length, 2);
});

test("lines: rows that are not settled are asked for again once the server has looked further", async () => {
  const log = new Log({ count: 100, filter: filterOf({ fold: "1" }), piece: 50 });
  log.spoils = (told) => ({ ...told, settled: 10 });
  log.lines.looked = 0;
  await log.lines.want(0);
  const before = log.asked.length;
  log.lines.at(0);
  await settled();
  assert.equal(log.asked.length, before); // It has looked no further since.
  await log.lines.look();
  log.lines.at(0);
  await settled();
  assert.equal(log.asked.at(-1).count, 200);
});

test("lines: a line's row is its number, or the server's answer once it has scanned that line", async () => {
  assert.equal(await new Log().lines.rowOf(77), 77);
  const log = new Log({ filter: VIEW, piece: 30 });
  assert.equal(await log.lines.rowOf(77), 77);
  assert.deepEqual(log.asked.map((each) => [each.line, each.count]), [[77, 0], [77, 0], [77, 0]]);
});

test("lines: the search for a row pauses while the server makes no progress", async (t) => {
  const timers = fakeTimers(t);
  const log = new Log({ filter: VIEW, piece: 0 });
  const found = log.lines.rowOf(5);
  await timers.advance(3 * PAUSE);
  assert.equal(log.asked.length, 4);
  log.piece = 10;
  await timers.advance(PAUSE);
  assert.equal(await found, 5);
});

/** A server that has looked through as many lines with each call, and found these of them. */
function searched(pieces, count, edition = "e1") {
  const asked = [];
  const ask = async (from) => {
    const [looked_to, numbers] = pieces[asked.length];
    asked.push(from.from ?? from);
    return { edition, numbers, looked_to, count };
  };
  return { ask, asked };
}

test("search: the whole log is searched, and matches are reported as they are found", async () => {
  const { ask, asked } = searched([[40, [1, 7]], [80, []], [100, [90]]], 100);
  const told = [];
  assert.equal(await searchLog(ask, "e1", (each) => told.push(each)), true);
  assert.deepEqual(asked, [0, 40, 80]);
  assert.deepEqual(told, [{ hits: [1, 7], all: 2, done: false, part: 0.4 }, { hits: [1, 7], all: 2, done: false, part: 0.8 },
                          { hits: [1, 7, 90], all: 3, done: true, part: 1 }]);
});

test("search: an empty log has no match", async () => {
  const told = [];
  await searchLog(searched([[0, []]], 0).ask, "e1", (each) => told.push(each));
  assert.deepEqual(told, [{ hits: [], all: 0, done: true, part: 1 }]);
});

test("search: all matches are counted, the first 20,000 kept", async () => {
  const numbers = Array.from({ length: 15_000 }, (_, i) => i);
  const told = [];
  await searchLog(searched([[1, numbers], [2, numbers]], 2).ask, "e1", (each) => told.push(each));
  assert.deepEqual([told[1].all, told[1].hits.length], [30_000, 20_000]);
});

test("search: matches of another edition are not reported", async () => {
  const told = [];
  assert.equal(await searchLog(searched([[9, [1]]], 9, "e2").ask, "e1", (each) => told.push(each)), false);
  assert.deepEqual(told, []);
});

test("search: a request is repeated after a pause while the server makes no progress", async (t) => {
  const timers = fakeTimers(t);
  const { ask, asked } = searched([[0, []], [0, []], [9, [4]]], 9);
  const found = searchLog(ask, "e1", () => {});
  await timers.advance(PAUSE);
  assert.equal(asked.length, 2);
  await timers.advance(PAUSE);
  assert.equal(await found, true);
});

test("search: the first error is the first match of all pieces", async (t) => {
  const timers = fakeTimers(t);
  assert.equal(await firstError(searched([[40, []], [80, [50, 60]]], 100).ask), 50);
  assert.equal(await firstError(searched([[40, []], [100, []]], 100).ask), null);
  assert.equal(await firstError(searched([[0, []]], 0).ask), null);
  const { ask, asked } = searched([[0, []], [100, [3]]], 100);
  const found = firstError(ask);
  await timers.advance(PAUSE);
  assert.deepEqual([await found, asked], [3, [0, 0]]);
});

test("search: a step goes from match to match, and around", () => {
  const cases = [[-1, 1, 3, 0], [-1, -1, 3, 2], [0, 1, 3, 1], [2, 1, 3, 0], [0, -1, 3, 2], [1, -1, 3, 0], [0, 1, 1, 0]];
  for (const [place, by, count, want] of cases) assert.equal(nextPlace(place, by, count), want);
});

test("search: a tally has the match, all matches and how far the search is", () => {
  const cases = [
    [{ place: -1, done: true }, "0"], [{ place: -1, all: 7, done: true }, "7"], [{ place: 0, all: 7, done: true }, "1 of 7"],
    [{ place: -1, all: 7, done: false, part: 0.426 }, "7 (43% searched)"], [{ place: 2, all: 7, done: false, part: 0 }, "3 of 7 (0% searched)"],
  ];
  for (const [found, want] of cases) assert.equal(tallyText(found), want);
});

test("lines: a view shows its number of rows and its progress", () => {
  const cases = [
    [{ count: 0, full: false, done: false, looked: 0, all: Infinity }, "0 rows (0% scanned)"],
    [{ count: 5, full: false, done: false, looked: 30, all: 90 }, "5 rows (33% scanned)"],
    [{ count: 5, full: false, done: true, looked: 90, all: 90 }, "5 rows"],
    [{ count: 0, full: false, done: true, looked: 0, all: 0 }, "0 rows"],
    [{ count: 5, full: true, done: true, looked: 30, all: 90 }, "5 rows (limit reached)"],
  ];
  for (const [lines, want] of cases) assert.equal(rowsText(lines), want);
});
