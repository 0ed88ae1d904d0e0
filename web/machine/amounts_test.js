import assert from "node:assert/strict";
import test from "node:test";
import { amount, capacityOf, cardCells, cardsOf, diskText, needsText, useText, statesOf } from "./amounts.js";

const GB = 1e9;

test("amounts: each resource has its unit", () => {
  const cases = [["cpu", 2500, "2.5"], ["cpu", 1234, "1.23"], ["memory", 2 * GB, "2.0 GB"], ["gpu", 3, "3"], ["ml.p3.2xlarge", 1, "1"]];
  for (const [name, value, want] of cases) assert.equal(amount(name, value), want);
  assert.equal(needsText({ hosts: 2, "ml.c5.xlarge": 2 }), "Hosts: 2, Hosts of type ml.c5.xlarge: 2");
  assert.equal(needsText({ "<b>": 1, constructor: 2 }), "Hosts of type <b>: 1, Hosts of type constructor: 2");
  assert.equal(needsText({ cpu: 0 }), "");
});

test("amounts: a job's use is next to what is reserved for it", () => {
  const cases = [[[1500, 4000], "1.5 of 4"], [[1500, undefined], "1.5"], [[1500, 0], "1.5"], [[undefined, 4000], "4 reserved"],
                 [[undefined, undefined], "–"], [[0, 4000], "0 of 4"]];
  for (const [[used, reserved], want] of cases) assert.equal(useText("cpu", used, reserved), want);
});

test("amounts: used or reserved CPUs and memory are not free", () => {
  const runs = [{ used: { cpu: 3000, memory: GB } }, { used: { cpu: 500 } }, {}];
  const machine = { cpu: 8000, memory: 16 * GB };
  const given = { resources: [{ name: "memory", held: 4 * GB }], runs, machine };
  assert.deepEqual(capacityOf(given), [
    { name: "CPUs", used: "3.5", reserved: "", free: "4.5", total: "8", share: 3500 / 8000 },
    { name: "Memory", used: "1.0 GB", reserved: "4.0 GB", free: "12.0 GB", total: "16.0 GB", share: 0.25 },
  ]);
  assert.equal(capacityOf({ ...given, available: { memory: 3 * GB } })[1].free, "3.0 GB"); // Other programs use the rest.
});

test("amounts: a limit takes precedence over the machine, and no more than all is in use", () => {
  const [row] = capacityOf({ resources: [{ name: "cpu", held: 2000, of: 4000 }], runs: [{ used: { cpu: 5000 } }], machine: { cpu: 64_000 } });
  assert.deepEqual([row.total, row.free, row.share], ["4", "0", 1]);
});

test("amounts: only limits and the machine have rows, in one order", () => {
  const resources = [{ name: "hosts", held: 1, of: 4 }, { name: "local", held: 1 }, { name: "ml.c5.xlarge", held: 1, of: 2 },
                     { name: "gpu", held: 0, of: 0 }];
  const rows = capacityOf({ resources, runs: [], disk: { free: GB, total: 4 * GB } });
  assert.deepEqual(rows.map(({ name, used, free, total }) => [name, used, free, total]), [
    ["Hosts", "1", "3", "4"], ["Hosts of type ml.c5.xlarge", "1", "1", "2"], ["Disk (data folder)", "0 bytes", "1.0 GB", "4.0 GB"]]);
  assert.deepEqual(rows.map((each) => each.share), [0.25, 0.5, 0.75]);
});

test("amounts: a job's disk is what its volumes take, and that of all jobs is their sum, if any has volumes", () => {
  assert.deepEqual([diskText(5), diskText(0), diskText(undefined)], ["5 bytes", "0 bytes", "not measured"]);
  const usedBy = (...disks) => capacityOf({ resources: [], runs: disks.map((disk) => ({ disk })), disk: { free: 0, total: 9 } })[0].used;
  assert.deepEqual([usedBy(), usedBy(1, undefined, 4), usedBy(undefined)], ["0 bytes", "5 bytes", "not measured"]);
  assert.equal(capacityOf({ resources: [], runs: [], disk: { free: 0, total: 0 } })[0].share, 0);
});

test("amounts: cards come by their numbers, with their jobs", () => {
  const runs = [{ job: "a", used: { gpus: [[3, "algo-1", 93.4, GB]] } }, { job: "b" }, { job: "c", used: { gpus: [[0, "algo-1", 0, 0], [1, "algo-2", 5, 7]] } }];
  assert.deepEqual(cardsOf(runs).map(({ number, job }) => [number, job]), [[0, "c"], [1, "c"], [3, "a"]]);
  const usage = { hosts: [{ host: "algo-1", usage: { gpus: [{ number: 3, watts: 412, throttled: ["sw_power_cap", "hw_slowdown"] }] } }] };
  const states = statesOf(usage);
  assert.deepEqual(cardsOf(runs, states).map(({ state }) => state.watts), [undefined, undefined, 412]);
  assert.deepEqual(cardCells(GB, states[0]), ["1.0 GB", "412 W", "–", "–", "–", "sw_power_cap, hw_slowdown", "–", "–"]);
  assert.deepEqual(cardCells(GB, { memory_total: 80 * GB, watts: 0, celsius: 61, sm_mhz: 1980, memory_mhz: 2619, throttled: [],
                                   pcie_in: 3 * GB, pcie_out: 0, nvlink_out: 7 }),
                   ["1.0 GB of 80.0 GB", "0 W", "61 °C", "1980 MHz", "2619 MHz", "no", "3.0 GB/s / 0 bytes/s", "– / 7 bytes/s"]);
  assert.deepEqual(cardCells(0, {}), ["0 bytes", "–", "–", "–", "–", "–", "–", "–"]);
  assert.deepEqual(statesOf(null), []);
});
