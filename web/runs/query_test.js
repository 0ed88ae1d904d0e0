import assert from "node:assert/strict";
import test from "node:test";
import { allTurned, cellText, columnTurned, columnsOf, comparedOf, drawnOf, drawnText, filterTurned, filtersOf, groupOf, inputOf, isFull,
         isNumeric, labelOf, metricOf, metricsIn, pickTurned, pickedOf, signsOf, spansOf } from "./query.js";

const NOW = 1_800_000_000.7;
const KNOWN = {
  hyperparameters: [["sagemaker_program", 9], ["lr", 8], ["depth", 8], ["a", 7], ["b", 7], ["c", 6]],
  metrics: [["step", 9], ["loss", 9], ["acc", 8]], tags: [["team", 3]], more: [],
};

test("runs: without columns in the address, the most frequent names are columns", () => {
  assert.equal(columnsOf({}, undefined), null);
  assert.deepEqual(columnsOf({}, KNOWN), ["hp:lr", "hp:depth", "hp:a", "hp:b", "last:loss", "last:acc"]);
  assert.deepEqual(columnsOf({}, { hyperparameters: [], metrics: [], tags: [] }), []);
});

test("runs: the address's columns come by group, without invalid ones", () => {
  const cases = [
    ["hp:lr", ["hp:lr"]], ["least:loss,tag:team,hp:lr,last:acc", ["hp:lr", "tag:team", "least:loss", "last:acc"]],
    ["none", []], ["x:y,hp:,:,lr,constructor:a,toString:b", []], ["hp:a:b%2Cc", ["hp:a:b,c"]], ["hp:a\nb", ["hp:a\nb"]],
  ];
  for (const [columns, want] of cases) assert.deepEqual(columnsOf({ columns }, KNOWN), want, columns);
  const many = Array.from({ length: 60 }, (_, i) => `hp:p${i}`);
  assert.deepEqual(columnsOf({ columns: many.join() }, undefined), many.slice(0, 50));
});

test("runs: a column is added behind those of its group, or removed; no column at all is remembered", () => {
  const cases = [
    [["hp:a", "last:x"], "hp:b", "hp:a,hp:b,last:x"], [["hp:a", "last:x"], "hp:a", "last:x"], [["hp:a"], "hp:a", "none"],
    [[], "most:a,b;c%", "most:a%2Cb%3Bc%25"],
  ];
  for (const [columns, column, want] of cases) assert.deepEqual(columnTurned(columns, column), { columns: want });
  const full = Array.from({ length: 50 }, (_, i) => `hp:p${i}`);
  assert.deepEqual(columnTurned(full, "hp:more"), { columns: full.join() });
});

test("runs: columns have names and groups", () => {
  const cases = [["hp:lr", "lr"], ["tag:team", "team"], ["last:loss", "loss (last)"], ["least:loss", "loss (min)"],
                 ["most:a:b", "a:b (max)"], ["duration", "Training time"], ["name", "Name"]];
  for (const [column, want] of cases) assert.equal(labelOf(column), want);
  assert.deepEqual(["hp:a", "tag:a", "least:a", "name", "x"].map(groupOf), ["Hyperparameters", "Tags", "Metrics", undefined, undefined]);
  assert.deepEqual(spansOf(["hp:a", "hp:b", "last:x"]), [["Hyperparameters", 2], ["Metrics", 1]]);
  assert.deepEqual(spansOf([]), []);
});

test("runs: filters of the address are read back, and invalid ones left out", () => {
  const all = [{ column: "hp:lr", is: "=", value: "1e-4" }, { column: "last:a,b;c%", is: "<", value: "0.5;,%" },
               { column: "tag:team", is: "missing" }, { column: "duration", is: ">=", value: "60" }];
  let query = {};
  for (const each of all) query = { ...query, ...filterTurned(query, each) };
  assert.deepEqual(filtersOf(query), all);
  assert.deepEqual(filtersOf({ ...query, ...filterTurned(query, all[1]) }), [all[0], all[2], all[3]]);
  assert.equal(filterTurned({ after: "token" }, all[0]).after, "");
  const wrong = [undefined, "", ",", "hp:lr", "hp:lr;=", "hp:lr;~;1", "lr;=;1", "name;=;a", "status;=;a", "last:x;contains;1",
                 "duration;=;60", "hp:lr;constructor;1", ";;"];
  for (const filter of wrong) assert.deepEqual(filtersOf({ filter }), [], String(filter));
});

test("runs: a column has the signs that the server knows for it", () => {
  assert.deepEqual(signsOf("hp:a"), ["=", "!=", "<", "<=", ">", ">=", "contains", "exists", "missing"]);
  assert.deepEqual(signsOf("least:a"), ["=", "!=", "<", "<=", ">", ">=", "exists", "missing"]);
  assert.deepEqual(signsOf("duration"), ["<", "<=", ">", ">=", "exists", "missing"]);
});

test("runs: the address asks for runs by filters, status, name, age and order", () => {
  const plain = { columns: ["hp:lr"], filters: [], sort: "created", descending: true, limit: 50, after: undefined };
  const cases = [
    [{}, {}], [{ order: "up" }, { descending: false }], [{ sort: "least:loss" }, { sort: "least:loss" }], [{ after: "t" }, { after: "t" }],
    [{ sort: "x" }, {}], [{ sort: "constructor" }, {}], [{ sort: "duration" }, { sort: "duration" }], [{ status: "x" }, {}],
    [{ status: "Failed", name: "a" }, { filters: [{ column: "status", is: "=", value: "Failed" }, { column: "name", is: "contains", value: "a" }] }],
    [{ age: "1h" }, { filters: [{ column: "created", is: ">=", value: 1_799_996_400 }] }], [{ age: "dates" }, {}],
    [{ filter: "last:loss;<;0.5" }, { filters: [{ column: "last:loss", is: "<", value: "0.5" }] }],
  ];
  for (const [query, want] of cases) assert.deepEqual(inputOf(query, ["hp:lr"], NOW), { ...plain, ...want }, JSON.stringify(query));
});

test("runs: the server takes eight filters", () => {
  const filter = Array.from({ length: 9 }, (_, i) => `hp:p${i};=;1`).join();
  const six = filter.split(",").slice(0, 6).join();
  assert.equal(inputOf({ filter, status: "Failed" }, [], NOW).filters.length, 8);
  assert.deepEqual([{}, { filter: six }, { filter: six, name: "a" }, { filter: six, name: "a", age: "1d" }, { filter }].map(isFull),
                   [false, false, false, true, true]);
});

test("runs: a column of numbers alone is numeric", () => {
  const cases = [[["1e-4", "0.5", ".5", "-3", null], true], [[0.5, null], true], [[null, null], false], [["1", "adam"], false], [["0x10"], false],
                 [["nan"], false], [["1."], true], [[""], false], [[], false]];
  for (const [values, want] of cases) assert.equal(isNumeric(values), want, JSON.stringify(values));
});

test("runs: a hyperparameter is shown as it was written, a metric with six digits", () => {
  assert.deepEqual([null, "1e-4", "adam", 0.123456789, 0, -2].map(cellText), ["–", "1e-4", "adam", "0.123457", "0", "-2"]);
});

test("runs: up to fifty runs are selected, one by one or a page at once", () => {
  const names = (count, from = 0) => Array.from({ length: count }, (_, i) => `job-${i + from}`);
  const turned = (picked, name) => pickedOf(pickTurned({ runs: picked.join() }, name));
  assert.deepEqual(turned([], "a"), ["a"]);
  assert.deepEqual(turned(["a", "b"], "a"), ["b"]);
  assert.deepEqual(turned(names(50), "a"), names(50));
  assert.deepEqual(pickedOf({ runs: "a,a,<b>,b" }), ["a", "b"]);
  assert.deepEqual(pickedOf({ runs: names(60).join() }), names(50));
  const all = (picked, page) => pickedOf(allTurned({ runs: picked.join() }, page));
  assert.deepEqual(all(["x", "b"], ["a", "b"]), ["x", "b", "a"]);
  assert.deepEqual(all(["x", "a", "b"], ["a", "b"]), ["x"]);
  assert.deepEqual(all(names(40), names(20, 40)), names(50));
});

const runs = (count) => Array.from({ length: count }, (_, i) => ({ name: `r${i}` }));
const row = (column, values) => ({ column, values, differs: values.some((each) => each !== values[0]) });
const TOLD = { runs: runs(3), rows: [row("hp:lr", ["1", "2", null]), row("hp:depth", ["7", "7", "7"]), row("last:acc", [null, null, 1]),
  row("least:acc", [null, null, 0]), row("most:acc", [null, null, 1]), row("last:loss", [1, null, 2]), row("least:loss", [0, null, 1]),
  row("most:loss", [3, null, 3]), row("last:step", [9, 9, 9]), row("tag:team", ["x", null, "x"])] };

test("comparison: a metric of the address, of the columns, or one that most runs have", () => {
  assert.deepEqual(metricsIn(TOLD), [["acc", 1], ["loss", 2], ["step", 3]]);
  const cases = [[{}, "loss"], [{ metric: "acc" }, "acc"], [{ metric: "gone" }, "loss"], [{ columns: "hp:loss,least:acc" }, "acc"],
                 [{ columns: "last:gone" }, "loss"], [{ metric: "step" }, "step"]];
  for (const [query, want] of cases) assert.equal(metricOf(query, { ...TOLD, rows: TOLD.rows.slice(0, -1) }), want, JSON.stringify(query));
  assert.equal(metricOf({}, { runs: runs(2), rows: [row("last:a", [1, null]), row("last:b", [1, 1])] }), "b");
  assert.equal(metricOf({}, { runs: runs(1), rows: [row("last:step", [1])] }), "step");
  assert.equal(metricOf({ metric: "loss" }, { runs: runs(1), rows: [] }), undefined);
});

test("comparison: twelve runs with the metric are drawn at a time, and the text says how many of which", () => {
  const told = { runs: runs(30), rows: [row("last:loss", Array.from({ length: 30 }, (_, i) => (i === 1 ? null : i)))] };
  const first = drawnOf(told, "loss", undefined);
  assert.deepEqual([first.names.length, first.names[1], first.all, first.skip], [12, "r2", 29, 0]);
  assert.deepEqual(drawnOf(told, "loss", "24").names, ["r25", "r26", "r27", "r28", "r29"]);
  assert.deepEqual(drawnOf(told, "loss", "99").skip, 0);
  assert.deepEqual(drawnOf(told, "gone", "0"), { names: [], all: 0, skip: 0 });
  assert.equal(drawnText(first, told, "loss"), "12 of 30 selected runs are drawn (1 without loss)");
  assert.equal(drawnText({ names: ["a"], all: 1 }, { runs: runs(1) }, "loss"), "1 of 1 selected run is drawn");
});

test("comparison: what differs comes first, then the drawn metric and those of the columns; the rest is the same", () => {
  const columns = (rows) => rows.map((each) => each.column);
  const { differing, metrics, same } = comparedOf(TOLD, "loss", { columns: "hp:lr,least:loss,most:acc,last:gone" });
  assert.deepEqual(columns(differing), ["hp:lr", "tag:team"]);
  assert.deepEqual(columns(metrics), ["last:loss", "least:loss", "most:loss", "most:acc"]);
  assert.deepEqual(columns(same), ["hp:depth"]);
  assert.deepEqual(columns(comparedOf(TOLD, undefined, {}).metrics), []);
});
