import assert from "node:assert/strict";
import test from "node:test";
import { LINE, seenOf, stepOf, viewOf } from "./scroll.js";

test("scroll: each row of a log that is not too long has its place on the scroll bar", () => {
  const view = viewOf(1000, 30);
  assert.deepEqual([view.height, view.scaled, view.lastTop], [1000 * LINE, false, 970]);
  assert.deepEqual([view.barOf(100, 1e6), view.topOf(100 * LINE, 1e6)], [100 * LINE, 100]);
});

test("scroll: a log of millions of lines is scaled to what browsers draw, from its first row to its last", () => {
  const [count, rows, range] = [10_000_000, 40, 7_999_200];
  const view = viewOf(count, rows);
  assert.deepEqual([view.height, view.scaled], [8_000_000, true]);
  for (const [top, bar] of [[0, 0], [view.lastTop / 2, range / 2], [view.lastTop, range]]) {
    assert.equal(view.barOf(top, range), bar);
    assert.equal(view.topOf(bar, range), top);
  }
});

test("scroll: a window that nothing is in, or all, does not scroll", () => {
  for (const [count, rows] of [[0, 30], [30, 30], [5, 30]]) {
    const view = viewOf(count, rows);
    assert.deepEqual([view.lastTop, view.bounded(7), view.bounded(-7)], [0, 0, 0]);
  }
  assert.equal(viewOf(10_000_000, 20).topOf(5, 0), 0);
  assert.equal(viewOf(10_000_000, 10_000_000).barOf(0, 500), 0);
});

test("scroll: a place beyond the first or the last row is bounded", () => {
  const { bounded } = viewOf(1000, 30);
  assert.deepEqual([-1, 0, 969.5, 970, 971, Infinity].map(bounded), [0, 0, 969.5, 970, 970, 970]);
});

test("scroll: keys go by a row, a page or to an end", () => {
  const keys = { ArrowUp: -1, ArrowDown: 1, PageUp: -28, PageDown: 28, Home: -1000, End: 1000 };
  for (const [key, want] of Object.entries(keys)) assert.equal(stepOf(key, 1000, 30), want, key);
  for (const key of ["a", "Enter", "Tab", "", "constructor"]) assert.equal(stepOf(key, 1000, 30), undefined, key);
});

test("scroll: a page of a small window goes the key's way", () => {
  for (const rows of [1, 2, 3]) assert.deepEqual([stepOf("PageUp", 9, rows), stepOf("PageDown", 9, rows)], [-1, 1]);
});

test("scroll: the window has as many rows as fit, and one more", () => {
  assert.deepEqual(seenOf(0, 3, 100), [0, 1, 2, 3]);
  assert.deepEqual(seenOf(7.6, 3, 100), [7, 8, 9, 10]);
  assert.deepEqual(seenOf(98, 3, 100), [98, 99]);
  assert.deepEqual(seenOf(0, 3, 0), []);
  assert.deepEqual(seenOf(50, 3, 10), []); // The log is another one by now.
});
