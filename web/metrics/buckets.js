// The data of a chart: buckets of time as columns, and axis labels. Pure.

import { dayText, shortDate, shortSpan, timeText } from "../app/text.js";

const DAY = 86400;
/** Possible seconds between two labels of an axis with relative times. */
export const STEPS = [1, 2, 5, 10, 15, 30, 60, 120, 300, 600, 900, 1800, 3600, 7200, 14400, 21600, 43200,
                      ...[1, 2, 5, 10, 20, 50, 100, 200, 500].map((days) => days * DAY)];

/** A moment as text: a date or, if times are `relative`, the time since the start. */
export const momentText = (at, relative) => (relative ? shortSpan(at) : shortDate(at));

/** 14:03 for each tick, with the day on a second line if it changed since the last tick. `step`: seconds between ticks. */
export function timeMarks(ticks, step) {
  let last = "";
  return ticks.map((tick) => {
    const date = new Date(tick * 1000);
    const day = dayText(date);
    const time = timeText(date, step < 60);
    const text = step >= DAY ? day : day === last ? time : `${time}\n${day}`;
    last = day;
    return text;
  });
}

/** A range in whole seconds, for a request to the server; at least one second. */
export function wholeSeconds([from, to], begins = 0) {
  const start = Math.floor(from) + begins;
  return { from: start, to: Math.max(Math.ceil(to) + begins, start + 1) };
}

/**
 * The responses for the lines of a chart, each { from, width, buckets: [[number, least, most, mean, count], …] }, as
 * uPlot expects them: one column of times, then mean, minimum and maximum of each line. null: the line has no such bucket.
 */
export function columnsOf(answers) {
  const { from, width } = answers[0];
  const numbers = new Set();
  for (const each of answers) for (const bucket of each.buckets) numbers.add(bucket[0]);
  const order = [...numbers].sort((a, b) => a - b);
  const at = new Map(order.map((number, i) => [number, i]));
  const columns = [order.map((number) => from + number * width)];
  for (const each of answers) {
    const [mean, least, most] = [0, 0, 0].map(() => order.map(() => null));
    for (const [number, low, high, middle] of each.buckets) {
      const i = at.get(number);
      [mean[i], least[i], most[i]] = [middle, low, high];
    }
    columns.push(mean, least, most);
  }
  return columns;
}

/** The values of the lines at one of the columns' times: [{ mean, low, high }, …], null for a line without a value. */
export function valuesAt(columns, at) {
  if (!columns || at === null || columns[0][at] === undefined) return null;
  return Array.from({ length: (columns.length - 1) / 3 }, (_, i) => {
    const [mean, low, high] = [1, 2, 3].map((part) => columns[3 * i + part][at]);
    return mean === null ? null : { mean, low, high };
  });
}

/** The buckets of each of the `names`, in their order, in the measure's unit; empty for an unknown host. */
export function bucketsByHost(told, names, unit) {
  const byHost = new Map(told.hosts.map((each) => [each.host, each.buckets]));
  return names.map((name) => ({ from: told.from, width: told.width, buckets: (byHost.get(name) || []).map(
    ([number, low, high, mean, count]) => [number, low / unit, high / unit, mean / unit, count]) }));
}

/** The first of `count` hosts to show, from the address's `text`. Invalid text means 0. */
export function skipOf(text, count) {
  const wanted = Math.max(Math.floor(Number(text) || 0), 0);
  return wanted < count ? wanted : 0;
}
