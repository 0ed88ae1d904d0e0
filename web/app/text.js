// Human-readable dates, durations, sizes and numbers. Pure, except that they use the reader's time zone and language.

const dates = new Intl.DateTimeFormat(undefined, { dateStyle: "medium", timeStyle: "long" });
const padded = (number, size = 2) => String(number).padStart(size, "0");

/** 2026-01-31 */
export const dayText = (date) => `${date.getFullYear()}-${padded(date.getMonth() + 1)}-${padded(date.getDate())}`;

/** 14:03; the seconds are optional. */
export const timeText = (date, seconds = true) =>
  `${padded(date.getHours())}:${padded(date.getMinutes())}${seconds ? `:${padded(date.getSeconds())}` : ""}`;

/** 14:03:07.123 */
export function clock(millis) {
  const date = new Date(millis);
  return `${timeText(date)}.${padded(date.getMilliseconds(), 3)}`;
}

/** 14:03:07, with the day in front unless that is the day of `now`. */
export function shortDate(seconds, now = new Date()) {
  const date = new Date(seconds * 1000);
  return date.toDateString() === now.toDateString() ? timeText(date) : `${dayText(date)} ${timeText(date)}`;
}

/** A moment as text for programs, for a tooltip and for a table. Null: missing or invalid time. */
export function whenTexts(seconds, now = new Date()) {
  const date = new Date((seconds || NaN) * 1000);
  if (Number.isNaN(date.getTime())) return null;
  return { iso: date.toISOString(), full: dates.format(date), short: shortDate(seconds, now) };
}

/** UTC+01:00: the offset of the reader's time zone at `date`. */
export function zoneText(date = new Date()) {
  const minutes = -date.getTimezoneOffset();
  const [hours, rest] = [Math.floor(Math.abs(minutes) / 60), Math.abs(minutes) % 60];
  return `UTC${minutes < 0 ? "-" : "+"}${padded(hours)}:${padded(rest)}`;
}

/** Europe/Berlin, as the browser names it. */
export const zoneName = () => dates.resolvedOptions().timeZone;

/** Rounds before it picks the unit: 59.7 is a minute, not 60 s. */
export function span(seconds) {
  if (seconds < 9.95) return `${seconds.toFixed(1)} s`;
  const whole = Math.round(seconds);
  if (whole < 60) return `${whole} s`;
  const minutes = Math.floor(whole / 60);
  if (minutes < 60) return `${minutes} min ${whole % 60} s`;
  if (minutes < 1440) return `${Math.floor(minutes / 60)} h ${minutes % 60} min`;
  return `${Math.floor(minutes / 1440)} d ${Math.floor((minutes % 1440) / 60)} h`;
}

/** As span(), without a trailing zero part: for axis labels. */
export const shortSpan = (seconds) => (seconds === 0 ? "0" : span(seconds).replace(/\.0 s$/, " s").replace(/ 0 (s|min|h)$/, ""));

/** A period without activity; whole minutes if at least one. */
const pause = (seconds) => shortSpan(seconds < 60 ? Math.round(Math.max(seconds, 0)) : Math.floor(seconds / 60) * 60);

/** A job's status as shown: TrainingJobStatus, "Waiting" or "Hangs". */
export function kindOf(job) {
  if (job.TrainingJobStatus !== "InProgress") return job.TrainingJobStatus;
  if (job.MusterHang) return "Hangs";
  return job.SecondaryStatus === "Pending" ? "Waiting" : "InProgress";
}

/** How long a running job has shown no activity; empty if it is active. */
export function stillText(job, now) {
  if (job.MusterHang) return `no progress for ${pause(now - job.MusterHang.since)}`;
  return job.MusterSilentSince ? `silent for ${pause(now - job.MusterSilentSince)}` : "";
}

const SIZES = ["KB", "MB", "GB", "TB"];

export function sizeText(bytes) {
  if (bytes < 1000) return `${bytes} bytes`;
  let [value, step] = [bytes / 1000, 0];
  // 999.95 would otherwise be shown as 1000.0 of the smaller unit.
  for (; value >= 999.95 && step < SIZES.length - 1; ++step) value /= 1000;
  return `${value.toFixed(1)} ${SIZES[step]}`;
}

/** At most six significant digits. */
export function shortNumber(value) {
  if (value === null || value === undefined) return "–";
  const size = Math.abs(value);
  if (size !== 0 && (size >= 1e7 || size < 1e-4)) return value.toExponential(5).replace(/\.?0*e\+?/, "e");
  return String(Number(value.toPrecision(6)));
}
