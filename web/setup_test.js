// For the tests of web/: a time zone that does not depend on the machine, and timers that wait for nothing.
//
// Import this before the module under test: modules read the time zone when they are loaded.

process.env.TZ = "Europe/Berlin"; // Has summer time, so that a day may have 23 or 25 hours.

/** Seconds of a time in that zone, as "2026-01-31T14:03:07". */
export const at = (text) => new Date(text).getTime() / 1000;

/** Runs what is ready to run: promises that are settled, and what waits for these. */
export const settled = () => new Promise((done) => setImmediate(done));

/** Until the test `t` ends, timers are due only when advance(ms) says so, in the order of their times. */
export function fakeTimers(t) {
  const timers = new Map();
  let [now, last] = [0, 0];
  t.mock.method(globalThis, "setTimeout", (work, ms = 0) => {
    timers.set(++last, { work, due: now + ms });
    return last;
  });
  t.mock.method(globalThis, "clearTimeout", (id) => timers.delete(id));
  const advance = async (ms) => {
    const end = now + ms;
    await settled();
    for (;;) {
      const [next] = [...timers].filter(([, { due }]) => due <= end).sort(([, a], [, b]) => a.due - b.due);
      if (!next) break;
      const [id, { work, due }] = next;
      timers.delete(id);
      now = due;
      work();
      await settled();
    }
    now = end;
  };
  return { advance, count: () => timers.size };
}
