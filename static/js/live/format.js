// Numbers, durations and times as the guide writes them.
const THIN = "\u202f"; // narrow no-break space before units
const minus = (text) => text.replace("-", "−");

/** A value in three digits or so: 1,204 · 38.2 k · 1.45 M · 0.0123; `whole`: one of values without fractions. */
export function number(value, whole = Number.isInteger(value)) {
  if (value === null || value === undefined) return "–";
  const size = Math.abs(value);
  if (size >= 1e9) return minus(`${Number((value / 1e9).toPrecision(3))}${THIN}G`);
  if (size >= 1e6) return minus(`${Number((value / 1e6).toPrecision(3))}${THIN}M`);
  if (size >= 1e4) return minus(`${Number((value / 1e3).toPrecision(3))}${THIN}k`);
  if (size >= 100 || whole || value === 0) return minus(Math.round(value).toLocaleString("en"));
  if (size >= 1) return minus(value.toPrecision(3));
  return minus(String(Number(value.toPrecision(3))));
}

/** All digits that matter, with thousands separated: 38,240. */
export const whole = (value) => minus(Math.round(value).toLocaleString("en"));

const isWhole = (value) => Math.abs(value - Math.round(value)) < 1e-6;

/** One format for all ticks of an axis, chosen by its greatest value and its step; uneven ticks have each their own. */
export function tickFormat(values, { even = true } = {}) {
  if (!even) return (value) => number(value);
  const top = Math.max(...values.map(Math.abs));
  const [unit, scale] = top >= 1e9 ? ["G", 1e9] : top >= 1e6 ? ["M", 1e6] : top >= 1e4 ? ["k", 1e3] : ["", 1];
  const step = values.length > 1 ? Math.abs(values[1] - values[0]) / scale : 1;
  const digits = [0, 1, 2, 3, 4, 5].find((count) => isWhole(step * 10 ** count)) ?? 6;
  const options = { minimumFractionDigits: digits, maximumFractionDigits: digits };
  return (value) => value === 0 ? "0" : minus((value / scale).toLocaleString("en", options)) + (unit && THIN + unit);
}

/** A delay or age: 1.4 s, 40 s, 2 min, 1 h 30 min; without `tenths`, 1 s. */
export function duration(milliseconds, { tenths = true } = {}) {
  const seconds = Math.max(0, milliseconds) / 1000;
  if (tenths && seconds < 10) return `${seconds.toFixed(1)}${THIN}s`;
  if (seconds < 60) return `${Math.floor(seconds)}${THIN}s`;
  const minutes = Math.floor(seconds / 60);
  if (minutes < 60) return `${minutes}${THIN}min`;
  const hours = Math.floor(minutes / 60);
  if (hours >= 48) return `${Math.floor(hours / 24)}${THIN}d`;
  return `${hours}${THIN}h` + (minutes % 60 ? ` ${minutes % 60}${THIN}min` : "");
}

const SPANS = [["day", 86_400_000], ["hour", 3_600_000], ["minute", 60_000], ["second", 1000]];

/** A span of time in one unit and words: 15 minutes, 6 hours, 30 days. */
export function spanWords(milliseconds) {
  const [name, size] = SPANS.find(([, least]) => milliseconds >= 2 * least) ?? SPANS.at(-1);
  const count = Math.round(milliseconds / size);
  return `${count} ${name}${count === 1 ? "" : "s"}`;
}

/** A window's length: 1 m, 5 m, 1 h, 1 h 30 m. */
export function windowLength(milliseconds) {
  const parts = [];
  let rest = milliseconds;
  for (const [unit, size] of [["d", 86_400_000], ["h", 3_600_000], ["m", 60_000], ["s", 1000], ["ms", 1]]) {
    const count = Math.floor(rest / size);
    rest -= count * size;
    if (count) parts.push(`${count}${THIN}${unit}`);
  }
  return parts.join(" ");
}

const two = (n) => String(n).padStart(2, "0");

/** 14:02, or 14:02:07, in the browser's zone; with the date when it is not today's. */
export function clock(milliseconds, { seconds = false } = {}) {
  const at = new Date(milliseconds);
  const time = `${two(at.getHours())}:${two(at.getMinutes())}` + (seconds ? `:${two(at.getSeconds())}` : "");
  if (at.toDateString() === new Date().toDateString()) return time;
  return `${at.getFullYear()}-${two(at.getMonth() + 1)}-${two(at.getDate())} ${time}`;
}

/** A share of 0.312 as 31 %; small ones keep a digit. The server writes them alike (plan_words.py). */
export const percent = (share) => `${minus((share * 100).toFixed(share && Math.abs(share) < 0.0995 ? 1 : 0))}${THIN}%`;

/** 18.4 MB */
export function bytes(count) {
  for (const [unit, size] of [["GB", 1e9], ["MB", 1e6], ["kB", 1e3]]) {
    if (count >= size) return `${Number((count / size).toPrecision(3))}${THIN}${unit}`;
  }
  return `${count}${THIN}B`;
}
