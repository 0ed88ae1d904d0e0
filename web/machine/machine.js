// Who is in.

import { Trouble, When, call, html, useNews, useState, visit } from "../app/core.js";

export function Access() {
  const [turn, next] = useState(0);
  const { value, error } = useNews((signal) => call("visits", {}, signal), [], "", [turn]);
  const end = async (id, own) => {
    await call("end-visit", { id }).catch(() => {});
    if (own) visit.value = null;
    else next(turn + 1);
  };
  return html`<h1>Access</h1>
    <p class="quiet">Browsers that were let in with key <code>${visit.peek().key}</code>.</p>
    <${Trouble} error=${error} />
    <div class="scroll"><table>
      <thead><tr><th>Browser</th><th>Since</th><th>Until</th><th><span class="hidden">End</span></th></tr></thead>
      <tbody>${(value?.visits || []).map(
        (each) => html`<tr key=${each.id}>
          <td>${each.browser || "unknown"} ${each.own && html`<strong>(this one)</strong>`}</td>
          <td><${When} seconds=${each.since / 1000} /></td>
          <td><${When} seconds=${each.until / 1000} /></td>
          <td><button type="button" class="small" onClick=${() => end(each.id, each.own)}>
            ${each.own ? "Log out" : "End"}</button></td>
        </tr>`,
      )}</tbody>
    </table></div>`;
}
