import assert from "node:assert/strict";
import test from "node:test";
import { COLUMNS, RANKS_MAX, addRows, cellAfter, columnCount, columnWidth, figuresOf, inside, mapOf, rankName, strengthOf } from "./ranks.js";

const rowsOf = (...told) => {
  const rows = new Map();
  for (const each of told) addRows(rows, each);
  return rows;
};

test("ranks: columns are powers of two seconds wide, and as many as there is room for", () => {
  const cases = [[0, 1, 1, 1], [0, 128, 1, 128], [0, 129, 2, 65], [1000, 1256, 2, 128], [0, 257, 4, 65], [0, 86400, 1024, 85], [5, 5, 1, 0]];
  for (const [from, to, width, count] of cases) {
    assert.equal(columnWidth(from, to), width, `${from} to ${to}`);
    assert.equal(columnCount(from, to, width), count, `${from} to ${to}`);
  }
});

test("ranks: pieces of a log add up", () => {
  const rows = rowsOf([{ rank: 0, host: "a", cells: [[0, 6, 2], [3, 5, 1]] }], [{ rank: 0, host: "a", cells: [[0, 3, 1]] },
                                                                             { rank: 1, host: "a", cells: [[127, 1, 1]] }]);
  const map = mapOf(rows);
  assert.deepEqual(map.rows.map((each) => each.rank), [0, 1]);
  assert.deepEqual([map.rows[0].means[0], map.rows[0].means[1], map.rows[0].means[3]], [3, null, 5]);
  assert.deepEqual([map.rows[0].counts[0], map.rows[1].means[127]], [3, 1]);
  assert.equal(map.rows[0].means.length, COLUMNS);
});

test("ranks: rows are by rank, then by host with its number as a number", () => {
  const cell = [[0, 1, 1]];
  const told = [[2, "algo-1"], [-1, "algo-10"], [-1, "algo-9"], [0, "algo-2"]].map(([rank, host]) => ({ rank, host, cells: cell }));
  const { rows } = mapOf(rowsOf(told));
  assert.deepEqual(rows.map(rankName), ["algo-9", "algo-10", "rank 0, algo-2", "rank 2, algo-1"]);
});

test("ranks: more than the most ranks are left out, and those that are known go on", () => {
  const many = Array.from({ length: RANKS_MAX + 10 }, (_, rank) => ({ rank, host: "a", cells: [[0, 1, 1]] }));
  const rows = rowsOf(many, many);
  assert.equal(rows.size, RANKS_MAX);
  assert.equal(rows.get("0 a").counts[0], 2);
});

test("ranks: colours lie between the least and the most mean", () => {
  const map = mapOf(rowsOf([{ rank: 0, host: "a", cells: [[0, 2, 1], [1, 8, 2], [2, 10, 1]] }]));
  assert.deepEqual([map.low, map.high], [2, 10]);
  assert.deepEqual([2, 6, 10].map((value) => strengthOf(value, map)), [0.1, 0.55, 1]);
  assert.equal(strengthOf(99, map), 1);
  assert.equal(strengthOf(5, { low: 5, high: 5 }), 0.55);
});

test("ranks: of many values one far from all others does not make those pale", () => {
  const cells = (count) => [...Array.from({ length: count }, (_, i) => [i, i, 1]), [127, 1e9, 1]];
  assert.equal(mapOf(rowsOf([{ rank: 0, host: "a", cells: cells(49) }])).high, 1e9);
  assert.equal(mapOf(rowsOf([{ rank: 0, host: "a", cells: cells(50) }])).high, 49);
  assert.equal(mapOf(rowsOf([{ rank: 0, host: "a", cells: [...cells(50).slice(25), ...cells(50).slice(0, 25)] }])).high, 49); // Cells come in any order.
});

test("ranks: no rows make an empty map", () => {
  assert.deepEqual(mapOf(new Map()), { rows: [], low: undefined, high: undefined });
});

test("ranks: a row of the table has the mean of all values and where the most is", () => {
  const map = mapOf(rowsOf([{ rank: 0, host: "a", cells: [[0, 2, 2], [5, 9, 1], [6, 9, 1], [7, -3, 1]] }]));
  assert.deepEqual(figuresOf(map.rows[0]), { mean: 17 / 5, least: -3, most: 9, column: 5, count: 5 });
});

test("ranks: keys move by a cell, or to the ends of a row, and stay inside", () => {
  const cases = [
    ["ArrowLeft", [3, 2], [2, 2]], ["ArrowRight", [3, 2], [4, 2]], ["ArrowUp", [3, 2], [3, 1]], ["ArrowDown", [3, 2], [3, 3]],
    ["Home", [3, 2], [0, 2]], ["End", [3, 2], [9, 2]], ["ArrowLeft", [0, 0], [0, 0]], ["ArrowDown", [9, 4], [9, 4]],
    ["ArrowDown", null, [0, 0]], ["End", null, [0, 0]],
  ];
  for (const [key, at, want] of cases) assert.deepEqual(cellAfter(key, at, 10, 5), want, key);
  for (const key of ["a", "Tab", "toString"]) assert.equal(cellAfter(key, [0, 0], 10, 5), undefined);
  assert.deepEqual(inside(-3, 99, 10, 5), [0, 4]);
});
