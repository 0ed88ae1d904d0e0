import assert from "node:assert/strict";
import test from "node:test";
import { fakeTimers, settled } from "../setup_test.js";
import { AGAIN_MS, inTurn, newsOf, paced } from "./news.js";

/** A server's streams, and a page that may be hidden. */
class Page {
  constructor() {
    this.hidden = false;
    this.streams = [];
    this.news = newsOf({ open: (job) => this.open(job), isHidden: () => this.hidden });
  }

  open(job) {
    const stream = Object.assign(new EventTarget(), { job, readyState: 1, close() { this.readyState = 2; } });
    this.streams.push(stream);
    return stream;
  }

  tell(kind, data) {
    this.streams.at(-1).dispatchEvent(Object.assign(new Event(kind), { data }));
  }

  /** As a browser does: it closes a stream that was refused, and opens one that ended by itself. */
  breakOff(isRefused) {
    const stream = this.streams.at(-1);
    stream.readyState = isRefused ? 2 : 0;
    stream.dispatchEvent(new Event("error"));
  }

  /** The jobs of the streams that are open. */
  get openJobs() {
    return this.streams.filter((each) => each.readyState !== 2).map((each) => each.job);
  }
}

const ignore = () => {};

test("news: all listeners share one stream, which closes with the last of them", async () => {
  const page = new Page();
  const first = page.news.listen(["jobs"], "", ignore);
  const second = page.news.listen(["jobs"], "", ignore);
  await settled();
  assert.deepEqual(page.openJobs, [""]);
  first();
  await settled();
  assert.deepEqual([page.openJobs, page.streams.length], [[""], 1]);
  second();
  await settled();
  assert.deepEqual(page.openJobs, []);
});

test("news: the stream is that of the job that a listener names", async () => {
  const page = new Page();
  page.news.listen(["jobs"], "", ignore);
  await settled();
  const leave = page.news.listen(["log", "jobs"], "a", ignore);
  await settled();
  assert.deepEqual(page.openJobs, ["a"]);
  leave();
  await settled();
  assert.deepEqual(page.openJobs, [""]);
});

test("news: a view that another one follows at once opens no stream twice", async () => {
  const page = new Page();
  const leave = page.news.listen(["jobs"], "a", ignore);
  await settled();
  leave();
  page.news.listen(["jobs"], "a", ignore);
  await settled();
  assert.equal(page.streams.length, 1);
});

test("news: each listener hears of the kinds that it named", async () => {
  const page = new Page();
  const heard = [];
  page.news.listen(["jobs"], "", (kind, data) => heard.push(["a", kind, data]));
  page.news.listen(["log", "jobs"], "x", (kind, data) => heard.push(["b", kind, data]));
  await settled();
  page.tell("jobs", "1");
  page.tell("log", "2");
  page.tell("other", "3");
  assert.deepEqual(heard, [["a", "jobs", "1"], ["b", "jobs", "1"], ["b", "log", "2"]]);
});

test("news: a listener without kinds needs no stream", async () => {
  const page = new Page();
  const leave = page.news.listen([], "a", ignore);
  await settled();
  leave();
  await settled();
  assert.equal(page.streams.length, 0);
});

test("news: a listener added during an event receives only later events", async () => {
  const page = new Page();
  let late = 0;
  page.news.listen(["jobs"], "", () => page.news.listen(["jobs"], "", () => ++late));
  await settled();
  page.tell("jobs");
  assert.equal(late, 0);
  page.tell("jobs");
  assert.equal(late, 1);
});

test("news: a hidden page has no stream until it is shown again", async () => {
  const page = new Page();
  page.news.listen(["jobs"], "", ignore);
  await settled();
  page.hidden = true;
  page.news.tune();
  assert.deepEqual(page.openJobs, []);
  page.news.tune();
  page.hidden = false;
  page.news.tune();
  assert.deepEqual([page.openJobs, page.streams.length], [[""], 2]);
});

test("news: a stream that was refused is opened again after a while, one that ended is the browser's", async (t) => {
  const timers = fakeTimers(t);
  const page = new Page();
  const leave = page.news.listen(["jobs"], "", ignore);
  await settled();
  page.breakOff(false);
  await timers.advance(10 * AGAIN_MS);
  assert.equal(page.streams.length, 1);
  page.breakOff(true);
  await timers.advance(AGAIN_MS - 1);
  assert.equal(page.streams.length, 1);
  await timers.advance(1);
  assert.equal(page.streams.length, 2);
  page.breakOff(true);
  leave();
  await timers.advance(10 * AGAIN_MS);
  assert.equal(page.streams.length, 2);
});

/** Work whose runs end when the test says so. */
function work() {
  const runs = [];
  const run = (signal) => new Promise((done, fail) => { runs.push({ signal, done, fail }); });
  return { runs, run };
}

test("news: runs in turn, and any number of news during a run make one more", async () => {
  const { runs, run } = work();
  const told = [];
  const turns = inTurn(run, (done) => told.push(done));
  turns.run();
  turns.run();
  turns.run();
  await settled();
  assert.equal(runs.length, 1);
  runs[0].done("old");
  await settled();
  assert.equal(runs.length, 2);
  runs[1].done("new");
  await settled();
  assert.deepEqual([runs.length, told], [2, [{ value: "old" }, { value: "new" }]]);
  turns.run();
  await settled();
  assert.equal(runs.length, 3);
});

test("news: a failed run passes its error on, and the next run follows", async () => {
  const { runs, run } = work();
  const told = [];
  const turns = inTurn(run, (done) => told.push(done));
  turns.run();
  turns.run();
  const error = new Error("gone");
  runs[0].fail(error);
  await settled();
  runs[1].done(undefined);
  await settled();
  assert.deepEqual(told, [{ error }, { value: undefined }]);
});

test("news: after the end no run starts and no result is passed on", async () => {
  for (const how of ["done", "fail"]) {
    const { runs, run } = work();
    const told = [];
    const turns = inTurn(run, (done) => told.push(done));
    turns.run();
    turns.run();
    turns.end();
    assert.equal(runs[0].signal.aborted, true);
    runs[0][how]("late");
    await settled();
    assert.deepEqual([runs.length, told], [1, []]);
  }
});

test("news: paced work runs once for all that is due in a pause", async (t) => {
  const timers = fakeTimers(t);
  const { runs, run } = work();
  const turns = paced(run, 1000);
  turns.run();
  runs[0].done();
  await settled();
  for (let i = 0; i < 5; ++i) turns.due();
  await timers.advance(999);
  assert.equal(runs.length, 1);
  await timers.advance(1);
  assert.equal(runs.length, 2);
  runs[1].done();
  await timers.advance(10_000);
  assert.equal(runs.length, 2);
});

test("news: paced work that takes longer than the pause never runs twice at a time", async (t) => {
  const timers = fakeTimers(t);
  const { runs, run } = work();
  const turns = paced(run, 1000);
  turns.run();
  turns.due();
  await timers.advance(5000);
  assert.equal(runs.length, 1);
  runs[0].done();
  await timers.advance(1000);
  assert.equal(runs.length, 2);
});

test("news: paced work that has ended runs no more", async (t) => {
  const timers = fakeTimers(t);
  const { runs, run } = work();
  const turns = paced(run, 1000);
  turns.run();
  runs[0].done();
  turns.due();
  turns.end();
  turns.due();
  await timers.advance(5000);
  assert.deepEqual([runs.length, runs[0].signal.aborted, timers.count()], [1, true, 0]);
});
