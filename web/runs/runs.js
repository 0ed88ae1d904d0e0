// The table of runs: jobs with hyperparameters, tags and metrics as columns. The server filters, sorts and pages; the address
// holds the query, the columns and the selected runs.

import { Dialog, Empty, Link, Status, Trouble, When, ask, html, useData, useEffect, useState, useTurns } from "../app/core.js";
import { address, jobPath, listText } from "../app/address.js";
import { call } from "../app/calls.js";
import { span } from "../app/text.js";
import { Ages, Sort, TextFilter } from "../jobs/jobs.js";
import { STATUSES } from "../jobs/query.js";
import { COLUMNS_MAX, PARTS, PICKED_MAX, SIGNS, UNFILTERED, allTurned, cellText, columnTurned, columnsOf, filterTurned, filtersOf,
         hasValue, inputOf, isFull, isMetric, isNumeric, labelOf, nameOf, partOf, pickTurned, pickedOf, signsOf, spansOf } from "./query.js";

const AGAIN_MS = 15_000; // The server has no news of running jobs' values.
const OPTIONS_MAX = 200;

/** A metric's part is quiet next to its name. */
export const Label = ({ column }) => html`${nameOf(column)}${partOf(column) && html` <span class="quiet">${partOf(column)}</span>`}`;

/** A job of the server's response, as other views know it. */
export const RunStatus = ({ run }) => html`<${Status} job=${{ TrainingJobStatus: run.status, SecondaryStatus: run.secondary, MusterHang: run.hangs }} />`;

export const tookText = (seconds) => (seconds === null ? "–" : span(seconds));

// The choice of columns.

function Choice({ column, columns, text, label }) {
  const own = columns.includes(column);
  return html`<label class="choice"><input type="checkbox" checked=${own} aria-label=${label} disabled=${!own && columns.length >= COLUMNS_MAX}
    onChange=${() => ask(columnTurned(columns, column))} />${text}</label>`;
}

const jobsText = (count) => `${count} ${count === 1 ? "job" : "jobs"}`;

/** `known`: the first names of all. */
function Columns({ columns, known, close }) {
  const [text, setText] = useState("");
  const { value: found = known, error } = useData((signal) => call("run-columns", { contains: text }, signal), "", [text], []);
  const more = (list) => found.more.includes(list) && html`<p class="quiet">Only the most frequent names are shown. To find others, search.</p>`;
  const group = (title, kind, list) => html`<fieldset><legend>${title}</legend>
    ${found[list].length === 0 && html`<p class="quiet">None</p>`}
    ${found[list].map(([name, count]) => html`<div class="row" key=${name}><${Choice} column=${`${kind}:${name}`} columns=${columns} text=${name} />
      <span class="quiet">${jobsText(count)}</span></div>`)}${more(list)}</fieldset>`;
  return html`<${Dialog} title="Columns" close=${close}>
    <div class="filters"><label class="grow"><span class="hidden">Name contains</span><input type="search" placeholder="Name contains…"
        maxlength="256" spellcheck="false" value=${text} onInput=${(event) => setText(event.target.value)} /></label>
      <span class="quiet" role="status">${columns.length} of at most ${COLUMNS_MAX} columns</span>
      <button type="button" onClick=${() => ask({ columns: "" })}>Default columns</button></div>
    <${Trouble} error=${error} />
    <div class="columns">${group("Hyperparameters", "hp", "hyperparameters")}
      <fieldset><legend>Metrics</legend>
        ${found.metrics.length === 0 && html`<p class="quiet">None</p>`}
        ${found.metrics.map(([name, count]) => html`<div class="row" key=${name}><span class="name">${name}</span>
          ${Object.entries(PARTS).map(([kind, part]) => html`<${Choice} column=${`${kind}:${name}`} columns=${columns} text=${part}
            label=${`${name} (${part})`} />`)} <span class="quiet">${jobsText(count)}</span></div>`)}${more("metrics")}</fieldset>
      ${group("Tags", "tag", "tags")}</div><//>`;
}

// Filters.

/** Columns that a filter may have: those that are shown, then others. */
function candidatesOf(columns, known) {
  const others = [...known.hyperparameters.map(([name]) => `hp:${name}`),
                  ...known.metrics.flatMap(([name]) => Object.keys(PARTS).map((kind) => `${kind}:${name}`)),
                  ...known.tags.map(([name]) => `tag:${name}`)];
  return [columns, ["duration", ...others.filter((each) => !columns.includes(each))].slice(0, OPTIONS_MAX)];
}

/** The form for one more filter. */
function NewFilter({ query, columns, known }) {
  const [chosen, choose] = useState("");
  const [is, setIs] = useState("");
  const [value, setValue] = useState("");
  const [shown, others] = candidatesOf(columns, known);
  const column = [...shown, ...others].includes(chosen) ? chosen : shown[0] || others[0];
  const signs = signsOf(column);
  const sign = signs.includes(is) ? is : signs[0];
  const add = (event) => {
    event.preventDefault();
    ask(filterTurned(query, { column, is: sign, value }), false);
    setValue("");
  };
  const options = (all) => all.map((each) => html`<option value=${each}>${labelOf(each)}${each === "duration" && " (s)"}</option>`);
  return html`<form class="new-filter" onSubmit=${add}>
    <select aria-label="Column to filter by" value=${column} onChange=${(event) => choose(event.target.value)}>
      <optgroup label="Shown columns">${options(shown)}</optgroup><optgroup label="Other columns">${options(others)}</optgroup></select>
    <select aria-label="Comparison" value=${sign} onChange=${(event) => setIs(event.target.value)}>
      ${signs.map((each) => html`<option value=${each}>${SIGNS[each]}</option>`)}</select>
    ${hasValue(sign) && html`<input aria-label="Value" placeholder="Value" required maxlength="256" spellcheck="false" autocomplete="off"
      value=${value} onInput=${(event) => setValue(event.target.value)} />`}
    <button disabled=${isFull(query)}>Add filter</button></form>`;
}

function Filters({ query, columns, known, csv, open }) {
  const choice = (part, text, children) => html`<label><span class="hidden">${text}</span><select name=${part} value=${query[part] || ""}
    onChange=${(event) => ask({ [part]: event.target.value, after: "" }, false)}>${children}</select></label>`;
  return html`<div class="filters">
    ${choice("status", "Status", html`<option value="">Any status</option>${Object.entries(STATUSES).map(([each, word]) =>
      html`<option value=${each}>${word}</option>`)}`)}
    ${choice("age", "Created", html`<${Ages} />`)}
    <${TextFilter} query=${query} part="name" text="Name contains" short="Name" most="63" />
    <${NewFilter} query=${query} columns=${columns} known=${known} />
    <span class="grow"></span>
    <button type="button" onClick=${open}>Columns…</button>
    <a class="button" download href=${csv}>CSV</a></div>`;
}

/** How many runs there are; the filters, each with a button that removes it; the selected runs, on all pages. */
function Found({ query, told, columns }) {
  const picked = pickedOf(query);
  return html`<div class="filters found"><span class="quiet" role="status">${told && (told.matching === told.total
      ? `${told.total} runs` : `${told.matching} of ${told.total} runs`)}</span>
    ${filtersOf(query).map((each) => html`<button type="button" class="chip" onClick=${() => ask(filterTurned(query, each), false)}
      aria-label=${`Remove filter: ${labelOf(each.column)} ${SIGNS[each.is]} ${each.value ?? ""}`}>
      ${labelOf(each.column)} ${SIGNS[each.is]} ${each.value ?? ""} <span aria-hidden="true">✕</span></button>`)}
    <span class="grow"></span>
    ${picked.length === 0 ? html`<span class="quiet">To compare runs, select them.</span>` : html`
      <b role="status">${picked.length} selected${picked.length === PICKED_MAX ? " (the maximum)" : ""}</b>
      <button type="button" onClick=${() => ask({ runs: "" })}>Clear</button>
      ${columns && html`<${Link} class="button main" to=${address("/ui/runs/compare", { ...query, columns: listText(columns), after: "" })}>Compare<//>`}`}
  </div>`;
}

// The table.

function Head({ query, columns, numeric, runs, picked }) {
  const names = runs.map((each) => each.name);
  const isAll = names.every((each) => picked.includes(each));
  const groups = spansOf(columns);
  return html`<thead>
    ${groups.length > 0 && html`<tr class="groups"><td></td><td colspan="3"></td>${groups.map(([group, count]) =>
      html`<th colspan=${count} scope="colgroup">${group}</th>`)}</tr>`}
    <tr><${Sort} query=${query} by="name" scope="col" before=${html`<input type="checkbox" checked=${isAll} aria-label="Select all runs on this page"
        disabled=${!isAll && picked.length >= PICKED_MAX} onChange=${() => ask(allTurned(query, names))} />`}>Name<//>
      ${["status", "created", "duration"].map((each) => html`<${Sort} query=${query} by=${each} scope="col"
        class=${each === "duration" ? "figure" : ""}>${labelOf(each)}<//>`)}
      ${columns.map((each, i) => html`<${Sort} key=${each} query=${query} by=${each} scope="col" class=${numeric[i] ? "figure" : ""}>
        <${Label} column=${each} /><//>`)}</tr></thead>`;
}

function Row({ run, query, columns, numeric, picked }) {
  const own = picked.includes(run.name);
  return html`<tr class=${own ? "picked" : ""}><th scope="row"><div class="run"><input type="checkbox" checked=${own} aria-label=${`Select ${run.name}`}
      disabled=${!own && picked.length >= PICKED_MAX} onChange=${() => ask(pickTurned(query, run.name))} />
      <${Link} to=${jobPath(run.name)}>${run.name}<//></div></th>
    <td data-label="Status"><${RunStatus} run=${run} /></td>
    <td data-label="Created"><${When} seconds=${run.created} /></td>
    <td data-label="Training time" class="figure">${tookText(run.duration)}</td>
    ${columns.map((column, i) => html`<td key=${column} data-label=${labelOf(column)} class=${numeric[i] ? "figure" : ""}>${
      cellText(run.values[i])}</td>`)}</tr>`;
}

function Table({ told, query, columns }) {
  const { runs } = told;
  const numeric = columns.map((column, i) => isMetric(column) || isNumeric(runs.map((each) => each.values[i])));
  const picked = pickedOf(query);
  if (told.total === 0)
    return html`<${Empty} title="No jobs yet"><p class="quiet">Each job is a run, with its hyperparameters and metrics.</p><//>`;
  if (runs.length === 0)
    return html`<${Empty} title="No matching runs"><button type="button" onClick=${() => ask(UNFILTERED, false)}>Show all runs</button><//>`;
  return html`<div class="scroll" tabindex="0" role="region" aria-label="Runs"><table class="runs sorts stack">
      <${Head} query=${query} columns=${columns} numeric=${numeric} runs=${runs} picked=${picked} />
      <tbody>${runs.map((run) => html`<${Row} key=${run.name} run=${run} query=${query} columns=${columns} numeric=${numeric}
        picked=${picked} />`)}</tbody></table></div>
    <div class="row pages">
      ${query.after && html`<button type="button" onClick=${() => history.back()}>Previous page</button>`}
      <span class="grow"></span>
      ${told.next && html`<button type="button" onClick=${() => ask({ after: told.next }, false)}>Next page</button>`}</div>`;
}

/** The names that columns may have. */
const useNames = () => useData((signal) => call("run-columns", {}, signal), "", [], ["jobs"]);

export function Runs({ query }) {
  useEffect(() => void (document.title = "Runs · muster"), []);
  const { value: known, error: unknown } = useNames();
  const columns = columnsOf(query, known);
  const [opened, open] = useState(false);
  const [lives, setLives] = useState(false);
  const turn = useTurns(AGAIN_MS, lives);
  const input = () => inputOf(query, columns, Date.now() / 1000);
  const { value: told, error } = useData(async (signal) => {
    if (!columns) return undefined;
    const answer = await call("runs", input(), signal);
    setLives(answer.runs.some((each) => each.status === "InProgress"));
    return { ...answer, columns };
  }, "", [columns?.join(), query.filter, query.status, query.name, query.age, query.sort, query.order, query.after, turn], ["jobs"]);
  return html`<h1>Runs</h1>
    ${known && html`<${Filters} query=${query} columns=${columns} known=${known} open=${() => open(true)}
      csv=${address("/ui/call/runs-csv", { query: JSON.stringify(input()) })} />`}
    <${Found} query=${query} told=${told} columns=${columns} />
    <${Trouble} error=${unknown || error} />
    ${told && html`<${Table} told=${told} query=${query} columns=${told.columns} />`}
    ${opened && known && html`<${Columns} columns=${columns} known=${known} close=${() => open(false)} />`}`;
}
