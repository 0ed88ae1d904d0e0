import assert from "node:assert/strict";
import test from "node:test";
import { at } from "../setup_test.js";
import { LINE, marked, painted, piecesOf, placedOf, rowTexts, seenOf, stepOf, viewOf, writersText } from "./rows.js";

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

test("rows: a folded row names its ranks and hosts as ranges", () => {
  const names = ["algo-1", "algo-2", "algo-3"];
  const cases = [
    [[[[0, 2], [5, 5]], []], "ranks 0–2, 5"], [[[], [[0, 1]]], "algo-1–algo-2"], [[[], [[2, 2]]], "algo-3"],
    [[[[7, 7]], [[0, 0], [2, 2]]], "ranks 7, algo-1, algo-3"], [[[], []], ""],
  ];
  for (const [writers, want] of cases) assert.equal(writersText(writers, names), want);
});

const time = at("2026-01-31T14:03:07.008") * 1000;
const row = (text, { bytes = text.length, host = 1, rank = -1, stream = "stdout", writers } = {}) =>
  [7, host, time, text, bytes, "warning", rank, stream, writers];
const names = ["algo-1", "algo-2", "algo-10"];

test("rows: a row has its time, its level, and says if it is cut", () => {
  assert.deepEqual(rowTexts(row("abc", { host: 0 }), ["algo-1"]),
    { time: "14:03:07.008", who: "", text: "abc", level: "warning", bytes: 3, more: 0, cut: false });
  const isCut = (text, bytes) => rowTexts(row(text, { bytes, host: 0 }), ["algo-1"]).cut;
  assert.deepEqual([isCut("abc", 4), isCut("ü→", 5), isCut("ü→", 6)], [true, false, true]);
});

test("rows: a row of NCCL's lines says how many more it combines", () => {
  const moreOf = (...end) => rowTexts([...row("n:1:2 [0] NCCL INFO x", { host: 0 }).slice(0, 8), ...end], names).more;
  assert.deepEqual([moreOf(), moreOf([[[0, 3]], []]), moreOf(null, 312), moreOf([[[0, 3]], []], 312)], [0, 0, 311, 311]);
  assert.equal(rowTexts([...row("x", { host: 1, rank: 3 }).slice(0, 8), null, 9], names).who, "algo-2  rank 3     ");
});

test("rows: columns name the writer where rows differ in it", () => {
  const whoOf = (given, hosts = names) => rowTexts(row("abc", given), hosts).who;
  assert.equal(whoOf({}), "algo-2 ");
  assert.equal(whoOf({ host: 2, rank: 3 }), "algo-10 rank 3     ");
  assert.equal(whoOf({ host: 2, rank: 12, stream: "stderr" }), "algo-10 rank 12 err");
  assert.equal(whoOf({ host: 0, rank: 3, stream: "stderr" }, ["algo-1"]), "rank 3  err");
  assert.equal(whoOf({ host: 0, stream: "stderr" }, ["algo-1"]), "");
  assert.equal(whoOf({ writers: [[[0, 3]], []] }), "ranks 0–3");
});

test("rows: the host in front of muster's own lines is left out where a column names it", () => {
  const own = "algo-2 muster: warning: no py-spy";
  const textOf = (text, hosts, given) => rowTexts(row(text, given), hosts).text;
  assert.equal(textOf(own, names), "muster: warning: no py-spy");
  assert.equal(rowTexts(row(own), names).cut, false);
  assert.equal(textOf(own.replace("2", "1"), ["algo-1"], { host: 0 }), own.replace("2", "1"));
  assert.equal(textOf(` ${own}`, names), ` ${own}`); // A program's own line.
  assert.equal(textOf(own, names, { writers: [[], [[1, 2]]] }), own);
});

test("rows: matches of a text are marked, those of an expression are not", () => {
  const cases = [
    ["abc", {}, [["abc", false]]],
    ["", { q: "a" }, []],
    ["abcabc", { q: "b" }, [["a", false], ["b", true], ["ca", false], ["b", true], ["c", false]]],
    ["abc", { q: "abc" }, [["abc", true]]],
    ["abc", { q: "x" }, [["abc", false]]],
    ["aaa", { q: "aa" }, [["aa", true], ["a", false]]],
    ["aBc", { q: "b" }, [["aBc", false]]],
    ["aBc", { q: "b", any: "1" }, [["a", false], ["B", true], ["c", false]]],
    ["a.c", { q: "a.c", re: "1" }, [["a.c", false]]],
    ["abc", { q: "a.c" }, [["abc", false]]],
    ["<b>x</b>", { q: "<b>" }, [["<b>", true], ["x</b>", false]]],
    ["İab", { q: "b", any: "1" }, [["İab", false]]], // In lower case it is a letter longer.
  ];
  for (const [text, search, want] of cases) assert.deepEqual(marked(text, search), want, `${text} ${JSON.stringify(search)}`);
});

test("rows: a line of a thousand matches has few marks, and no letter is lost", () => {
  const parts = marked("ab".repeat(1000), { q: "a" });
  assert.equal(parts.filter(([, is]) => is).length, 10);
  assert.equal(parts.map(([text]) => text).join(""), "ab".repeat(1000));
});

test("rows: colours of programs become classes", () => {
  const cases = [
    ["abc", [["abc", ""]]],
    ["", []],
    ["\x1b[31mred\x1b[0m plain", [["red", "ink-red"], [" plain", ""]]],
    ["\x1b[1;4;92mx\x1b[22my\x1b[24;39mz", [["x", "ink-green bold underlined"], ["y", "ink-green underlined"], ["z", ""]]],
    ["\x1b[3;2mx\x1b[23;22my\x1b[21mz\x1b[m.", [["x", "ink-grey italic"], ["y", ""], ["z", "underlined"], [".", ""]]],
    ["\x1b[30;37;97mx\x1b[90my", [["x", ""], ["y", "ink-grey"]]],
    ["\x1b[33;44mx\x1b[49my", [["x", "ground-blue"], ["y", "ink-yellow"]]],
    ["\x1b[7mx\x1b[35my\x1b[27mz", [["x", "ground-text"], ["y", "ground-magenta"], ["z", "ink-magenta"]]],
    ["\x1b[38;5;1mx\x1b[38;5;46my\x1b[38;5;244mz\x1b[38;5;255m.", [["x", "ink-red"], ["y", "ink-green"], ["z", "ink-grey"], [".", ""]]],
    ["\x1b[38;2;255;165;0mx\x1b[48;2;0;0;250;1my", [["x", "ink-yellow"], ["y", "ground-blue bold"]]],
  ];
  for (const [line, want] of cases) assert.deepEqual(painted(line), want, JSON.stringify(line));
});

test("rows: what is not a colour is visible text or has no effect", () => {
  const cases = [
    ["\x1b[2Ja\x07\tb\x7f", [["\\x1b[2Ja\\x07\tb\\x7f", ""]]],
    ["\u202eabc\u0085\u2066", [["\\u202eabc\\u0085\\u2066", ""]]],
    ["\x1b]0;title\x07", [["\\x1b]0;title\\x07", ""]]],
    ["a\x1b[31", [["a\\x1b[31", ""]]], // Cut.
    ["\x1b[8;5;6;9;51;1000mx", [["x", ""]]], // Neither hidden nor blinking.
    ["\x1b[38mx\x1b[38;5mx\x1b[38;5;256mx\x1b[38;2;1;2mx\x1b[38;7;1mx\x1b[38;2;1;2;256mx", [..."xxxxxx"].map((x) => [x, ""])],
    ["\x1b[31:1mx", [["\\x1b[31:1mx", ""]]],
    [`\x1b[${"1;".repeat(40)}mx`, [[`\\x1b[${"1;".repeat(40)}mx`, ""]]],
    ["<b>ü</b>", [["<b>ü</b>", ""]]],
  ];
  for (const [line, want] of cases) assert.deepEqual(painted(line), want, JSON.stringify(line));
});

test("rows: a match may begin in one colour and end in another", () => {
  assert.deepEqual(piecesOf("lo\x1b[31mss=\x1b[0m1", { q: "oss" }), [["l", "", false], ["o", "", true], ["ss", "ink-red", true],
    ["=", "ink-red", false], ["1", "", false]]);
  assert.deepEqual(piecesOf("", { q: "a" }), []);
});

test("rows: wrapped rows have an average height on the scroll bar", () => {
  const view = viewOf(100, 10.5, 60);
  assert.deepEqual([view.height, view.scaled, view.lastTop], [6000, true, 89.5]);
  assert.deepEqual([view.barOf(89.5, 5400), view.topOf(2700, 5400)], [5400, 44.75]);
});

test("rows: wrapped rows begin at the top of the window, with fractions", () => {
  assert.deepEqual(placedOf([20, 40, 20, 60, 20], 7, 7, 100, false), { shift: 0, fit: 3 + 20 / 60 });
  assert.deepEqual(placedOf([20, 40, 20, 60, 20], 7, 8.5, 100, false), { shift: -40, fit: 2.5 });
  assert.deepEqual(placedOf([800, 20], 3, 3.5, 100, false), { shift: -400, fit: 0.125 });
});

test("rows: the last wrapped row ends at the bottom of the window", () => {
  assert.deepEqual(placedOf([20, 40, 20, 60, 20], 5, 8, 100, true), { shift: -60, fit: 3 });
  assert.deepEqual(placedOf([20, 800], 5, 6.95, 100, true), { shift: -720, fit: 0.125 });
  assert.deepEqual(placedOf([20, 800], 5, 6, 100, true), { shift: -20, fit: 0.125 }); // The end is not in sight yet.
  assert.deepEqual(placedOf([20, 40], 0, 0, 100, true), { shift: 0, fit: 2 });
});
