// News from the server, and how often views act on them.

/** Pause before a retry when the server did not respond. */
export const AGAIN_MS = 2000;
/** How often a log view is updated: lines can arrive many times a second. */
const NEWS_MS = 1000;
const CLOSED = 2; // EventSource.CLOSED, which only browsers define.
const KINDS = ["jobs", "log"];

/**
 * One stream of events for all listeners, since browsers limit the connections to one server. The stream of a job
 * includes news of all jobs. A hidden page has no stream.
 *
 * `open(job)` returns an EventSource. tune() calls `isHidden()`; call tune() when its result changes.
 */
export function newsOf({ open, isHidden }) {
  const listeners = new Set();
  let source = null;
  let streamed = null; // The job of the stream; "": no job.
  let again = null;

  const wanted = () => {
    if (isHidden() || listeners.size === 0) return null;
    return [...listeners].map((each) => each.job).find(Boolean) || "";
  };
  const hand = (kind, data) => {
    // A copy, because listeners may be added or removed during the calls.
    for (const each of Array.from(listeners)) if (each.kinds.includes(kind)) each.tell(kind, data);
  };
  function tune() {
    const job = wanted();
    if (job === streamed && (source === null || source.readyState !== CLOSED)) return;
    source?.close();
    clearTimeout(again);
    source = null;
    streamed = job;
    if (job === null) return;
    source = open(job);
    for (const kind of KINDS) source.addEventListener(kind, (event) => hand(kind, event.data));
    // Browsers reconnect a stream that ended, but not one that the server refused.
    source.addEventListener("error", () => {
      if (source?.readyState === CLOSED) again = setTimeout(tune, AGAIN_MS);
    });
  }
  /** Calls `tell(kind, data)` on news of these kinds ("jobs", and of `job`: "log"). Returns the function that ends it. */
  function listen(kinds, job, tell) {
    const own = { kinds, job, tell };
    if (kinds.length) listeners.add(own);
    queueMicrotask(tune);
    return () => {
      listeners.delete(own);
      queueMicrotask(tune);
    };
  }
  return { listen, tune };
}

/**
 * Runs `work(signal)` one at a time and passes its value or error to `done`. Any number of run() calls during a run
 * cause one more run. end() aborts the signal; after it, `done` is not called.
 */
export function inTurn(work, done) {
  const ended = new AbortController();
  let busy = false;
  let again = false;
  const run = async () => {
    again = true;
    if (busy) return;
    busy = true;
    while (again && !ended.signal.aborted) {
      again = false;
      try {
        const value = await work(ended.signal);
        if (!ended.signal.aborted) done({ value });
      } catch (error) {
        if (!ended.signal.aborted) done({ error });
      }
    }
    busy = false;
  };
  return { run, end: () => ended.abort() };
}

/** Runs `work(signal)` at once by run(), and after due() within `pause`: never twice in that time, never two at a time. */
export function paced(work, pause = NEWS_MS) {
  const ended = new AbortController();
  let timer = null;
  let busy = false;
  const run = async () => {
    busy = true;
    try {
      await work(ended.signal);
    } finally {
      busy = false;
    }
  };
  const due = () => {
    if (timer !== null || ended.signal.aborted) return;
    timer = setTimeout(() => {
      timer = null;
      if (busy) due();
      else run();
    }, pause);
  };
  const end = () => {
    ended.abort();
    clearTimeout(timer);
  };
  return { run, due, end };
}
