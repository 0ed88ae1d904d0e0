import assert from "node:assert/strict";
import test from "node:test";
import { amount, capacityOf, needsText } from "./amounts.js";

test("amounts: CPUs are shown in whole units, memory in bytes, others unchanged", () => {
  const cases = [["cpu", 1500, "1.5"], ["cpu", 0, "0"], ["cpu", 64000, "64"], ["memory", 0, "0 bytes"],
                 ["memory", 2e9, "2.0 GB"], ["gpu", 8, "8"], ["hosts", 3, "3"], ["other", 7, "7"]];
  for (const [name, value, want] of cases) assert.equal(amount(name, value), want, name);
});

test("amounts: what a job needs is one line", () => {
  assert.equal(needsText({ cpu: 500, memory: 1e9, gpu: 1 }), "CPUs: 0.5, Memory: 1.0 GB, GPUs: 1");
  assert.equal(needsText({ "<b>": 1, constructor: 2 }), "<b>: 1, constructor: 2");
  assert.equal(needsText({}), "");
});

test("amounts: capacity has each resource's use, total and share", () => {
  const rows = capacityOf([{ name: "cpu", held: 500, of: 2000 }, { name: "gpu", held: 0, of: 0 }, { name: "hosts", held: 3 },
                           { name: "memory", held: 3e9, of: 2e9 }], { total: 100e9, free: 75e9 });
  assert.deepEqual(rows, [
    { name: "CPUs", held: "0.5", of: "2", share: 0.25 },
    { name: "GPUs", held: "0", of: "0", share: null },
    { name: "Hosts", held: "3", of: "no limit", share: null },
    { name: "Memory", held: "3.0 GB", of: "2.0 GB", share: 1 },
    { name: "Disk (data folder)", held: "25.0 GB", of: "100.0 GB", share: 0.25 },
  ]);
});

test("amounts: a disk that cannot be measured has no share or no row", () => {
  assert.equal(capacityOf([], { total: 0, free: 0 })[0].share, null);
  assert.deepEqual(capacityOf([], undefined), []);
});
