import assert from "node:assert/strict";
import test from "node:test";
import { at } from "../setup_test.js";
import { STEPS, STEP_STEPS, bestChosen, bestIn, bestOf, bucketsByHost, columnsOf, comparedJobs, firstOf, momentText, namesOf,
         parametersOf, positiveOf, rangeOf, skipOf, smoothed, sparkOf, stepsOf, timeMarks, timesOf, useOf, valuesAt, weightOf,
         wholeSeconds, zoomStep, zoomedTo } from "./series.js";

test("buckets: marks have the day where it is another than the last mark's", () => {
  const ticks = ["2026-01-31T22:00:00", "2026-01-31T23:00:00", "2026-02-01T00:00:00", "2026-02-01T01:00:00"].map(at);
  assert.deepEqual(timeMarks(ticks, 3600), ["22:00\n2026-01-31", "23:00", "00:00\n2026-02-01", "01:00"]);
  assert.deepEqual(timeMarks(ticks.slice(0, 1), 30), ["22:00:00\n2026-01-31"]);
  assert.deepEqual(timeMarks(ticks.slice(0, 1), 60), ["22:00\n2026-01-31"]);
  assert.deepEqual(timeMarks([ticks[0], ticks[2]], 86400), ["2026-01-31", "2026-02-01"]);
  assert.deepEqual(timeMarks([], 60), []);
});

test("buckets: steps between marks rise, and are whole", () => {
  for (const steps of [STEPS, STEP_STEPS]) {
    assert.deepEqual(steps, [...steps].sort((a, b) => a - b));
    assert.equal(new Set(steps).size, steps.length);
    assert.ok(steps.every(Number.isSafeInteger));
  }
  assert.deepEqual(STEP_STEPS.slice(0, 5), [1, 2, 5, 10, 20]);
});

test("buckets: a moment is a date, a time since the beginning or a step", () => {
  assert.equal(momentText(90, "span"), "1 min 30 s");
  assert.equal(momentText(0, "span"), "0");
  assert.equal(momentText(at("2001-02-03T04:05:06"), "date"), "2001-02-03 04:05:06");
  assert.equal(momentText(9007199254740992, "step"), "step 9007199254740992");
});

test("buckets: a range asks for whole seconds, at least one", () => {
  const cases = [[[10, 20], 0, 10, 20], [[10.9, 20.1], 0, 10, 21], [[10, 10], 0, 10, 11], [[10.2, 10.4], 0, 10, 11],
                 [[0, 5], 1000, 1000, 1005], [[0.5, 0.6], 1000, 1000, 1001], [[20, 10], 0, 20, 21]];
  for (const [range, begins, from, to] of cases) assert.deepEqual(wholeSeconds(range, begins), { from, to });
  assert.deepEqual(wholeSeconds([1, 2]), { from: 1, to: 2 });
});

const ONE = { from: 100, width: 10, buckets: [[0, 1, 3, 2, 5], [2, 4, 6, 5, 5]] };
const TWO = { from: 100, width: 10, buckets: [[3, 7, 9, 8, 5], [1, 0, 0, 0, 1]] };

test("buckets: columns have one list of times, then mean, least and most of each line", () => {
  assert.deepEqual(columnsOf([ONE]), [[100, 120], [2, 5], [1, 4], [3, 6]]);
  assert.deepEqual(columnsOf([ONE, TWO]), [
    [100, 110, 120, 130],
    [2, null, 5, null], [1, null, 4, null], [3, null, 6, null],
    [null, 0, null, 8], [null, 0, null, 7], [null, 0, null, 9],
  ]);
});

test("buckets: a line without buckets has a column of nothing, and no say in the buckets' width", () => {
  const none = { from: 105, width: 1, buckets: [] };
  assert.deepEqual(columnsOf([none]), [[], [], [], []]);
  assert.deepEqual(columnsOf([ONE, none]).slice(4), [[null, null], [null, null], [null, null]]);
  assert.deepEqual(columnsOf([none, ONE])[0], [100, 120]);
});

test("buckets: a log scale leaves out values that are not positive, and counts where", () => {
  const line = { from: 0, width: 1, buckets: [[0, 1, 3, 2, 5], [1, -1, 3, 1, 5], [2, -3, -1, -2, 5], [3, 0, 0, 0, 1]] };
  assert.deepEqual(positiveOf(columnsOf([line])), {
    columns: [[0, 1, 2, 3], [2, 1, null, null], [1, null, null, null], [3, 3, null, null]], left: 3, all: 4 });
  const { left, all } = positiveOf(columnsOf([line, { ...line, buckets: [[0, 0.5, 0.5, 0.5, 1]] }]));
  assert.deepEqual([left, all], [3, 5]);
  assert.deepEqual(positiveOf(columnsOf([{ ...line, buckets: [] }])), { columns: [[], [], [], []], left: 0, all: 0 });
});

test("buckets: smoothing follows the values from the first one on, and keeps gaps", () => {
  assert.deepEqual(smoothed([4, 4, 4], 0.9).map((each) => each.toFixed(9)), Array(3).fill("4.000000000"));
  assert.deepEqual(smoothed([0, 1], 0.5), [0, 0.5 / 0.75]);
  assert.deepEqual(smoothed([null, 2, null, 2], 0.5), [null, 2, null, 2]);
  assert.deepEqual(smoothed([3, 5, 8], 0), [3, 5, 8]);
  assert.deepEqual(smoothed([], 0.5), []);
});

test("buckets: the best value is the first minimum or maximum, and where it is", () => {
  assert.deepEqual(bestIn(ONE, "min"), { value: 1, from: 100, to: 110 });
  assert.deepEqual(bestIn(ONE, "max"), { value: 6, from: 120, to: 130 });
  assert.deepEqual(bestIn({ ...ONE, buckets: [[1, 5, 5, 5, 1], [2, 5, 5, 5, 1]] }, "max"), { value: 5, from: 110, to: 120 });
  assert.equal(bestIn({ ...ONE, buckets: [] }, "min"), null);
});

test("looks: smoothing is a weight below 1", () => {
  const cases = [["0.9", 0.9], ["0.99", 0.99], ["0", 0], ["", 0], [undefined, 0], ["1", 0], ["-1", 0], ["x", 0], ["Infinity", 0]];
  for (const [text, want] of cases) assert.equal(weightOf(text), want, String(text));
});

test("looks: which value of a metric is best is the user's choice, for any name", () => {
  let query = {};
  const choose = (name, kind) => (query = { ...query, ...bestChosen(query, name, kind) });
  choose("loss", "min");
  choose("a,b %2C&=", "max");
  choose("acc", "max");
  assert.deepEqual(["loss", "a,b %2C&=", "acc", "b", ""].map((name) => bestOf(query, name)), ["min", "max", "max", "", ""]);
  choose("loss", "max");
  choose("acc", "");
  assert.deepEqual(query, { min: "", max: "a%2Cb%20%252C%26%3D,loss" });
  assert.equal(bestOf({ min: "%,%E0%A4%A,loss" }, "loss"), "min");
});

test("buckets: the values at a time are those of each line that has any", () => {
  const columns = columnsOf([ONE, TWO]);
  assert.deepEqual(valuesAt(columns, 0), [{ mean: 2, low: 1, high: 3 }, null]);
  assert.deepEqual(valuesAt(columns, 1), [null, { mean: 0, low: 0, high: 0 }]);
  for (const column of [null, -1, 4]) assert.equal(valuesAt(columns, column), null);
  assert.equal(valuesAt(null, 0), null);
});

test("buckets: hosts come in the order that they are shown in, in the measure's unit", () => {
  const told = { from: 5, width: 2, hosts: [{ host: "b", buckets: [[0, 2, 6, 4, 9]] }, { host: "other", buckets: [[1, 1, 1, 1, 1]] }] };
  assert.deepEqual(bucketsByHost(told, ["a", "b"], 2), [
    { from: 5, width: 2, buckets: [] }, { from: 5, width: 2, buckets: [[0, 1, 3, 2, 9]] }]);
  assert.deepEqual(bucketsByHost(told, [], 1), []);
});

test("buckets: the first host that is shown is one that there is", () => {
  const cases = [["0", 20, 0], ["8", 20, 8], ["19", 20, 19], ["20", 20, 0], ["999", 20, 0], ["-8", 20, 0], ["8.9", 20, 8],
                 ["x", 20, 0], ["", 20, 0], [undefined, 20, 0], ["Infinity", 20, 0], ["8", 0, 0]];
  for (const [text, count, want] of cases) assert.equal(skipOf(text, count), want, String(text));
});

test("compared: jobs of the address come once each, the view's own first", () => {
  const cases = [[undefined, ["one"]], ["", ["one"]], ["two", ["one", "two"]], ["two,one,two,three", ["one", "two", "three"]],
                 [",,two,", ["one", "two"]]];
  for (const [others, want] of cases) assert.deepEqual(comparedJobs("one", others), want);
});

test("compared: what is no job's name is left out, and more than eight are not compared", () => {
  const wrong = ["<b>", "x".repeat(64), "a b", "../x", "ü", "a_b", "a\n", "'"];
  assert.deepEqual(comparedJobs("one", wrong.join(",")), ["one"]);
  assert.deepEqual(comparedJobs("one", "x".repeat(63)), ["one", "x".repeat(63)]);
  const many = Array.from({ length: 20 }, (_, i) => `job-${i}`);
  assert.deepEqual(comparedJobs("one", many.join(",")), ["one", ...many.slice(0, 7)]);
});

test("compared: hyperparameters that differ come first, each kind by name", () => {
  const jobs = [{ rate: "0.1", depth: "7", batch: "8" }, { rate: "0.2", depth: "7", alpha: "1", batch: "8" }];
  assert.deepEqual(parametersOf(jobs.map((HyperParameters) => ({ HyperParameters }))), [
    { name: "alpha", values: [undefined, "1"], differs: true },
    { name: "rate", values: ["0.1", "0.2"], differs: true },
    { name: "batch", values: ["8", "8"], differs: false },
    { name: "depth", values: ["7", "7"], differs: false },
  ]);
  assert.deepEqual(parametersOf([{}, {}]), []);
  assert.deepEqual(parametersOf([]), []);
});

const JOBS = [
  { name: "one", metrics: [{ name: "loss", first: 1000, last: 1100 }, { name: "Accuracy", first: 1050, last: 1090 }] },
  { name: "two", metrics: [{ name: "loss", first: 5000, last: 5300 }] },
  { name: "none", metrics: [] },
];

test("compared: jobs that are compared count from their own beginning", () => {
  const { jobs, whole } = timesOf(JOBS, true);
  assert.deepEqual(jobs.map((each) => each.begins), [1000, 5000, 0]);
  assert.deepEqual(whole, [0, 301]);
  assert.equal(jobs[0].names.get("loss").last, 1100);
});

test("compared: without their own beginnings jobs span from the first metric to the last", () => {
  assert.deepEqual(timesOf(JOBS, false).whole, [1000, 5301]);
});

test("compared: by step, jobs have the spans of their steps, and no metrics without steps", () => {
  const all = [{ name: "one", description: 7, metrics: [{ name: "loss", first: 1000, last: 1100, steps: [0, 500] }, { name: "x", first: 1, last: 2 }] },
               { name: "two", metrics: [{ name: "loss", first: 5000, last: 5300, steps: [100, 900] }] }];
  assert.deepEqual(stepsOf(all)[0], { name: "one", description: 7, metrics: [{ name: "loss", first: 0, last: 500 }] });
  const { jobs, whole } = timesOf(stepsOf(all), false);
  assert.deepEqual([jobs.map((each) => each.begins), whole], [[0, 0], [0, 901]]);
});

test("compared: a job alone has the time of the calendar", () => {
  const { jobs, whole } = timesOf(JOBS.slice(0, 1), false);
  assert.deepEqual([jobs[0].begins, whole], [0, [1000, 1101]]);
});

test("compared: metrics of all jobs are listed once, and found by a part of their name in any case", () => {
  const { jobs } = timesOf(JOBS, true);
  assert.deepEqual(namesOf(jobs), { metrics: ["Accuracy", "loss"], shown: ["Accuracy", "loss"] });
  assert.deepEqual(namesOf(jobs, "ACC").shown, ["Accuracy"]);
  assert.deepEqual(namesOf(jobs, ".*").shown, []);
  assert.deepEqual(namesOf([]), { metrics: [], shown: [] });
});

test("compared: a time that the address names is one that goes forward", () => {
  assert.deepEqual(rangeOf({ from: "10", to: "20" }), [10, 20]);
  assert.deepEqual(rangeOf({ from: "0", to: "0.5" }), [0, 0.5]);
  const wrong = [{}, { from: "10" }, { to: "20" }, { from: "20", to: "10" }, { from: "10", to: "10" }, { from: "x", to: "20" },
                 { from: "10", to: "x" }, { from: "-5", to: "20" }, { from: "0", to: "Infinity" }];
  for (const query of wrong) assert.equal(rangeOf(query), null, JSON.stringify(query));
});

test("compared: a zoom is to whole seconds, not too few, and none before the beginning", () => {
  const cases = [[10.7, 20.2, 10, 21], [10, 10, 10, 12], [10.1, 11.9, 10, 12], [-5, 20, 0, 20], [-9, -5, 0, 2]];
  for (const [from, to, start, end] of cases) assert.deepEqual(zoomedTo(from, to), { from: start, to: end });
  assert.deepEqual(zoomedTo(null, null), { from: "", to: "" });
});

test("compared: buttons halve the time, double it or move by half of it", () => {
  const cases = [["in", [125, 175]], ["out", [50, 250]], ["earlier", [50, 150]], ["later", [150, 250]]];
  for (const [step, want] of cases) assert.deepEqual(zoomStep(step, [100, 200]), want, step);
});

test("glance: the request's order decides which metrics come first", () => {
  const metrics = ["acc", "loss", "lr", "x"].map((name) => ({ name }));
  const names = (order, most) => firstOf(metrics, order, most).map((each) => each.name);
  assert.deepEqual(names(["loss", "gone", "acc"], 6), ["loss", "acc", "lr", "x"]);
  assert.deepEqual(names([], 2), ["acc", "loss"]);
  assert.deepEqual(names(["x"], 2), ["x", "acc"]);
});

test("glance: a course spans its box, and skips buckets without values", () => {
  assert.equal(sparkOf([[0, 0, 0, 1, 1], [1, 0, 0, 3, 1], [4, 0, 0, 2, 1]], 5), "0,98 250,2 1000,50");
  assert.equal(sparkOf([[0, 0, 0, 7, 1], [2, 0, 0, 7, 1]], 3), "0,50 1000,50");
  assert.equal(sparkOf([[0, 0, 0, 7, 1]], 1), "0,50 1000,50");
  assert.equal(sparkOf([], 5), "");
});

test("glance: the use of a host is the last value, the mean of all samples, or the most", () => {
  const buckets = [[0, 1, 9, 2, 3], [5, 1, 4, 4, 1]];
  assert.deepEqual(["now", "mean", "most"].map((kind) => useOf(buckets, kind)), [4, 2.5, 9]);
  assert.deepEqual(["now", "mean", "most"].map((kind) => useOf([], kind)), [null, null, null]);
});
