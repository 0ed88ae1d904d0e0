import assert from "node:assert/strict";
import test from "node:test";
import { at } from "../setup_test.js";
import { clock, dayText, kindOf, shortDate, shortNumber, shortSpan, sizeText, span, stillText, timeText, whenTexts, zoneName, zoneText } from "./text.js";

test("text: a span has the unit that fits, after rounding", () => {
  const cases = [
    [0, "0.0 s"], [0.04, "0.0 s"], [0.05, "0.1 s"], [9.94, "9.9 s"], [9.96, "10 s"], [10, "10 s"], [59.4, "59 s"],
    [59.6, "1 min 0 s"], [60, "1 min 0 s"], [119.6, "2 min 0 s"], [3599.4, "59 min 59 s"], [3599.6, "1 h 0 min"],
    [3600, "1 h 0 min"], [86399, "23 h 59 min"], [86400, "1 d 0 h"], [91800, "1 d 1 h"], [86400 * 400, "400 d 0 h"],
  ];
  for (const [seconds, want] of cases) assert.equal(span(seconds), want, String(seconds));
});

test("text: a span that marks an axis has no part that is zero", () => {
  const cases = [
    [0, "0"], [1, "1 s"], [1.5, "1.5 s"], [60, "1 min"], [90, "1 min 30 s"], [3600, "1 h"], [5400, "1 h 30 min"],
    [86400, "1 d"], [86400 * 10, "10 d"], [86400 + 7200, "1 d 2 h"],
  ];
  for (const [seconds, want] of cases) assert.equal(shortSpan(seconds), want, String(seconds));
});

test("text: a running job hangs, waits or runs; any other is as its status", () => {
  const cases = [
    [{ TrainingJobStatus: "InProgress", SecondaryStatus: "Training" }, "InProgress"],
    [{ TrainingJobStatus: "InProgress", SecondaryStatus: "Pending" }, "Waiting"],
    [{ TrainingJobStatus: "InProgress", SecondaryStatus: "Training", MusterSilentSince: 7 }, "InProgress"],
    [{ TrainingJobStatus: "InProgress", SecondaryStatus: "Training", MusterHang: { since: 7 } }, "Hangs"],
    [{ TrainingJobStatus: "Stopping", SecondaryStatus: "Stopping", MusterHang: { since: 7 } }, "Stopping"],
    [{ TrainingJobStatus: "Completed", SecondaryStatus: "Completed" }, "Completed"],
  ];
  for (const [job, want] of cases) assert.equal(kindOf(job), want);
});

test("text: inactivity is shown in whole minutes from one minute on", () => {
  const cases = [[0, "0"], [-5, "0"], [9.4, "9 s"], [59, "59 s"], [60, "1 min"], [719, "11 min"], [7800, "2 h 10 min"]];
  for (const [seconds, want] of cases) {
    assert.equal(stillText({ MusterSilentSince: 1000 }, 1000 + seconds), `silent for ${want}`);
    assert.equal(stillText({ MusterHang: { since: 1000 } }, 1000 + seconds), `no progress for ${want}`);
  }
  assert.equal(stillText({ TrainingJobStatus: "InProgress" }, 1000), "");
});

test("text: a size has the unit that fits, after rounding", () => {
  const cases = [
    [0, "0 bytes"], [1, "1 bytes"], [999, "999 bytes"], [1000, "1.0 KB"], [1049, "1.0 KB"], [999_949, "999.9 KB"],
    [999_950, "1.0 MB"], [1e6, "1.0 MB"], [1.5e9, "1.5 GB"], [999_999_999_999, "1.0 TB"], [1e12, "1.0 TB"],
    [1e15, "1000.0 TB"], [-5, "-5 bytes"],
  ];
  for (const [bytes, want] of cases) assert.equal(sizeText(bytes), want, String(bytes));
});

test("text: a number has at most six digits that say something", () => {
  const cases = [
    [null, "–"], [undefined, "–"], [0, "0"], [-0, "0"], [1, "1"], [0.1, "0.1"], [0.1 + 0.2, "0.3"], [1 / 3, "0.333333"],
    [123456.7, "123457"], [9999999, "10000000"], [1e7, "1e7"], [1.5e7, "1.5e7"], [-1.5e7, "-1.5e7"], [1e-4, "0.0001"],
    [9.99e-5, "9.99e-5"], [-9.99e-5, "-9.99e-5"], [1.234567e12, "1.23457e12"], [1e100, "1e100"], [1e-300, "1e-300"],
    [100, "100"], [-7.25, "-7.25"],
  ];
  for (const [value, want] of cases) assert.equal(shortNumber(value), want, String(value));
});

test("text: days and times are those of the reader's zone, with two digits", () => {
  const date = new Date("2026-03-05T04:06:07.008");
  assert.equal(dayText(date), "2026-03-05");
  assert.equal(timeText(date), "04:06:07");
  assert.equal(timeText(date, false), "04:06");
  assert.equal(clock(date.getTime()), "04:06:07.008");
  assert.equal(clock(Date.UTC(2026, 6, 1, 22, 30)), "00:30:00.000");
});

test("text: a date of today is a time", () => {
  const now = new Date("2026-07-01T23:59:59");
  const cases = [
    ["2026-07-01T00:00:00", "00:00:00"], ["2026-07-01T14:03:07", "14:03:07"],
    ["2026-06-30T23:59:59", "2026-06-30 23:59:59"], ["2026-07-02T00:00:00", "2026-07-02 00:00:00"],
    ["2025-07-01T14:03:07", "2025-07-01 14:03:07"],
  ];
  for (const [time, want] of cases) assert.equal(shortDate(at(time), now), want, time);
});

test("text: a moment has texts for programs, for a tooltip and for a table", () => {
  const texts = whenTexts(1e9, new Date("2026-07-01T00:00:00"));
  assert.equal(texts.iso, "2001-09-09T01:46:40.000Z");
  assert.equal(texts.short, "2001-09-09 03:46:40");
  assert.match(texts.full, /2001/);
});

test("text: the reader's time zone, in winter and in summer", () => {
  assert.equal(zoneText(new Date("2026-01-31T12:00:00Z")), "UTC+01:00");
  assert.equal(zoneText(new Date("2026-07-31T12:00:00Z")), "UTC+02:00");
  assert.equal(zoneName(), process.env.TZ);
});

test("text: an invalid time has no text", () => {
  for (const seconds of [1e15, -1e15, 8.64e12 + 1, 0, null, undefined, NaN, Infinity, -Infinity])
    assert.equal(whenTexts(seconds), null, String(seconds));
  assert.notEqual(whenTexts(8.64e12), null);
  assert.notEqual(whenTexts(-1), null);
});
