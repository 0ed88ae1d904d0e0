// The table of jobs: the request to the server, and the texts of its rows. Pure: callers pass `now`, in seconds.

import { span, stillText } from "../app/text.js";

export const STATUSES = { InProgress: "Active", Completed: "Completed", Failed: "Failed", Stopped: "Stopped",
                          Stopping: "Stopping" };
const AGES = { "1h": 3600, "1d": 86400, "7d": 604800, "30d": 2592000 };
const SORTS = { name: "Name", status: "Status", created: "CreationTime" };
const PAGE = 50;

/** The table's own entry that the query names. Undefined: no such entry. */
const chosen = (table, name) => (Object.hasOwn(table, name) ? table[name] : undefined);

/** Midnight, in the reader's time zone, `behind` days after `date` (e.g. 2026-01-31). Undefined: not a date. */
export function dayOf(date, behind) {
  const day = new Date(`${date}T00:00`);
  day.setDate(day.getDate() + behind);
  return Number.isNaN(day.getTime()) ? undefined : day.getTime() / 1000;
}

/** The earliest time of jobs of an age, e.g. "7d". Undefined: any time. */
export function createdAfter(age, now) {
  const seconds = chosen(AGES, age);
  return seconds && Math.floor(now) - seconds;
}

/** The input of ListTrainingJobs for the address's query. Invalid parts of the query are left out. */
export function inputOf(query, now) {
  const input = {
    MaxResults: PAGE,
    SortBy: chosen(SORTS, query.sort) || "CreationTime",
    SortOrder: query.order === "up" ? "Ascending" : "Descending",
  };
  if (query.name) input.NameContains = query.name;
  if (chosen(STATUSES, query.status)) input.StatusEquals = query.status;
  const after = createdAfter(query.age, now);
  if (after) input.CreationTimeAfter = after;
  if (query.age === "dates") {
    // The server excludes both ends, but a job created at midnight belongs to the range.
    input.CreationTimeAfter = dayOf(query.from, 0) - 0.001 || undefined;
    input.CreationTimeBefore = dayOf(query.to, 1);
  }
  if (query.type) input.MusterInstanceType = query.type;
  const [, key, value] = /^([^=]+)(?:=(.*))?$/.exec(query.tag || "") || [];
  if (key) input.MusterTag = { Key: key, Value: value };
  if (query.after) input.NextToken = query.after;
  return input;
}

/** How the query changes when the user clicks the heading of column `key`. A second click reverses the order. */
export function turned(query, key) {
  const own = (query.sort || "created") === key;
  return { sort: key, order: own && query.order !== "up" ? "up" : "", after: "" };
}

export function nowText(job, now) {
  if (job.MusterQueuePlace) return `${job.MusterQueuePlace} of ${job.MusterQueueLength} in the queue`;
  const does = job.TrainingJobStatus === "InProgress" ? job.SecondaryStatus : "";
  return [does, stillText(job, now)].filter(Boolean).join(", ");
}

export function tookText(job, now) {
  const end = job.TrainingEndTime || (job.TrainingJobStatus === "InProgress" ? now : 0);
  return end ? span(Math.max(end - job.CreationTime, 0)) : "–";
}
