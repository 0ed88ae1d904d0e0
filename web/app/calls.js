// Calls to the server. Their responses also show who is logged in.

import { signal as stateOf } from "../vendor/signals-core.mjs";

export const visit = stateOf(undefined); // Undefined: not known yet. Null: not logged in.
export const mayLogIn = stateOf(false);

/** `status`: the HTTP status; 0: the server could not be reached, or its response was incomplete. */
export class Refused extends Error {
  constructor(status, text) {
    super(text);
    this.status = status;
  }
}

/** Throws `Refused`, or the signal's reason if the call was aborted. */
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
    throw new Refused(0, "The server is not responding.");
  }
  const told = await answer.json().catch(() => {
    // Do not treat an incomplete or aborted response as an empty one. A refusal may have no JSON body.
    if (signal?.aborted) throw signal.reason;
    if (answer.ok) throw new Refused(0, "The response from the server was incomplete.");
    return {};
  });
  if (answer.status === 401) {
    mayLogIn.value = told.login === true;
    visit.value = null;
  }
  if (!answer.ok) throw new Refused(answer.status, told.message || `HTTP ${answer.status}`);
  return told;
}
