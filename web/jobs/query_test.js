import assert from "node:assert/strict";
import test from "node:test";
import { at } from "../setup_test.js";
import { dayOf, inputOf, nowText, tookText, turned } from "./query.js";

const NOW = 1_800_000_000.7;
const PLAIN = { MaxResults: 50, SortBy: "CreationTime", SortOrder: "Descending" };
const DATES = { CreationTimeAfter: undefined, CreationTimeBefore: undefined };

test("query: the address asks for jobs by status, texts, tag, time and order", () => {
  const cases = [
    [{}, {}],
    [{ name: "a" }, { NameContains: "a" }],
    [{ status: "Failed" }, { StatusEquals: "Failed" }],
    [{ status: "InProgress" }, { StatusEquals: "InProgress" }],
    [{ sort: "name", order: "up" }, { SortBy: "Name", SortOrder: "Ascending" }],
    [{ sort: "status" }, { SortBy: "Status" }],
    [{ age: "1h" }, { CreationTimeAfter: 1_799_996_400 }],
    [{ age: "30d" }, { CreationTimeAfter: 1_797_408_000 }],
    [{ type: "ml.p4" }, { MusterInstanceType: "ml.p4" }],
    [{ tag: "team" }, { MusterTag: { Key: "team", Value: undefined } }],
    [{ tag: "team=" }, { MusterTag: { Key: "team", Value: "" } }],
    [{ tag: "team=x" }, { MusterTag: { Key: "team", Value: "x" } }],
    [{ tag: "team=x=y" }, { MusterTag: { Key: "team", Value: "x=y" } }],
    [{ after: "token" }, { NextToken: "token" }],
    [{ name: "a", status: "Stopped", age: "1d" },
     { NameContains: "a", StatusEquals: "Stopped", CreationTimeAfter: 1_799_913_600 }],
  ];
  for (const [query, want] of cases) assert.deepEqual(inputOf(query, NOW), { ...PLAIN, ...want }, JSON.stringify(query));
});

test("query: invalid parts of the address are left out", () => {
  const wrong = [
    { status: "x" }, { status: "constructor" }, { sort: "x" }, { sort: "toString" }, { order: "down" }, { age: "2h" },
    { age: "__proto__" }, { tag: "" }, { tag: "=" }, { tag: "=x" }, { name: "" }, { from: "2026-01-01" }, { other: "x" },
  ];
  for (const query of wrong) assert.deepEqual(inputOf(query, NOW), PLAIN, JSON.stringify(query));
  for (const query of [{}, { from: "x" }, { to: "2026-13-01" }, { from: "", to: "" }, { from: "01.02.2026" }])
    assert.deepEqual(inputOf({ age: "dates", ...query }, NOW), { ...PLAIN, ...DATES }, JSON.stringify(query));
});

test("query: dates are days of the reader's, the last one to its end", () => {
  const days = (query) => inputOf({ age: "dates", ...query }, NOW);
  assert.equal(days({ from: "2026-01-31" }).CreationTimeAfter, at("2026-01-31T00:00:00") - 0.001);
  assert.equal(days({ from: "2026-01-31" }).CreationTimeBefore, undefined);
  assert.equal(days({ to: "2026-01-31" }).CreationTimeBefore, at("2026-02-01T00:00:00"));
  assert.equal(days({ from: "x", to: "2026-01-31" }).CreationTimeAfter, undefined);
});

test("query: a day may have 23 or 25 hours", () => {
  const length = (day) => (dayOf(day, 1) - dayOf(day, 0)) / 3600;
  assert.deepEqual(["2026-03-28", "2026-03-29", "2026-10-25", "2024-02-29", "2026-12-31"].map(length), [24, 23, 25, 24, 24]);
  assert.equal(dayOf("2026-12-31", 1), at("2027-01-01T00:00:00"));
  for (const text of [undefined, "", "x", "2026-00-10", "2026-02-32"]) assert.equal(dayOf(text, 0), undefined, String(text));
});

test("query: a click on a heading sorts by it, a second click reverses the order", () => {
  const cases = [
    [{}, "created", { sort: "created", order: "up", after: "" }],
    [{}, "name", { sort: "name", order: "", after: "" }],
    [{ sort: "name" }, "name", { sort: "name", order: "up", after: "" }],
    [{ sort: "name", order: "up" }, "name", { sort: "name", order: "", after: "" }],
    [{ sort: "name", order: "up" }, "status", { sort: "status", order: "", after: "" }],
    [{ after: "token" }, "created", { sort: "created", order: "up", after: "" }],
  ];
  for (const [query, key, want] of cases) assert.deepEqual(turned(query, key), want);
});

test("query: a row shows a job's place in the queue, or its activity", () => {
  const cases = [
    [{ MusterQueuePlace: 2, MusterQueueLength: 5, TrainingJobStatus: "InProgress", SecondaryStatus: "Pending" }, "2 of 5 in the queue"],
    [{ TrainingJobStatus: "InProgress", SecondaryStatus: "Training" }, "Training"],
    [{ TrainingJobStatus: "Completed", SecondaryStatus: "Completed" }, ""],
    [{ TrainingJobStatus: "Stopping", SecondaryStatus: "Stopping" }, ""],
    [{ TrainingJobStatus: "InProgress", SecondaryStatus: "Training", MusterSilentSince: 280 }, "Training, silent for 12 min"],
    [{ TrainingJobStatus: "InProgress", SecondaryStatus: "Training", MusterHang: { since: 955 } }, "Training, no progress for 45 s"],
    [{ TrainingJobStatus: "Stopping", SecondaryStatus: "Stopping", MusterHang: { since: 955 } }, "no progress for 45 s"],
  ];
  for (const [job, want] of cases) assert.equal(nowText(job, 1000), want);
});

test("query: a job took until its end, or until now", () => {
  const cases = [
    [{ CreationTime: 100, TrainingEndTime: 160, TrainingJobStatus: "Completed" }, "1 min 0 s"],
    [{ CreationTime: 100, TrainingJobStatus: "InProgress" }, "30 s"],
    [{ CreationTime: 200, TrainingJobStatus: "InProgress" }, "0.0 s"], // A clock that is behind the server's.
    [{ CreationTime: 100, TrainingJobStatus: "Failed" }, "–"],
    [{ CreationTime: 100, TrainingJobStatus: "Stopping" }, "–"],
  ];
  for (const [job, want] of cases) assert.equal(tookText(job, 130), want);
});
