import assert from "node:assert/strict";
import test from "node:test";
import { comparedJobs, namesOf, parametersOf, rangeOf, timesOf, zoomStep, zoomedTo } from "./compared.js";

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
