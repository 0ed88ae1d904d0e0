// Resources of a machine, and of jobs, as text. Pure.

import { sizeText } from "../app/text.js";

const NAMES = { cpu: "CPUs", memory: "Memory", gpu: "GPUs", hosts: "Hosts" };
const nameOf = (name) => (Object.hasOwn(NAMES, name) ? NAMES[name] : name);

/** The server counts CPUs in thousandths, and memory in bytes. */
export function amount(name, value) {
  if (name === "cpu") return String(value / 1000);
  return name === "memory" ? sizeText(value) : String(value);
}

export const needsText = (needs) =>
  Object.entries(needs).map(([name, value]) => `${nameOf(name)}: ${amount(name, value)}`).join(", ");

/** Rows of the capacity table. `share`: the fraction in use, 0 to 1; null: no limit. `disk` may be undefined. */
export function capacityOf(resources, disk) {
  const share = (part, whole) => (whole ? Math.min(part / whole, 1) : null);
  const rows = resources.map(({ name, held, of }) => ({
    name: nameOf(name), held: amount(name, held), of: of === undefined ? "no limit" : amount(name, of), share: share(held, of) }));
  if (!disk) return rows;
  const used = disk.total - disk.free;
  return [...rows, { name: "Disk (data folder)", held: sizeText(used), of: sizeText(disk.total), share: share(used, disk.total) }];
}
