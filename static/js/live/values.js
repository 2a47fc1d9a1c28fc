// Values of a panel as it writes them: unit, decimals, and the colour of a threshold.
import { number } from "./format.js";

const THIN = "\u202f";
const minus = (text) => text.replace("-", "−");
const JOINS_PREFIX = /^(B|b|W|Wh|Hz|m|g|V|A)(\/|$)/; // kB, MW: units that take a prefix without a space

/** Percents of a share (0 to 1) and percents as they are: both are written with a percent sign. */
const PERCENTS = { "%": 100, "% (0–100)": 1 };

/** What is written after values in a unit, and how many times a value that is. */
export const writtenIn = (unit) => (unit in PERCENTS ? { sign: "%", times: PERCENTS[unit] } : { sign: unit, times: 1 });

/** How a panel writes its values: `figure` without the unit, `unit` with its prefix, `text` with both. */
export function valueFormat({ unit: chosen = "", decimals = null } = {}) {
  const { sign: unit, times } = writtenIn(chosen);
  const digits = { minimumFractionDigits: decimals ?? 0, maximumFractionDigits: decimals ?? 0 };
  const split = (raw, whole) => {
    const value = raw * times;
    const written = decimals === null || Math.abs(value) >= 1e4 ? number(value, whole) : minus(value.toLocaleString("en", digits));
    const [figure, prefix = ""] = written.split(THIN);
    return [figure, prefix];
  };
  const figure = (value, whole) => (value === null || value === undefined ? "–" : split(value, whole)[0]);
  const unitOf = (value, whole) => {
    if (value === null || value === undefined) return unit;
    const prefix = split(value, whole)[1];
    return prefix && unit && !JOINS_PREFIX.test(unit) ? `${prefix}${THIN}${unit}` : prefix + unit;
  };
  const text = (value, whole) => [figure(value, whole), value === null || value === undefined ? "" : unitOf(value, whole)].filter(Boolean).join(THIN);
  return { unit, figure, unitOf, text };
}

/** By axis, how values on it are written. */
export const axisFormats = ({ right_unit: unit, right_decimals: decimals, ...left }) => ({ y: valueFormat(left), right: valueFormat({ unit, decimals }) });

/** The threshold that a value has reached, or null. */
export function stepOf(value, thresholds) {
  if (value === null || value === undefined) return null;
  return thresholds.findLast(({ value: start }) => start === null || value >= start) ?? null;
}

const RANK = { ok: 0, warn: 1, bad: 2 };

/** Which way is good by the thresholds: 1 up, −1 down, 0 where they do not tell. */
export function goodWay(thresholds) {
  if (!thresholds.length) return 0;
  const ranks = [thresholds[0].value === null ? null : "ok", ...thresholds.map(({ colour }) => colour)].filter(Boolean).map((colour) => RANK[colour]);
  return Math.sign(ranks[0] - ranks.at(-1));
}

/** The final points of a series, oldest first. */
export const finals = ({ points }) => [...points.values()].filter(([, value, final]) => final && value !== null);

/** The newest final point of a series, or the newest provisional one while there is none. */
export function newest(series) {
  const known = [...series.points.values()].filter(([, value]) => value !== null);
  return known.findLast(([, , final]) => final) ?? known.at(-1) ?? null;
}
