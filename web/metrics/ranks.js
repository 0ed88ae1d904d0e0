// A metric by rank and time: the sums that the server returns piece by piece, and the heat map drawn from them. Pure.

export const COLUMNS = 128;
export const RANKS_MAX = 512;
const PALEST = 0.1;
/** With at least this many values, the largest 1% get the full colour, so that one outlier does not make all others pale. */
const MANY_VALUES = 51;

/** Seconds per column: a power of two, so that columns need not change until the job has run twice as long. */
export function columnWidth(from, to) {
  let width = 1;
  while ((to - from) / width > COLUMNS) width *= 2;
  return width;
}

export const columnCount = (from, to, width) => Math.min(Math.ceil((to - from) / width), COLUMNS);

/** Adds a response's rows to those known so far: { sums, counts } by rank and host. Ranks beyond RANKS_MAX are left out. */
export function addRows(rows, told) {
  for (const { rank, host, cells } of told) {
    const key = `${rank} ${host}`;
    if (!rows.has(key) && rows.size >= RANKS_MAX) continue;
    if (!rows.has(key)) rows.set(key, { rank, host, sums: new Float64Array(COLUMNS), counts: new Float64Array(COLUMNS) });
    const row = rows.get(key);
    for (const [number, sum, count] of cells) {
      row.sums[number] += sum;
      row.counts[number] += count;
    }
  }
}

/** The rows sorted by rank, with the mean of each cell (null: no value), and the values of the palest and the full colour. */
export function mapOf(rows) {
  const order = new Intl.Collator(undefined, { numeric: true });
  const sorted = [...rows.values()].sort((a, b) => a.rank - b.rank || order.compare(a.host, b.host))
    .map((row) => ({ ...row, means: Array.from(row.sums, (sum, i) => (row.counts[i] ? sum / row.counts[i] : null)) }));
  const values = sorted.flatMap((row) => row.means.filter((each) => each !== null)).sort((a, b) => a - b);
  const high = values[Math.floor((values.length - 1) * (values.length >= MANY_VALUES ? 0.99 : 1))];
  return { rows: sorted, low: values[0], high };
}

/** How strong a cell's colour is, from PALEST to 1. */
export function strengthOf(value, { low, high }) {
  const part = high > low ? Math.min((value - low) / (high - low), 1) : 0.5;
  return PALEST + (1 - PALEST) * part;
}

/** Lines of no rank have rank -1. */
export const rankName = (row) => (row.rank < 0 ? row.host : `rank ${row.rank}, ${row.host}`);

/** A row of the table: mean of all values; minimum and maximum of the cells' means; the first column with the maximum. */
export function figuresOf(row) {
  const means = row.means.filter((each) => each !== null);
  const [least, most] = [Math.min(...means), Math.max(...means)];
  const [sum, count] = [row.sums, row.counts].map((all) => all.reduce((a, b) => a + b, 0));
  return { mean: sum / count, least, most, column: row.means.indexOf(most), count };
}

/** The cell that a key moves to; undefined: not a key that moves. `at`: [column, row], null before the first key. */
export function cellAfter(key, at, columns, rows) {
  const steps = { ArrowLeft: [-1, 0], ArrowRight: [1, 0], ArrowUp: [0, -1], ArrowDown: [0, 1], Home: [-columns, 0], End: [columns, 0] };
  if (!Object.hasOwn(steps, key)) return undefined;
  return at ? inside(at[0] + steps[key][0], at[1] + steps[key][1], columns, rows) : [0, 0];
}

export const inside = (x, y, columns, rows) => [Math.min(Math.max(x, 0), columns - 1), Math.min(Math.max(y, 0), rows - 1)];
