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

const ALONE = { "/ui/": "jobs", "/ui/jobs": "jobs", "/ui/machine": "machine", "/ui/access": "access" };
const OF_JOB = { "": "job", metrics: "metrics", hosts: "hosts", log: "log" };

/** The view that a path names, and its job. No `view`: unknown path. */
export function viewOf(path) {
  if (Object.hasOwn(ALONE, path)) return { view: ALONE[path] };
  const [, name, part = ""] = /^\/ui\/jobs\/([^/]+)(?:\/([^/]*))?$/.exec(path) || [];
  return name && Object.hasOwn(OF_JOB, part) ? { view: OF_JOB[part], name } : {};
}

/** The one-time pass in the fragment of a link from `sm ui`. Undefined: no pass. */
export const passOf = (hash) => /^#enter=([0-9a-f]+)$/.exec(hash)?.[1];
