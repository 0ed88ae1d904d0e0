import assert from "node:assert/strict";
import test from "node:test";
import { Refused, call, mayLogIn, visit } from "./calls.js";

/** Makes fetch() return `answer(url, options)`. */
const served = (t, answer) => t.mock.method(globalThis, "fetch", async (url, options) => answer(url, options));
const json = (value, status = 200) => new Response(JSON.stringify(value), { status });
const broken = (status = 200) => new Response(new ReadableStream({ pull: (body) => body.error(new Error("reset")) }), { status });

test("calls: a call posts JSON and returns the response's JSON", async (t) => {
  const fetched = served(t, () => json({ jobs: [1] }));
  const { signal } = new AbortController();
  assert.deepEqual(await call("counts", { a: 1 }, signal), { jobs: [1] });
  const [url, options] = fetched.mock.calls[0].arguments;
  assert.equal(url, "/ui/call/counts");
  assert.deepEqual(options, { method: "POST", body: '{"a":1}', headers: { "Content-Type": "application/json" }, signal });
});

test("calls: a call without input posts an empty object", async (t) => {
  const fetched = served(t, () => json({}));
  await call("counts");
  assert.equal(fetched.mock.calls[0].arguments[1].body, "{}");
});

test("calls: a refusal has its status and the server's message, if any", async (t) => {
  const cases = [
    [json({ message: "no such job" }, 400), 400, "no such job"], [json({}, 403), 403, "HTTP 403"],
    [new Response("<h1>bad gateway</h1>", { status: 502 }), 502, "HTTP 502"], [broken(500), 500, "HTTP 500"],
    [new Response("", { status: 503 }), 503, "HTTP 503"],
  ];
  for (const [answer, status, message] of cases) {
    served(t, () => answer);
    await assert.rejects(call("log"), (error) => error instanceof Refused && error.status === status && error.message === message);
    t.mock.restoreAll();
  }
});

test("calls: a server that cannot be reached has status 0", async (t) => {
  served(t, () => { throw new TypeError("fetch failed"); });
  await assert.rejects(call("log"), { status: 0, message: "The server is not responding." });
});

test("calls: an incomplete response is an error", async (t) => {
  for (const answer of [broken(), new Response('{"jobs": [1'), new Response("")]) {
    served(t, () => answer);
    await assert.rejects(call("metrics"), { status: 0, message: "The response from the server was incomplete." });
    t.mock.restoreAll();
  }
});

test("calls: an aborted call throws its signal's reason", async (t) => {
  // A closed view once treated such a response as empty, and drew its charts twice.
  const reason = new Error("the view was left");
  served(t, () => broken());
  await assert.rejects(call("metrics", {}, AbortSignal.abort(reason)), reason);
  t.mock.restoreAll();
  served(t, () => { throw new DOMException("aborted", "AbortError"); });
  await assert.rejects(call("metrics", {}, AbortSignal.abort()), { name: "AbortError" });
});

test("calls: status 401 ends the visit and says whether login by key is allowed", async (t) => {
  for (const [told, may] of [[{ login: true }, true], [{ login: false }, false], [{}, false], [{ login: "yes" }, false]]) {
    [visit.value, mayLogIn.value] = [{ key: "AK1" }, !may];
    served(t, () => json(told, 401));
    await assert.rejects(call("visit"), { status: 401 });
    assert.deepEqual([visit.value, mayLogIn.value], [null, may]);
    t.mock.restoreAll();
  }
});

test("calls: other refusals leave the visit as it is", async (t) => {
  visit.value = { key: "AK1" };
  served(t, () => json({ login: true }, 403));
  await assert.rejects(call("keys"), { status: 403 });
  assert.deepEqual(visit.value, { key: "AK1" });
});
