// Getting in, and who is in.

import { call, html, mayLogIn, useNews, useSignal, useState, visit } from "../app/core.js";
import { Copy, Trouble, When } from "../app/parts.js";

export function Login({ problem }) {
  const may = useSignal(mayLogIn);
  const [error, set] = useState(null);
  const submit = async (event) => {
    event.preventDefault();
    const form = new FormData(event.target);
    try {
      await call("login", { id: form.get("id").trim(), secret: form.get("secret").trim() });
      visit.value = await call("visit");
    } catch (refused) {
      set(refused);
    }
  };
  return html`<main class="center"><div class="card login">
    <h1>muster</h1>
    <${Trouble} error=${error || (problem ? { message: problem } : null)} />
    <p>Where you use <code>sm</code>, with your key, run</p>
    <div class="command"><code>sm ui</code><${Copy} text="sm ui" what="the command" /></div>
    <p class="quiet">It prints a link that opens this page once, within a minute.</p>
    ${may
      ? html`<form onSubmit=${submit}>
          <h2>Or log in with an access key</h2>
          <label>Access key<input name="id" autocomplete="username" required spellcheck="false" /></label>
          <label>Secret<input name="secret" type="password" autocomplete="current-password" required /></label>
          <button class="main">Log in</button>
        </form>`
      : html`<p class="quiet">Access keys are not taken here: others could listen on this way.</p>`}
  </div></main>`;
}

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
