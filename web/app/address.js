// The page's addresses. Path and query together are the state of a view. Pure.

/** Leaves out empty parts of the query. */
export function address(path, query = {}) {
  const kept = Object.entries(query).filter(([, value]) => value !== "" && value !== undefined && value !== null);
  const text = new URLSearchParams(kept).toString();
  return text ? `${path}?${text}` : path;
}

/** The reverse of address(), for a `Location` or a `URL`. */
export const placeOf = ({ pathname, search }) => ({ path: pathname, query: Object.fromEntries(new URLSearchParams(search)) });

export const jobPath = (name, view) => `/ui/jobs/${name}${view ? `/${view}` : ""}`;

// Lists in a part of the query.

const SPECIAL = /[%,;]/g;

export const listText = (list, mark = ",") => list.map((each) => each.replace(SPECIAL, encodeURIComponent)).join(mark);

/** The reverse of listText(). Empty entries are left out. */
export const listOf = (text, mark = ",") => (text || "").split(mark).filter(Boolean)
  .map((each) => each.replace(/%(25|2C|3B)/g, decodeURIComponent));

/** The list without the item, or with it as the last one, if it has less than `most` entries. */
export const inList = (list, item, most) => (list.includes(item) ? list.filter((each) => each !== item) : [...list, item].slice(0, most));

/** The names of jobs in a list, without duplicates. */
export const jobsIn = (text) => [...new Set((text || "").split(",").filter((each) => /^[a-zA-Z0-9-]{1,63}$/.test(each)))];

const ALONE = { "/ui/": "jobs", "/ui/jobs": "jobs", "/ui/runs": "runs", "/ui/runs/compare": "compare", "/ui/machine": "machine", "/ui/access": "access" };
const OF_JOB = { "": "job", metrics: "metrics", hosts: "hosts", log: "log" };

/** The view that a path names, and its job. No `view`: unknown path. */
export function viewOf(path) {
  if (Object.hasOwn(ALONE, path)) return { view: ALONE[path] };
  const [, name, part = ""] = /^\/ui\/jobs\/([^/]+)(?:\/([^/]*))?$/.exec(path) || [];
  return name && Object.hasOwn(OF_JOB, part) ? { view: OF_JOB[part], name } : {};
}

/** The one-time pass in the fragment of a link from `sm ui`. Undefined: no pass. */
export const passOf = (hash) => /^#enter=([0-9a-f]+)$/.exec(hash)?.[1];
