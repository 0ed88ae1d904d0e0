// What a job's hosts use of their machines, over the job's life.

import { Empty, JobHead, Trouble, address, ask, call, html, useEffect, useLog, useState } from "../app/core.js";
import { Chart } from "./chart.js";
import { Zoom, zoomOf } from "./metrics.js";

const HOSTS = 8; // As many as have a colour.
const AGAIN_MS = 2000;
const MIB = 1 << 20;
const MEASURES = [
  ["processor", "Processors busy", 1],
  ["memory", "Memory, MiB", MIB],
  ["disk-read", "Read from disks, MiB/s", MIB],
  ["disk-written", "Written to disks, MiB/s", MIB],
  ["network-in", "Network in, MiB/s", MIB],
  ["network-out", "Network out, MiB/s", MIB],
];
const LIVES = ["InProgress", "Stopping"];

/** The job and its hosts, again and again while it runs: nothing tells that there are new figures. */
function useHosts(name) {
  const [state, set] = useState({});
  const [turn, setTurn] = useState(0);
  useLog(async (signal) => {
    try {
      const [told, description] = await Promise.all([
        call("hosts", { job: name }, signal), call("DescribeTrainingJob", { TrainingJobName: name }, signal)]);
      if (!signal.aborted) set({ hosts: told.hosts, description });
    } catch (error) {
      if (!signal.aborted) set((old) => ({ ...old, error }));
    }
  }, name, [name, turn], ["jobs"]);
  const lives = LIVES.includes(state.description?.TrainingJobStatus);
  useEffect(() => {
    if (!lives) return undefined;
    const timer = setInterval(() => document.hidden || setTurn((old) => old + 1), AGAIN_MS);
    return () => clearInterval(timer);
  }, [lives]);
  return state;
}

/** The buckets of the hosts in the order of `names`; none of a host that is not told. */
async function usageOf(job, measure, unit, skip, names, [from, to], buckets, signal) {
  const start = Math.floor(from);
  const told = await call("host-usage", { job, measure, skip, from: start, to: Math.max(Math.ceil(to), start + 1),
    buckets }, signal);
  const byHost = new Map(told.hosts.map((each) => [each.host, each.buckets]));
  return names.map((name) => ({ from: told.from, width: told.width, buckets: (byHost.get(name) || []).map(
    ([number, low, high, mean, count]) => [number, low / unit, high / unit, mean / unit, count]) }));
}

/** Which hosts are shown, where they are more than colours; what colour each has. */
function Shown({ names, skip, all }) {
  const to = (number) => ask({ skip: number || "" }, false);
  return html`<ul class="compared" aria-label="Hosts that are shown">
    ${names.map((each, i) => html`<li key=${each}><i class="key series-${i}"></i>${each}</li>`)}
    ${all > HOSTS && html`<li class="row"><span role="status">${skip + 1} to ${skip + names.length} of ${all} hosts</span>
      <button type="button" class="small" disabled=${skip === 0} onClick=${() => to(Math.max(skip - HOSTS, 0))}>Hosts before</button>
      <button type="button" class="small" disabled=${skip + HOSTS >= all} onClick=${() => to(skip + HOSTS)}>Hosts behind</button></li>`}</ul>`;
}

export function Hosts({ name, query }) {
  const { hosts, description, error } = useHosts(name);
  useEffect(() => void (document.title = `Hosts of ${name} · muster`), [name]);
  const first = hosts?.length ? Math.min(...hosts.map((each) => each.first)) : 0;
  const last = hosts?.length ? Math.max(...hosts.map((each) => each.last)) : 0;
  const { zooms, zoom, range } = zoomOf(query, [first, last + 1]);
  const wanted = Math.max(Math.floor(Number(query.skip) || 0), 0);
  const skip = hosts && wanted < hosts.length ? wanted : 0;
  const names = (hosts || []).slice(skip, skip + HOSTS).map((each) => each.host);
  return html`<${JobHead} name=${name} status=${description?.TrainingJobStatus} secondary=${description?.SecondaryStatus} />
    <${Trouble} error=${error} />
    ${hosts && hosts.length === 0 && html`<${Empty} title="No figures of its hosts">
      <p class="quiet">They come while hosts run on the server's own machine, a second after they have begun. Of a cluster's
        hosts there are none.</p><//>`}
    ${names.length > 0 && html`<${Shown} names=${names} skip=${skip} all=${hosts.length} />
      <div class="filters"><${Zoom} range=${range} whole=${!zooms} zoom=${zoom} />
        <span class="quiet">drag to look closer, double click to see all</span></div>
      <div class="charts">${MEASURES.map(([measure, title, unit]) => html`<${Chart} key=${measure} name=${title} job=${name}
        kinds=${["jobs"]} lines=${names} of=${hosts.length > 1 ? "Host" : null} range=${range} turn=${last} zoom=${zoom}
        read=${(range, buckets, signal) => usageOf(name, measure, unit, skip, names, range, buckets, signal)}
        files=${[{ text: "CSV", href: address("/ui/call/host-csv", { job: name, measure }) }]} />`)}</div>`}`;
}
