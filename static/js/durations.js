// Durations and clock times as the pages write them.
const UNITS = [["d", 86_400_000], ["h", 3_600_000], ["m", 60_000], ["s", 1_000], ["ms", 1]];
const STEPS = [1, 2, 5, 10, 15, 30, 60, 120, 300, 600, 900, 1_800, 3_600, 7_200, 21_600, 43_200, 86_400, 604_800];

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
