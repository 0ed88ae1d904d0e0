// The rows of a log's window: scroll positions, texts and colours. Pure.

import { clock } from "../app/text.js";

// Scroll positions.

export const LINE = 20; // Pixels; style.css has it too.
const HEIGHT_MAX = 8_000_000; // Browsers allow an element about twice as tall.

/**
 * `count` rows, of which `rows` fit into the window. `range`: how many pixels the scroll bar can move. Beyond HEIGHT_MAX
 * pixels, rows no longer have positions of their own on the scroll bar: `scaled` is true. So are wrapped rows, which are
 * `tall` pixels on average.
 */
export function viewOf(count, rows, tall = 0) {
  const whole = count * (tall || LINE);
  const height = Math.min(whole, HEIGHT_MAX);
  const scaled = tall > 0 || whole > HEIGHT_MAX;
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

/**
 * Where wrapped rows are drawn. `heights`: of the drawn rows, the first of which has number `first`; `isLast`: no more rows
 * follow. `top`: the wanted top of the window, in rows. Returns by how many pixels to move the rows, and how many of them,
 * with fractions, the window of `tall` pixels shows.
 */
export function placedOf(heights, first, top, tall, isLast) {
  const rowAt = (list, pixels) => {
    let [row, left] = [0, pixels];
    for (; row < list.length && list[row] <= left; ++row) left -= list[row];
    return row < list.length ? row + left / list[row] : row;
  };
  const whole = heights.reduce((sum, each) => sum + each, 0);
  const row = Math.min(Math.max(Math.floor(top) - first, 0), heights.length);
  const above = heights.slice(0, row).reduce((sum, each) => sum + each, 0) + (heights[row] || 0) * (top - Math.floor(top));
  if (!isLast || whole - above > tall) return { shift: 0 - above, fit: rowAt(heights, above + tall) - rowAt(heights, above) };
  const shift = 0 - Math.max(whole - tall, 0);
  return { shift, fit: heights.length - rowAt(heights, 0 - shift) };
}

// Texts of a row.

const MARKS_MAX = 10;

/** [[0, 2], [5, 5]] as "0–2, 5". */
const ranges = (all, name) => all.map(([from, to]) => (from === to ? name(from) : `${name(from)}–${name(to)}`)).join(", ");

/** The ranks and hosts that wrote a folded row; `names`: those of the hosts. */
export function writersText([ranks, hosts], names) {
  const texts = [];
  if (ranks.length) texts.push(`ranks ${ranges(ranks, String)}`);
  if (hosts.length) texts.push(ranges(hosts, (each) => names[each]));
  return texts.join(", ");
}

/** Who wrote a row, in columns: host, rank, stream. Columns that are the same in all rows are left out. */
function whoOf(host, rank, stream, hosts) {
  const texts = hosts.length > 1 ? [hosts[host].padEnd(Math.max(...hosts.map((each) => each.length)))] : [];
  if (rank >= 0) texts.push(`rank ${rank}`.padEnd(7), stream === "stderr" ? "err" : "   ");
  return texts.join(" ");
}

/**
 * The texts of a row: when and who; the line without what `who` repeats. `cut`: the server sent only the beginning of
 * the line. `more`: how many more of NCCL's lines the row combines. The server puts "HOST muster: " in front of muster's own lines,
 * and in front of no others.
 */
export function rowTexts([, host, time, line, bytes, level, rank, stream, writers, lines = 1], hosts) {
  const own = `${hosts[host]} muster: `;
  const isOwn = !writers && line.startsWith(own);
  const who = writers ? writersText(writers, hosts) : whoOf(host, rank, stream, hosts);
  return { time: clock(time), who, text: isOwn && hosts.length > 1 ? line.slice(own.length - "muster: ".length) : line, level, bytes,
           more: lines - 1, cut: bytes > new TextEncoder().encode(line).length };
}

/**
 * A line in pieces, as [text, is a match]. Matches of a regular expression are not marked, as browsers have no RE2.
 * `search.any`: ignore case.
 */
export function marked(text, search) {
  if (!search.q || search.re) return [[text, false]];
  const [where, what] = search.any ? [text.toLowerCase(), search.q.toLowerCase()] : [text, search.q];
  // In some languages lower case has more letters, so positions in it would be wrong.
  if (where.length !== text.length) return [[text, false]];
  const parts = [];
  let from = 0;
  for (let at = where.indexOf(what); at >= 0 && parts.length < 2 * MARKS_MAX; at = where.indexOf(what, from)) {
    parts.push([text.slice(from, at), false], [text.slice(at, at + what.length), true]);
    from = at + what.length;
  }
  parts.push([text.slice(from), false]);
  return parts.filter(([part]) => part !== "");
}

// Colours of programs: ECMA-48's SGR sequences, mapped to classes of the style sheet.

// eslint-disable-next-line no-control-regex
const SEQUENCE = /\x1b\[([0-9;]{0,64})m/g;
// Control characters except tabs, and characters that change the direction of text (UAX #9), as sm shows them on a terminal.
// eslint-disable-next-line no-control-regex
const HIDDEN = /[\0-\x08\x0a-\x1f\x7f]|[\x80-\x9f\u2028\u2029\u202a-\u202e\u2066-\u2069]/g;
const HUES = ["", "red", "green", "yellow", "blue", "magenta", "cyan", ""];
const PLAIN = { colour: "", ground: "", bold: false, faint: false, italic: false, underlined: false, inverse: false };
const ON = { 1: "bold", 2: "faint", 3: "italic", 4: "underlined", 21: "underlined", 7: "inverse" };
const OFF = { 22: ["bold", "faint"], 23: ["italic"], 24: ["underlined"], 27: ["inverse"], 39: ["colour"], 49: ["ground"] };

const shown = (c) => (c < "\x80" ? `\\x${c.charCodeAt(0).toString(16).padStart(2, "0")}` : `\\u${c.charCodeAt(0).toString(16).padStart(4, "0")}`);

/** The name of the page's colour nearest to red, green, blue, from 0 to 255. */
function hueOf(red, green, blue) {
  const [most, least] = [Math.max(red, green, blue), Math.min(red, green, blue)];
  if (most - least < 40 || most === 0) return most < 192 && most > 64 ? "grey" : "";
  const sixth = most === red ? ((green - blue) / (most - least) + 6) % 6
    : most === green ? (blue - red) / (most - least) + 2 : (red - green) / (most - least) + 4;
  return ["red", "yellow", "green", "cyan", "blue", "magenta"][Math.round(sixth) % 6];
}

const LEVELS = [0, 95, 135, 175, 215, 255];

/** Colour `number` of 256: the 16 basic ones, a cube of 6 × 6 × 6, and greys. */
function indexed(number) {
  if (number < 16) return number === 8 ? "grey" : HUES[number % 8];
  if (number >= 232) return hueOf(...[0, 0, 0].fill(8 + 10 * (number - 232)));
  const cube = number - 16;
  return hueOf(LEVELS[Math.floor(cube / 36)], LEVELS[Math.floor(cube / 6) % 6], LEVELS[cube % 6]);
}

/** Applies one parameter to `look`, or "38;5;N" and "38;2;R;G;B" as one; returns how many parameters that took. */
function apply(look, codes, at) {
  const code = codes[at];
  if (code === 38 || code === 48) {
    const part = code === 38 ? "colour" : "ground";
    const count = { 5: 1, 2: 3 }[codes[at + 1]];
    const values = codes.slice(at + 2, at + 2 + (count || 0));
    if (!count || values.length < count || values.some((each) => each > 255)) return codes.length - at;
    look[part] = count === 1 ? indexed(values[0]) : hueOf(...values);
    return count + 2;
  }
  if (code === 0) Object.assign(look, PLAIN);
  else if (ON[code]) look[ON[code]] = true;
  else if (OFF[code]) for (const part of OFF[code]) look[part] = PLAIN[part];
  else if ((code >= 30 && code <= 37) || (code >= 90 && code <= 97)) look.colour = code === 90 ? "grey" : HUES[code % 10];
  else if ((code >= 40 && code <= 47) || (code >= 100 && code <= 107)) look.ground = code === 100 ? "grey" : HUES[code % 10] || "grey";
  return 1;
}

/** The classes of a look, separated by spaces. Empty: as other text. */
function classesOf({ colour, ground, bold, faint, italic, underlined, inverse }) {
  const back = inverse ? colour || ground || "text" : ground;
  const front = back ? "" : colour || (faint && "grey"); // On any ground, only plain text is readable.
  return [front && `ink-${front}`, back && `ground-${back}`, bold && "bold", italic && "italic", underlined && "underlined"]
    .filter(Boolean).join(" ");
}

/** A line in pieces, as [text, classes]: SGR sequences become classes, other control characters visible text. */
export function painted(line) {
  const parts = [];
  const look = { ...PLAIN };
  let from = 0;
  const add = (to) => {
    if (to > from) parts.push([line.slice(from, to).replace(HIDDEN, shown), classesOf(look)]);
  };
  for (const found of line.matchAll(SEQUENCE)) {
    add(found.index);
    from = found.index + found[0].length;
    const codes = found[1].split(";").map(Number);
    for (let at = 0; at < codes.length;) at += apply(look, codes, at);
  }
  add(line.length);
  return parts;
}

/** A line in pieces, as [text, classes, is a match]: painted() and marked() at once. */
export function piecesOf(line, search) {
  const paints = painted(line);
  const marks = marked(paints.map(([text]) => text).join(""), search);
  const pieces = [];
  let [paint, mark, inPaint, inMark] = [0, 0, 0, 0];
  while (paint < paints.length && mark < marks.length) {
    const [[text, classes], [part, is]] = [paints[paint], marks[mark]];
    const length = Math.min(text.length - inPaint, part.length - inMark);
    pieces.push([text.slice(inPaint, inPaint + length), classes, is]);
    if ((inPaint += length) === text.length) [paint, inPaint] = [paint + 1, 0];
    if ((inMark += length) === part.length) [mark, inMark] = [mark + 1, 0];
  }
  return pieces;
}
