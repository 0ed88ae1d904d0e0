import assert from "node:assert/strict";
import test from "node:test";
import { address, inList, jobPath, jobsIn, listOf, listText, passOf, placeOf, viewOf } from "./address.js";

test("address: parts of the query that are empty are left out", () => {
  const cases = [
    [{}, "/ui/jobs"], [{ name: "" }, "/ui/jobs"], [{ a: undefined, b: null }, "/ui/jobs"],
    [{ name: "x", status: "" }, "/ui/jobs?name=x"], [{ skip: 0 }, "/ui/jobs?skip=0"], [{ a: false }, "/ui/jobs?a=false"],
    [{ tag: "team=x y" }, "/ui/jobs?tag=team%3Dx+y"], [{ q: "<b>&\"'#?" }, "/ui/jobs?q=%3Cb%3E%26%22%27%23%3F"],
    [{ q: "ü→\n" }, "/ui/jobs?q=%C3%BC%E2%86%92%0A"],
  ];
  for (const [query, want] of cases) assert.equal(address("/ui/jobs", query), want);
  assert.equal(address("/ui/jobs"), "/ui/jobs");
});

test("address: what is written is read back", () => {
  for (const text of ["x", "a b", "a+b", "a=b&c=d", "100 %", "#?/", "ü→\n", "<img src=x>", "=", "%41"]) {
    const url = new URL(address("/ui/jobs/x/log", { q: text, re: "1" }), "http://host");
    assert.deepEqual(placeOf(url), { path: "/ui/jobs/x/log", query: { q: text, re: "1" } }, text);
  }
});

test("address: bad text in a query is read as text", () => {
  const cases = [
    ["", {}], ["?", {}], ["?a", { a: "" }], ["?a=1&a=2", { a: "2" }], ["?%", { "%": "" }], ["?a=%zz", { a: "%zz" }],
    ["?=x", { "": "x" }], ["?&&", {}],
  ];
  for (const [search, query] of cases) assert.deepEqual(placeOf({ pathname: "/ui/", search }).query, query, search);
});

test("address: a path names a view", () => {
  const cases = [
    ["/ui/", { view: "jobs" }], ["/ui/jobs", { view: "jobs" }], ["/ui/machine", { view: "machine" }],
    ["/ui/access", { view: "access" }], ["/ui/jobs/a-1", { view: "job", name: "a-1" }],
    ["/ui/jobs/a-1/", { view: "job", name: "a-1" }], ["/ui/jobs/a-1/log", { view: "log", name: "a-1" }],
    ["/ui/jobs/a-1/metrics", { view: "metrics", name: "a-1" }], ["/ui/jobs/a-1/hosts", { view: "hosts", name: "a-1" }],
    ["/ui/jobs/machine", { view: "job", name: "machine" }], ["/ui/runs", { view: "runs" }],
    ["/ui/runs/compare", { view: "compare" }],
  ];
  for (const [path, want] of cases) assert.deepEqual(viewOf(path), want, path);
});

test("address: another path names no view", () => {
  const paths = ["", "/", "/ui", "/ui/jobs/", "/ui/x", "/ui/jobs/a/x", "/ui/jobs/a/log/x", "/ui/jobs/a/constructor",
                 "/ui/constructor", "/ui//jobs", "/ui/machine/x", "/x/jobs/a", "/ui/jobs//log", "/ui/jobs/a/log\n",
                 "/ui/runs/", "/ui/runs/a", "/ui/runs/compare/a"];
  for (const path of paths) assert.deepEqual(viewOf(path), {}, path);
});

test("address: the path of a job's view names that view", () => {
  for (const [part, view] of [["", "job"], [undefined, "job"], ["log", "log"], ["metrics", "metrics"], ["hosts", "hosts"]])
    assert.deepEqual(viewOf(jobPath("a-1", part)), { view, name: "a-1" });
});

test("address: a pass is hexadecimal, alone behind the #", () => {
  assert.equal(passOf("#enter=0123456789abcdef"), "0123456789abcdef");
  for (const hash of ["", "#", "#enter=", "#enter=xyz", "#enter=AB", "enter=ab", "#enter=ab&x", "#x#enter=ab", "#main"])
    assert.equal(passOf(hash), undefined, hash);
});

test("address: a list is read back, whatever its entries are", () => {
  const lists = [[], ["a"], ["a", "b"], ["a,b", "c;d", "100%", "%2C"], ["hp:a b", "last:x/y", "ü→\n"], ["%25"], [";", ","]];
  for (const list of lists) for (const mark of [",", ";"]) assert.deepEqual(listOf(listText(list, mark), mark), list);
  assert.equal(listText(["hp:lr", "last:val loss"]), "hp:lr,last:val loss");
});

test("address: bad text of a list is read as text", () => {
  const cases = [[undefined, []], ["", []], [",,a,", ["a"]], ["%", ["%"]], ["%zz,%2", ["%zz", "%2"]], ["%E0%A4%A", ["%E0%A4%A"]]];
  for (const [text, want] of cases) assert.deepEqual(listOf(text), want, text);
});

test("address: an entry is added to a list or removed from it", () => {
  const cases = [[[], ["a"]], [["a"], []], [["b", "a", "c"], ["b", "c"]], [["b", "c"], ["b", "c", "a"]], [["b", "c", "d"], ["b", "c", "d"]]];
  for (const [list, want] of cases) assert.deepEqual(inList(list, "a", 3), want);
});

test("address: a list of jobs has names of jobs, each once", () => {
  const cases = [[undefined, []], ["", []], ["a,b,a", ["a", "b"]], ["a b,<i>,-,x_y", ["-"]], ["x".repeat(63), ["x".repeat(63)]], ["x".repeat(64), []]];
  for (const [text, want] of cases) assert.deepEqual(jobsIn(text), want, text);
});
