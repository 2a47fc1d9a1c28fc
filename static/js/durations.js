// Durations as people write them, and durations and clock times as the pages do.
const UNITS = [["d", 86_400_000], ["h", 3_600_000], ["m", 60_000], ["s", 1_000], ["ms", 1]];
const STEPS = [1, 2, 5, 10, 15, 30, 60, 120, 300, 600, 900, 1_800, 3_600, 7_200, 21_600, 43_200, 86_400, 604_800];

const NAMES = {
  w: "w|wk|wks|week|weeks", d: "d|day|days", h: "h|hr|hrs|hour|hours", m: "m|min|mins|minute|minutes", s: "s|sec|secs|second|seconds",
  ms: "ms|msec|msecs|millisecond|milliseconds", M: "month|months",
};
const UNIT_OF = new Map(Object.entries(NAMES).flatMap(([unit, names]) => names.split("|").map((name) => [name, unit])));
const PARTS = /(\d{1,15}(?:\.\d{1,15})?)\s*([a-z]+)(?:\s+and\s+|\s*)/gi;
const MS = new Map([["w", 604_800_000], ...UNITS]);

/** Numbers and units of a duration such as "1h30m" or "5 minutes"; null where it is none. M is a month. */
export function durationParts(text) {
  const found = [...text.matchAll(PARTS)];
  if (!found.length || found.map(([part]) => part).join("") !== text) return null;
  const parts = found.map(([, count, unit]) => [Number(count), unit === "M" ? "M" : UNIT_OF.get(unit.toLowerCase())]);
  const alone = parts.length === 1 || parts.every(([, unit]) => unit !== "M"); // "1h30M" would be a slip
  return alone && parts.every(([, unit]) => unit) ? parts : null;
}

/** Parts of which each is whole: 1.5 hours are 1 h 30 m. Null where a month, or a millisecond, is not. */
export function wholeParts(parts) {
  if (parts.every(([count]) => Number.isInteger(count))) return parts;
  if (parts.some(([, unit]) => unit === "M")) return null;
  let rest = parts.reduce((sum, [count, unit]) => sum + count * MS.get(unit), 0);
  const whole = [];
  for (const [unit, size] of UNITS) {
    if (rest >= size) whole.push([Math.floor(rest / size), unit]);
    rest %= size;
  }
  return rest ? null : whole;
}

/** Milliseconds as "1 h 30 m". */
export function spoken(milliseconds) {
  let rest = milliseconds;
  const parts = [];
  for (const [unit, size] of UNITS) {
    const count = Math.floor(rest / size);
    rest -= count * size;
    if (count) parts.push(`${count} ${unit}`);
  }
  return parts.join(" ") || "0 s";
}

/** About how long, in two figures of one unit: "1.3 h". */
export function roughly(milliseconds) {
  const [unit, size] = UNITS.find(([, length]) => milliseconds >= length) ?? UNITS.at(-1);
  return `${Number((milliseconds / size).toPrecision(2))} ${unit}`;
}

/** The finest round step that puts at most `most` ticks into a span. */
export function tickStep(span, most) {
  return (STEPS.find((seconds) => span / (seconds * 1_000) <= most) ?? STEPS.at(-1)) * 1_000;
}

/** A clock time, with seconds where the step needs them and the day where it spans days. */
export function clock(instant, step) {
  const at = new Date(instant);
  if (step >= 86_400_000) return at.toLocaleDateString([], { month: "short", day: "numeric" });
  const seconds = step < 60_000 ? { second: "2-digit" } : {};
  return at.toLocaleTimeString([], { hour: "2-digit", minute: "2-digit", hourCycle: "h23", ...seconds });
}
