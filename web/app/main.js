// Begins the page: lets the browser in, and shows the view that the address names.

import { AGAIN_MS, Copy, Empty, Link, Trouble, call, go, html, mayLogIn, place, render, signal, useSignal, useState,
         visit } from "./core.js";
import { Access, Machine } from "../machine/machine.js";
import { Jobs } from "../jobs/jobs.js";
import { Job } from "../job/job.js";
import { Metrics } from "../metrics/metrics.js";
import { Hosts } from "../metrics/hosts.js";
import { Log } from "../log/log.js";

const problem = signal("");

function Login({ problem }) {
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

function View({ path, query }) {
  if (path === "/ui/" || path === "/ui/jobs") return html`<${Jobs} query=${query} />`;
  if (path === "/ui/machine") return html`<${Machine} />`;
  if (path === "/ui/access") return html`<${Access} />`;
  const [, , , name, view] = path.split("/");
  if (!view) return html`<${Job} key=${name} name=${name} query=${query} />`;
  if (view === "metrics") return html`<${Metrics} key=${name} name=${name} query=${query} />`;
  if (view === "hosts") return html`<${Hosts} key=${name} name=${name} query=${query} />`;
  if (view === "log") return html`<${Log} key=${name} name=${name} query=${query} />`;
  return html`<${Empty} title="There is no such page">
    <${Link} to="/ui/jobs">All jobs<//><//>`;
}

function Top({ path }) {
  const at = (start) => (path.startsWith(start) ? "page" : null);
  const leave = async () => {
    await call("leave").catch(() => {});
    visit.value = null;
  };
  return html`<header class="top">
    <a class="skip" href="#main" onClick=${(event) => {
      event.preventDefault();
      document.getElementById("main").focus();
    }}>Skip to content</a>
    <${Link} to="/ui/jobs" class="brand">muster<//>
    <nav aria-label="Main">
      <${Link} to="/ui/jobs" aria-current=${path === "/ui/" ? "page" : at("/ui/jobs")}>Jobs<//>
      <${Link} to="/ui/machine" aria-current=${at("/ui/machine")}>Machine<//>
      <${Link} to="/ui/access" aria-current=${at("/ui/access")}>Access<//>
    </nav>
    <span class="grow"></span>
    <button type="button" class="small" onClick=${leave}>Log out</button>
  </header>`;
}

function App() {
  const { path, query } = useSignal(place);
  const who = useSignal(visit);
  const text = useSignal(problem);
  if (who === undefined) return html`<main class="center"><p class="quiet">Loading …</p></main>`;
  if (who === null) return html`<${Login} problem=${text} />`;
  return html`<${Top} path=${path} /><main id="main" tabindex="-1">
    <${View} path=${path} query=${query} /></main>`;
}

/** A link of `sm ui` brings its pass behind the #, which goes to no server and no log. */
async function begin() {
  const pass = /^#enter=([0-9a-f]+)$/.exec(location.hash);
  if (pass) {
    history.replaceState(null, "", location.pathname + location.search);
    try {
      await call("enter", { pass: pass[1] });
    } catch (error) {
      problem.value = error.message;
    }
  }
  try {
    visit.value = await call("visit");
  } catch (error) {
    if (error.status !== 401) problem.value = error.message;
    visit.value = null;
    if (error.status === 0) setTimeout(() => {
      problem.value = "";
      begin();
    }, AGAIN_MS);
  }
  if (visit.value && location.pathname === "/ui/") go("/ui/jobs", {}, true);
}

render(html`<${App} />`, document.getElementById("app"));
begin();
addEventListener("hashchange", begin);
