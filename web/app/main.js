// Starts the page: logs the browser in and shows the view that the address names.

import { Copy, Empty, Link, Trouble, go, html, place, render, signal, useSignal, useState } from "./core.js";
import { passOf, viewOf } from "./address.js";
import { call, mayLogIn, visit } from "./calls.js";
import { AGAIN_MS } from "./news.js";
import { zoneName, zoneText } from "./text.js";
import { Access, Machine } from "../machine/machine.js";
import { Jobs } from "../jobs/jobs.js";
import { Compare } from "../runs/compare.js";
import { Runs } from "../runs/runs.js";
import { Job } from "../job/job.js";
import { Metrics } from "../metrics/metrics.js";
import { Hosts } from "../metrics/hosts.js";
import { Log } from "../log/log.js";

const problem = signal("");

function Login({ trouble }) {
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
    <${Trouble} error=${error || (trouble ? { message: trouble } : null)} />
    <p>On the machine where you use <code>sm</code> with your key, run:</p>
    <div class="command"><code>sm ui</code><${Copy} text="sm ui" what="the command" /></div>
    <p class="quiet">It prints a login link that works once, within one minute.</p>
    ${may
      ? html`<form onSubmit=${submit}>
          <h2>Or log in with an access key</h2>
          <label>Access key<input name="id" autocomplete="username" required spellcheck="false" /></label>
          <label>Secret<input name="secret" type="password" autocomplete="current-password" required /></label>
          <button class="main">Log in</button>
        </form>`
      : html`<p class="quiet">You cannot log in with an access key here, because this connection is not encrypted.</p>`}
  </div></main>`;
}

const VIEWS = { jobs: Jobs, runs: Runs, compare: Compare, machine: Machine, access: Access, job: Job, metrics: Metrics, hosts: Hosts, log: Log };

function View({ path, query }) {
  const { view, name } = viewOf(path);
  if (!view)
    return html`<${Empty} title="Page not found">
      <${Link} to="/ui/jobs">All jobs<//><//>`;
  return html`<${VIEWS[view]} key=${`${view} ${name}`} name=${name} query=${query} />`;
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
      <${Link} to="/ui/runs" aria-current=${at("/ui/runs")}>Runs<//>
      <${Link} to="/ui/machine" aria-current=${at("/ui/machine")}>Machine<//>
      <${Link} to="/ui/access" aria-current=${at("/ui/access")}>Access<//>
    </nav>
    <span class="grow"></span>
    <span class="quiet zone" title=${`Times are in the browser's time zone, ${zoneName()}`}>${zoneText()}</span>
    <button type="button" class="small" onClick=${leave}>Log out</button>
  </header>`;
}

function App() {
  const { path, query } = useSignal(place);
  const who = useSignal(visit);
  const text = useSignal(problem);
  if (who === undefined) return html`<main class="center"><p class="quiet">Loading…</p></main>`;
  if (who === null) return html`<${Login} trouble=${text} />`;
  return html`<${Top} path=${path} /><main id="main" tabindex="-1">
    <${View} path=${path} query=${query} /></main>`;
}

/** A link of `sm ui` has its one-time pass behind the #, which browsers do not send to servers. */
async function begin() {
  const pass = passOf(location.hash);
  if (pass) {
    history.replaceState(null, "", location.pathname + location.search);
    try {
      await call("enter", { pass });
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

document.getElementById("failed").remove();
if (history.state?.again) history.replaceState(null, "");
render(html`<${App} />`, document.getElementById("app"));
begin();
addEventListener("hashchange", begin);
