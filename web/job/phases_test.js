import assert from "node:assert/strict";
import test from "node:test";
import { barOf, colourOf, differenceText, haveStarted, hostsOf, isStart, keysOf, lengthOf, megabytes, phasesOf, shortTook, shownOf, slowestOf,
         summaryOf, ticksOf, tookText, waited, whole } from "./phases.js";

/** A host that has reported these points, by milliseconds. */
const host = (name, points) => ({ host: name, points: Object.entries(points).map(([point, ms]) => ({ point, ms })) });
const shown = (phases) => phases.map((each) => [each.name, each.begin, each.end]);
const A = host("a", { launched: 3000, root: 2000, first_line: 9000 }); // Its root is earlier than its launch.
const B = host("b", { launched: 5000, root: 6000 });

test("phases: they touch, add up to the whole and none is negative", () => {
  assert.deepEqual(shown(phasesOf(A, 1000, null)), [["queued", 0, 2], ["root file system", 2, 2], ["first line", 2, 8]]);
  const early = host("a", { launched: 500, root: 1500 }); // A clock that is behind the server's.
  assert.deepEqual(shown(phasesOf(early, 1000, null)), [["queued", 0, 0], ["root file system", 0, 0.5]]);
});

test("phases: points come in their order, however they are reported, and unknown ones are left out", () => {
  const mixed = host("a", { first_line: 9000, nothing: 4000, launched: 3000, root: 5000 });
  assert.deepEqual(shown(phasesOf(mixed, 1000, null)), [["queued", 0, 2], ["root file system", 2, 4], ["first line", 4, 8]]);
  assert.deepEqual(phasesOf(host("a", {}), 1000, null), []);
});

test("phases: the last phase of a host that runs grows", () => {
  const cases = [
    [{}, 3000, ["in progress", 0, 2]],
    [{ launched: 3000 }, 4000, ["in progress", 2, 3]],
    [{ launched: 3000, first_line: 9000 }, 11_000, ["running", 8, 10]],
    [{ launched: 3000, first_line: 9000, first_metric: 9500 }, 11_000, ["running", 8.5, 10]],
    [{ launched: 3000, first_line: 9000, last_line: 10_000 }, 11_000, ["running", 8, 10]],
    [{ launched: 3000, last_line: 10_000, ended: 10_500 }, 11_000, ["in progress", 9.5, 10]],
  ];
  for (const [points, now, want] of cases) {
    const last = phasesOf(host("a", points), 1000, now).at(-1);
    assert.deepEqual([[last.name, last.begin, last.end], Boolean(last.grows)], [want, true], JSON.stringify(points));
  }
});

test("phases: a host that has stored its results grows no more, nor one whose clock is ahead", () => {
  for (const [points, now] of [[{ launched: 3000, stored: 9000 }, 99_000], [{ launched: 3000 }, 2000]])
    assert.equal(phasesOf(host("a", points), 1000, now).some((each) => each.grows), false);
});

test("phases: a start ends with the first line", () => {
  const phases = phasesOf(host("a", { launched: 2000, first_line: 4000, last_line: 9000, stored: 9500 }), 1000, null);
  assert.deepEqual(phases.map(isStart), [true, true, false, false]);
  assert.deepEqual([waited(phases), whole(phases)], [3, 8.5]);
  assert.deepEqual([waited([]), whole([])], [0, 0]);
});

test("phases: times and differences below a second are in milliseconds", () => {
  const times = [[0, "0 ms"], [0.0004, "0 ms"], [0.25, "250 ms"], [0.9994, "999 ms"], [0.9996, "1.0 s"], [1, "1.0 s"], [75, "1 min 15 s"]];
  for (const [seconds, want] of times) assert.equal(tookText(seconds), want, String(seconds));
  const differences = [[0, "±0 ms"], [0.0004, "±0 ms"], [-0.0004, "±0 ms"], [0.25, "+250 ms"], [-0.25, "-250 ms"],
                       [0.9996, "+1.0 s"], [-75, "-1 min 15 s"]];
  for (const [seconds, want] of differences) assert.equal(differenceText(seconds), want, String(seconds));
  assert.equal(megabytes(1_234_567), "1.2 MB");
});

test("phases: bars touch, and none is too narrow or too wide to be seen", () => {
  const cases = [
    [{ begin: 0, end: 5 }, 10, { from: 0, width: 500 }], [{ begin: 5, end: 10 }, 10, { from: 500, width: 500 }],
    [{ begin: 5, end: 5 }, 10, { from: 500, width: 2 }], [{ begin: 10, end: 10 }, 10, { from: 998, width: 2 }],
    [{ begin: 5, end: 50 }, 10, { from: 500, width: 500 }], [{ begin: 0, end: 50 }, 10, { from: 0, width: 1000 }],
  ];
  for (const [phase, length, want] of cases) assert.deepEqual(barOf(phase, length), want);
});

test("phases: a summary has each phase's minimum, median, maximum and slowest host", () => {
  const hosts = [A, B].map((each) => ({ host: each, phases: phasesOf(each, 1000, null) }));
  assert.deepEqual(summaryOf(hosts), [
    { name: "queued", least: 2, median: 4, most: 4, host: "b" },
    { name: "root file system", least: 0, median: 1, most: 1, host: "b" },
    { name: "first line", least: 6, median: 6, most: 6, host: "a" },
  ]);
  assert.deepEqual(summaryOf([]), []);
});

test("phases: hosts that have reported nothing are left out, and the slowest is the last to start", () => {
  const told = { submitted_ms: 1000, hosts: [host("none", {}), B, A] };
  const hosts = hostsOf(told, null);
  assert.deepEqual(hosts.map((each) => each.host.host), ["b", "a"]);
  assert.equal(slowestOf(hosts).host.host, "a");
  assert.equal(slowestOf([hosts[0], hosts[0]]), hosts[0]);
});

test("phases: more than four hosts fold to the wanted one, or to the last to start", () => {
  const hosts = hostsOf({ submitted_ms: 1000, hosts: [B, A, ...["c", "d", "e"].map((name) => host(name, { launched: 1500 }))] }, null);
  const names = (count, wanted) => shownOf(hosts.slice(0, count), wanted).map((each) => each.host.host).join();
  const cases = [[0, undefined, ""], [4, undefined, "b,a,c,d"], [4, "d", "b,a,c,d"], [5, undefined, "a"], [5, "e", "e"], [5, "none", "a"]];
  for (const [count, wanted, want] of cases) assert.equal(names(count, wanted), want);
});

test("phases: hosts have started once each has printed a line", () => {
  assert.equal(haveStarted({ hosts: [] }), false);
  assert.equal(haveStarted({ hosts: [A, B] }), false);
  assert.equal(haveStarted({ hosts: [A, host("none", {})] }), false);
  assert.equal(haveStarted({ hosts: [A, A] }), true);
});

test("phases: bars span the start of the slowest host, or all of the time, and never nothing", () => {
  const hosts = hostsOf({ submitted_ms: 1000, hosts: [A, host("c", { launched: 2000, stored: 21_000 })] }, null);
  assert.deepEqual([lengthOf(hosts, false), lengthOf(hosts, true)], [8, 20]);
  assert.equal(lengthOf(hostsOf({ submitted_ms: 1000, hosts: [host("d", { stored: 1000 })] }, null), true), 0.001);
});

test("phases: an axis has few round labels", () => {
  const cases = [[0.9, ["0", "200 ms", "400 ms", "600 ms", "800 ms"]], [8, ["0", "2 s", "4 s", "6 s"]], [0.001, ["0"]],
                 [70, ["0", "15 s", "30 s", "45 s", "1 min"]], [7000, ["0", "30 min", "1 h", "1 h 30 min"]],
                 [9e9, ["0"]]];
  for (const [length, want] of cases) assert.deepEqual(ticksOf(length).map(shortTook), want, length);
});

test("phases: neighbours have different colours, and the widest ones are named in their order", () => {
  const [{ phases }] = hostsOf({ submitted_ms: 1000, hosts: [host("a", { launched: 2000, root: 3000, inputs: 3001, begun: 5000, code: 5100,
    packages: 9100, first_line: 9600 })] }, null);
  for (let i = 1; i < phases.length; ++i) assert.notEqual(colourOf(phases[i]), colourOf(phases[i - 1]));
  assert.deepEqual(keysOf([{ phases }], 8.5).map(({ phase, took }) => [phase.name, took]),
    [["queued", 1], ["root file system", 1], ["container", 1.999], ["pip", 4]]);
  assert.deepEqual(keysOf([], 1), []);
});
