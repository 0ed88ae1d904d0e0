// Calls of the server, and who is logged in, as the calls' responses show.

import { signal as stateOf } from "../vendor/signals-core.mjs";

export const visit = stateOf(undefined); // Undefined: not known yet. Null: nobody is logged in.
export const mayLogIn = stateOf(false);

/** `status`: that of HTTP; 0: the server could not be reached, or its response is incomplete. */
export class Refused extends Error {
  constructor(status, text) {
    super(text);
    this.status = status;
  }
}

/** Throws `Refused`, or the reason of `signal` once that is aborted. */
export async function call(name, input = {}, signal = undefined) {
  let answer;
  try {
    answer = await fetch(`/ui/call/${name}`, {
      method: "POST",
      body: JSON.stringify(input),
      headers: { "Content-Type": "application/json" },
      signal,
    });
  } catch (error) {
    if (error.name === "AbortError") throw error;
    throw new Refused(0, "The server does not answer.");
  }
  const told = await answer.json().catch(() => {
    // A response that broke off midway, or that a view which has gone asked for, is not an empty one. A refusal
    // may come without JSON.
    if (signal?.aborted) throw signal.reason;
    if (answer.ok) throw new Refused(0, "The server's answer broke off.");
    return {};
  });
  if (answer.status === 401) {
    mayLogIn.value = told.login === true;
    visit.value = null;
  }
  if (!answer.ok) throw new Refused(answer.status, told.message || `HTTP ${answer.status}`);
  return told;
}
