// Resources of a machine, and of jobs, as text. Pure.

import { sizeText } from "../app/text.js";

const NAMES = { cpu: "CPUs", memory: "Memory", gpu: "GPUs", hosts: "Hosts" };
const ORDER = Object.keys(NAMES);
const nameOf = (name) => (Object.hasOwn(NAMES, name) ? NAMES[name] : `Hosts of type ${name}`);

/** The server counts CPUs in thousandths, and memory in bytes. */
export function amount(name, value) {
  if (name === "cpu") return String(Math.round(value / 10) / 100);
  return name === "memory" ? sizeText(value) : String(value);
}

/** The resources that are reserved for a job; none of those without a limit. */
export const needsText = (needs) => Object.entries(needs).filter(([, value]) => value > 0)
  .map(([name, value]) => `${nameOf(name)}: ${amount(name, value)}`).join(", ");

/** What a job uses of a resource, and what is reserved for it, which is its limit. */
export function useText(name, used, reserved) {
  const limit = reserved > 0 ? amount(name, reserved) : "";
  if (used === undefined) return limit ? `${limit} reserved` : "–";
  return amount(name, used) + (limit && ` of ${limit}`);
}

/** The bytes that a job's volumes take on the machine's disk; undefined: it has none, so nothing counts what it stores. */
export const diskText = (bytes) => (bytes === undefined ? "not measured" : sizeText(bytes));

const sumOf = (runs, name) => runs.reduce((sum, each) => sum + (each.used?.[name] || 0), 0);

/**
 * Rows of the capacity table: { name, used, reserved, free, total, share }. Of CPUs and memory, jobs use what was measured, and
 * what is reserved for them is not free either, nor is memory that other programs use. All else is used while it is reserved.
 * Limits of resources that the machine does not have, and resources without a limit, have no row. `share`: the fraction that is
 * not free, 0 to 1.
 */
export function capacityOf({ resources, runs, machine = {}, available = {}, disk }) {
  const held = new Map(resources.map((each) => [each.name, each]));
  for (const name of Object.keys(machine)) if (!held.has(name)) held.set(name, { name, held: 0 });
  const place = (name) => (ORDER.includes(name) ? ORDER.indexOf(name) : ORDER.length);
  const row = (name, text, used, reserved, free, total) => ({
    name, used: text(used), reserved: reserved > 0 ? text(reserved) : "", free: text(free), total: text(total),
    share: total ? (total - free) / total : 0 });
  const rows = [...held.values()].sort((a, b) => place(a.name) - place(b.name)).flatMap((each) => {
    const { name } = each;
    const total = each.of ?? machine[name];
    if (!total) return [];
    const isMeasured = Object.hasOwn(machine, name);
    const used = isMeasured ? sumOf(runs, name) : each.held;
    const free = Math.max(Math.min(total - Math.max(used, each.held), available[name] ?? total), 0);
    return [row(nameOf(name), (value) => amount(name, value), used, isMeasured ? each.held : 0, free, total)];
  });
  const volumes = runs.filter((each) => each.disk !== undefined);
  const onDisk = runs.length && !volumes.length ? undefined : volumes.reduce((sum, each) => sum + each.disk, 0);
  return disk ? [...rows, row("Disk (data folder)", diskText, onDisk, 0, disk.free, disk.total)] : rows;
}

/** What the driver reports now of the cards in DescribeTrainingJobUsage's response, host by host. */
export const statesOf = (usage) => (usage?.hosts || []).flatMap(({ host, usage: { gpus } }) => gpus.map((each) => ({ host, ...each })));

/** The GPUs that jobs use, by number: { number, job, host, percent, bytes, state }; `states`: those of statesOf(). */
export const cardsOf = (runs, states = []) => runs.flatMap(({ job, used }) => (used?.gpus || []).map(([number, host, percent, bytes]) =>
  ({ number, job, host, percent, bytes, state: states.find((each) => each.number === number && each.host === host) || {} })))
  .sort((a, b) => a.number - b.number);

/** The cells of a card's memory and of its state: power, temperature, clocks, reasons for a slow clock, traffic in and out. */
export const CARD_COLUMNS = ["Memory", "Power", "Temperature", "Clock", "Memory clock", "Throttled", "PCIe in/out", "NVLink in/out"];
const unit = (value, name) => (value === undefined ? "–" : `${value} ${name}`);
const flow = (value) => (value === undefined ? "–" : `${sizeText(value)}/s`);
const flows = (inward, outward) => (inward === undefined && outward === undefined ? "–" : `${flow(inward)} / ${flow(outward)}`);
export const cardCells = (bytes, { memory_total: total, watts, celsius, sm_mhz: clock, memory_mhz: memoryClock, throttled,
                                   pcie_in, pcie_out, nvlink_in, nvlink_out }) => [
  total ? `${sizeText(bytes)} of ${sizeText(total)}` : sizeText(bytes), unit(watts, "W"), unit(celsius, "°C"), unit(clock, "MHz"),
  unit(memoryClock, "MHz"), throttled ? throttled.join(", ") || "no" : "–", flows(pcie_in, pcie_out), flows(nvlink_in, nvlink_out)];
