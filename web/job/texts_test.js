import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import test from "node:test";
import { againTexts, causeOf, hostsText, indented, isArchive, python, requestOf, slurmFacts } from "./texts.js";

const WORDS = ["a", "a b", "it's", "''", "'", '"', "$HOME", "`id`", "a;b", "a\nb", "\\", "*", "~", "-n", "ü→", "<b>", "!x", "a=b", "#", "\t"];

test("texts: a request holds what CreateTrainingJob accepts of a description, and no more", () => {
  const job = { TrainingJobName: "a", HyperParameters: {}, EnableNetworkIsolation: false, TrainingJobStatus: "Failed",
                TrainingJobArn: "arn", MusterCause: {}, CreationTime: 1, VpcConfig: undefined };
  assert.deepEqual(requestOf(job), { TrainingJobName: "a", HyperParameters: {}, EnableNetworkIsolation: false });
});

test("texts: Python reads its text as the JSON that it was", () => {
  const json = { truths: [true, false, null], words: ["true", "null", "a true story", '"true"', '\\"null', "it's"],
                 true: { false: null }, numbers: [0, -1.5, 1e30], text: WORDS.join(""), empty: [{}, [], ""] };
  const read = "import ast, json, sys; print(json.dumps(ast.literal_eval(sys.stdin.read())))";
  const told = execFileSync("python3", ["-c", read], { input: python(json), encoding: "utf8" });
  assert.deepEqual(JSON.parse(told), json);
});

test("texts: a job that runs again has the next name", () => {
  const long = "x".repeat(63);
  const cases = [["a", "a-again-1"], ["a-again-1", "a-again-1"], ["a-again-17", "a-again-1"], ["a-again-", "a-again--again-1"],
                 ["again-1", "again-1-again-1"], [long, `${"x".repeat(50)}-again-1`]];
  for (const [name, want] of cases)
    assert.ok(againTexts({ TrainingJobName: name }).aws.includes(`"TrainingJobName": "${want}"`), name);
});

test("texts: a job runs again by three programs", () => {
  const job = { TrainingJobName: "a", HyperParameters: { text: "END\nEND" }, EnableNetworkIsolation: true };
  const request = { ...job, TrainingJobName: "a-again-1" };
  const texts = againTexts(job);
  assert.deepEqual(Object.keys(texts), ["sm rerun", "aws", "boto3"]);
  assert.equal(texts["sm rerun"], "sm rerun a");
  assert.ok(texts.aws.endsWith("aws sagemaker create-training-job --cli-input-json file://job.json"));
  assert.match(texts.boto3, /create_training_job\(\*\*\{[^]*"EnableNetworkIsolation": True\n\}\)\n$/);
  const [, json] = /^cat > job\.json <<'END'\n([^]*?)\nEND\n/.exec(texts.aws);
  assert.deepEqual(JSON.parse(json), request); // No line of a value ends the shell's document early.
  assert.equal(job.TrainingJobName, "a");
  assert.equal(indented({ a: 1 }), '{\n  "a": 1\n}');
});

test("texts: a job that has not failed has no cause", () => {
  for (const job of [{}, { FailureReason: "" }, { MusterCause: { host: "algo-1" } }]) assert.equal(causeOf(job), null);
});

test("texts: a cause says what failed, when, where, and which ranks ended because of it", () => {
  const plain = { reason: "AlgorithmError: x", lines: "", seconds: 0, place: "", victims: "", advice: "" };
  const cases = [
    [undefined, {}],
    [{ host: "algo-2", doing: "running" }, { place: "algo-2 was running." }],
    [{ host: "algo-2", time_ms: 0, doing: "running" }, { place: "algo-2 was running." }],
    [{ host: "algo-2", time_ms: 5000, after_ms: 1234 }, { seconds: 5, place: "1.23 s after algo-2 started." }],
    [{ host: "algo-2", time_ms: 5000, after_ms: 1234, doing: "running" },
     { seconds: 5, place: "1.23 s after algo-2 started, while running." }],
    [{ victims: 1, within_ms: 20 }, { victims: "1 other rank ended because of it, within 0.02 s." }],
    [{ victims: 5, within_ms: 2000 }, { victims: "5 other ranks ended because of it, within 2.00 s." }],
    [{ victims: 0, within_ms: 0 }, {}],
    [{ advice: "free the port" }, { advice: "free the port" }],
    [{ last_lines: "a\nb" }, { lines: "a\nb" }],
  ];
  for (const [MusterCause, want] of cases)
    assert.deepEqual(causeOf({ FailureReason: "AlgorithmError: x", MusterCause }), { ...plain, ...want });
});

test("texts: lines below the reason stand in for the last lines", () => {
  const cause = causeOf({ FailureReason: "first\nsecond\n\nthird" });
  assert.deepEqual([cause.reason, cause.lines], ["first", "second\n\nthird"]);
  assert.equal(causeOf({ FailureReason: "first\nsecond", MusterCause: { last_lines: "other" } }).lines, "other");
});

test("texts: hosts are one group, or several by name", () => {
  assert.equal(hostsText({ InstanceCount: 2, InstanceType: "ml.c5.xlarge" }), "2 × ml.c5.xlarge");
  assert.equal(hostsText({ InstanceCount: 1, InstanceType: "local", InstanceGroups: [] }), "1 × local");
  assert.equal(hostsText({ InstanceGroups: [{ InstanceGroupName: "a", InstanceCount: 1, InstanceType: "x" },
                                            { InstanceGroupName: "b", InstanceCount: 2, InstanceType: "y" }] }), "a: 1 × x, b: 2 × y");
});

test("texts: an archive is known by its name", () => {
  for (const name of ["model.tar.gz", "a.tar", "a.tgz", "x/y.tar.gz"]) assert.equal(isArchive(name), true, name);
  for (const name of ["", "tar", "a.tar.gz.part", "a.zip", "a.gz", "atar", "a.tar\n"]) assert.equal(isArchive(name), false, name);
});

test("texts: a job on a Slurm cluster shows engine, id, full name, nodes or reason, and the commands for it", () => {
  for (const none of [undefined, {}, { JobId: "" }]) assert.deepEqual(slurmFacts(none), []);
  const job = { JobId: "17", Name: "muster-train-0123456789abcdef", Nodes: "", Reason: "Resources" };
  const facts = (changes) => Object.fromEntries(slurmFacts({ ...job, ...changes }));
  assert.deepEqual(facts(), { Engine: "Slurm", "Slurm job": "17", "Name in Slurm": "muster-train-0123456789abcdef", Nodes: "",
    "Waiting for": "Resources", "In a terminal": "squeue -j 17, scancel 17", "Earlier attempts": "" });
  const runs = facts({ Nodes: "node[1-2]", EarlierJobIds: ["15", "16"] });
  assert.deepEqual([runs.Nodes, runs["Waiting for"], runs["Earlier attempts"]], ["node[1-2]", "", "15, 16"]);
});
