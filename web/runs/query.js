// The table of runs and their comparison: what the address says, requests to the server, columns and cells. Pure.

import { inList, jobsIn, listOf, listText } from "../app/address.js";
import { shortNumber } from "../app/text.js";
import { STATUSES, createdAfter } from "../jobs/query.js";
import { skipOf } from "../metrics/series.js";

export const PICKED_MAX = 50;
export const COLUMNS_MAX = 50;
export const DRAWN_MAX = 12; // As many as have a colour.
const FILTERS_MAX = 8; // Of the server, with those for name, status and age.
const PAGE = 50;
const DEFAULTS = 4; // Hyperparameters, and metrics.

/** The groups of columns that the user chooses, and what a column shows of the group's names. */
export const GROUPS = { hp: "Hyperparameters", tag: "Tags", last: "Metrics", least: "Metrics", most: "Metrics" };
export const PARTS = { last: "last", least: "min", most: "max" };
const FIXED = { name: "Name", status: "Status", created: "Created", duration: "Training time" };

/** { kind, name } of a column, e.g. "least:loss". Undefined: no such column. */
function splitColumn(column) {
  const [, kind, name] = /^([a-z]+):(.+)$/s.exec(column) || [];
  return Object.hasOwn(GROUPS, kind) ? { kind, name } : undefined;
}

export const groupOf = (column) => GROUPS[splitColumn(column)?.kind];
export const isMetric = (column) => groupOf(column) === GROUPS.last;
export const nameOf = (column) => splitColumn(column)?.name;
/** "last", "min" or "max" of a metric, else empty. */
export const partOf = (column) => PARTS[splitColumn(column)?.kind] || "";

/** loss (min) */
export function labelOf(column) {
  if (Object.hasOwn(FIXED, column)) return FIXED[column];
  return partOf(column) ? `${nameOf(column)} (${partOf(column)})` : nameOf(column);
}

/** Columns by group, in the order of GROUPS. */
const grouped = (columns) => [...new Set(Object.values(GROUPS))].flatMap((group) => columns.filter((each) => groupOf(each) === group));

/** Each group of the columns, and how many columns it has. */
export function spansOf(columns) {
  const counts = new Map();
  for (const each of columns) counts.set(groupOf(each), (counts.get(groupOf(each)) || 0) + 1);
  return [...counts];
}

/** The most frequent hyperparameters, and the last values of the most frequent metrics. `known`: run-columns' response. */
function defaultColumns(known) {
  const first = (kind, names) => names.slice(0, DEFAULTS).map(([name]) => `${kind}:${name}`);
  return [...first("hp", known.hyperparameters.filter(([name]) => !name.startsWith("sagemaker_"))),
          ...first("last", known.metrics.filter(([name]) => name !== "step"))];
}

/** The address's columns, or the default ones once they are known. Null: not known yet. "none": none. */
export function columnsOf(query, known) {
  if (!query.columns) return known ? defaultColumns(known) : null;
  return grouped(listOf(query.columns).filter(splitColumn)).slice(0, COLUMNS_MAX);
}

/** How the address changes when `column` is added to the `columns`, or removed. */
export const columnTurned = (columns, column) => ({ columns: listText(grouped(inList(columns, column, COLUMNS_MAX))) || "none" });

// Filters.

export const SIGNS = { "=": "=", "!=": "≠", "<": "<", "<=": "≤", ">": ">", ">=": "≥", contains: "contains", exists: "is set",
                       missing: "is not set" };
/** Whether a filter of this kind has a value. */
export const hasValue = (is) => is !== "exists" && is !== "missing";

const isFilter = ({ column, is, value }) => (splitColumn(column) || column === "duration") && Object.hasOwn(SIGNS, is) &&
  (!hasValue(is) || value) && !(column === "duration" && ["=", "!=", "contains"].includes(is)) && !(isMetric(column) && is === "contains");

/** The signs that a filter of the column may have. */
export const signsOf = (column) => Object.keys(SIGNS).filter((is) => isFilter({ column, is, value: "1" }));

/** The address's filters: [{ column, is, value }, …]. Invalid ones are left out. */
export const filtersOf = (query) => (query.filter || "").split(",").map((text) => {
  const [column, is, value] = listOf(text, ";");
  return { column, is, ...(hasValue(is) && { value }) };
}).filter(isFilter).slice(0, FILTERS_MAX);

const filterText = ({ column, is, value }) => listText([column, is, ...(hasValue(is) ? [value] : [])], ";");

/** How the address changes when the filter is added, or removed if it is there. */
export function filterTurned(query, filter) {
  const texts = filtersOf(query).map(filterText);
  return { filter: inList(texts, filterText(filter), FILTERS_MAX).join(), after: "" };
}

/** All filters of the request: the address's, and those of its other parts. */
function allFilters(query, now) {
  const all = filtersOf(query);
  if (Object.hasOwn(STATUSES, query.status || "")) all.push({ column: "status", is: "=", value: query.status });
  if (query.name) all.push({ column: "name", is: "contains", value: query.name });
  const after = createdAfter(query.age, now);
  if (after) all.push({ column: "created", is: ">=", value: after });
  return all;
}

export const isFull = (query) => allFilters(query, 0).length >= FILTERS_MAX;
export const UNFILTERED = { filter: "", status: "", name: "", age: "", after: "" };

/** The input of "runs" for the address's query. `now`: in seconds. */
export function inputOf(query, columns, now) {
  const sort = Object.hasOwn(FIXED, query.sort || "") || splitColumn(query.sort) ? query.sort : "created";
  return { columns, filters: allFilters(query, now).slice(0, FILTERS_MAX), sort, descending: query.order !== "up", limit: PAGE,
           after: query.after || undefined };
}

// Cells.

const NUMBER = /^[+-]?(\d+\.?\d*|\.\d+)(e[+-]?\d+)?$/i;
const isNumber = (value) => typeof value === "number" || NUMBER.test(value);

/** Whether a column holds numbers alone: all `values` that there are. */
export function isNumeric(values) {
  const known = values.filter((each) => each !== null);
  return known.length > 0 && known.every(isNumber);
}

/** A number as it was written, or a metric's; a missing value is "–". */
export const cellText = (value) => (value === null ? "–" : typeof value === "number" ? shortNumber(value) : value);

// Selected runs.

/** The selected runs of the address, without duplicates. */
export const pickedOf = (query) => jobsIn(query.runs).slice(0, PICKED_MAX);

/** How the address changes when `name` is selected, or no longer. */
export const pickTurned = (query, name) => ({ runs: inList(pickedOf(query), name, PICKED_MAX).join() });

/** As pickTurned() for all `names`: selects them, or if all are selected, none. */
export function allTurned(query, names) {
  const picked = pickedOf(query);
  const isAll = names.every((each) => picked.includes(each));
  const others = picked.filter((each) => !names.includes(each));
  return { runs: (isAll ? others : [...picked, ...names.filter((each) => !picked.includes(each))]).slice(0, PICKED_MAX).join() };
}

// The comparison. `told`: compare-runs' response.

/** Every metric, and in how many runs it has a value: [[name, count], …]. */
export const metricsIn = (told) => told.rows.filter((row) => row.column.startsWith("last:")).map((row) =>
  [nameOf(row.column), row.values.filter((each) => each !== null).length]);

/** The metric to draw: the address's, else the first of its columns, else one that most runs have. */
export function metricOf(query, told) {
  const known = metricsIn(told);
  const usual = known.filter(([name]) => name !== "step");
  const shown = listOf(query.columns).filter(isMetric).map(nameOf);
  const wanted = [query.metric, ...shown].find((name) => known.some(([each]) => each === name));
  const most = Math.max(...usual.map(([, count]) => count));
  return wanted ?? (usual.find(([, count]) => count === most) || known[0])?.[0];
}

/** The runs to draw: { names, all, skip }; `all` of the runs have the metric. `skip`: how many of these come before. */
export function drawnOf(told, metric, text) {
  const values = told.rows.find((row) => row.column === `last:${metric}`)?.values || [];
  const all = told.runs.filter((_, i) => (values[i] ?? null) !== null).map((each) => each.name);
  const skip = skipOf(text, all.length);
  return { names: all.slice(skip, skip + DRAWN_MAX), all: all.length, skip };
}

/** "12 of 30 selected runs are drawn". */
export function drawnText(drawn, told, metric) {
  const runs = (count) => `${count} selected ${count === 1 ? "run" : "runs"}`;
  const without = told.runs.length - drawn.all;
  return `${drawn.names.length} of ${runs(told.runs.length)} ${drawn.names.length === 1 ? "is" : "are"} drawn` +
    (without ? ` (${without} without ${metric})` : "");
}

/**
 * The rows of the comparison as columns: `differing` hyperparameters and tags, then `metrics` (the drawn one, and those of
 * the address); and the rows that are the `same` in all runs.
 */
export function comparedOf(told, metric, query) {
  const rows = new Map(told.rows.map((row) => [row.column, row]));
  const given = told.rows.filter((row) => !isMetric(row.column));
  const wanted = [...Object.keys(PARTS).map((kind) => `${kind}:${metric}`), ...listOf(query.columns).filter(isMetric)];
  return {
    differing: given.filter((row) => row.differs),
    metrics: [...new Set(wanted)].map((column) => rows.get(column)).filter(Boolean),
    same: given.filter((row) => !row.differs),
  };
}
