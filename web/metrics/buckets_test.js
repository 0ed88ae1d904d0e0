import assert from "node:assert/strict";
import test from "node:test";
import { at } from "../setup_test.js";
import { STEPS, bucketsByHost, columnsOf, momentText, skipOf, timeMarks, valuesAt, wholeSeconds } from "./buckets.js";

test("buckets: marks have the day where it is another than the last mark's", () => {
  const ticks = ["2026-01-31T22:00:00", "2026-01-31T23:00:00", "2026-02-01T00:00:00", "2026-02-01T01:00:00"].map(at);
  assert.deepEqual(timeMarks(ticks, 3600), ["22:00\n2026-01-31", "23:00", "00:00\n2026-02-01", "01:00"]);
  assert.deepEqual(timeMarks(ticks.slice(0, 1), 30), ["22:00:00\n2026-01-31"]);
  assert.deepEqual(timeMarks(ticks.slice(0, 1), 60), ["22:00\n2026-01-31"]);
  assert.deepEqual(timeMarks([ticks[0], ticks[2]], 86400), ["2026-01-31", "2026-02-01"]);
  assert.deepEqual(timeMarks([], 60), []);
});

test("buckets: steps between marks rise", () => {
  assert.deepEqual(STEPS, STEPS.toString().split(",").map(Number).sort((a, b) => a - b));
  assert.equal(new Set(STEPS).size, STEPS.length);
});

test("buckets: a moment is a date, or a time since the beginning", () => {
  assert.equal(momentText(90, true), "1 min 30 s");
  assert.equal(momentText(0, true), "0");
  assert.equal(momentText(at("2001-02-03T04:05:06"), false), "2001-02-03 04:05:06");
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

test("buckets: a line without buckets has a column of nothing", () => {
  const none = { from: 100, width: 1, buckets: [] };
  assert.deepEqual(columnsOf([none]), [[], [], [], []]);
  assert.deepEqual(columnsOf([ONE, none]).slice(4), [[null, null], [null, null], [null, null]]);
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
