// Maps between rows of a log and positions of the scroll bar. Pure.

export const LINE = 20; // Pixels; style.css has it too.
const HEIGHT_MAX = 8_000_000; // Browsers allow an element about twice as tall.

/**
 * `count` rows, of which `rows` fit into the window. `range`: how many pixels the scroll bar can move. Beyond HEIGHT_MAX
 * pixels, rows no longer have positions of their own on the scroll bar: `scaled` is true.
 */
export function viewOf(count, rows) {
  const height = Math.min(count * LINE, HEIGHT_MAX);
  const scaled = count * LINE > HEIGHT_MAX;
  const lastTop = Math.max(count - rows, 0);
  return {
    height, scaled, lastTop,
    bounded: (top) => Math.min(Math.max(top, 0), lastTop),
    /** The position of the scroll bar when `top` is the first row in the window. */
    barOf: (top, range) => (scaled ? (lastTop ? (top / lastTop) * range : 0) : top * LINE),
    /** The reverse. */
    topOf: (bar, range) => (scaled ? (range ? (bar / range) * lastTop : 0) : bar / LINE),
  };
}

/** How many rows a key scrolls down; undefined: the key does not scroll. Page keys keep two rows visible. */
export function stepOf(key, count, rows) {
  const page = Math.max(rows - 2, 1);
  const steps = { ArrowUp: -1, ArrowDown: 1, PageUp: -page, PageDown: page, Home: -count, End: count };
  return Object.hasOwn(steps, key) ? steps[key] : undefined;
}

/** The numbers of the rows in the window; one more than fits, since the first may be partly visible. */
export function seenOf(top, rows, count) {
  const first = Math.floor(top);
  return Array.from({ length: Math.max(Math.min(rows + 1, count - first), 0) }, (_, i) => first + i);
}
