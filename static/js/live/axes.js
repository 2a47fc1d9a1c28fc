// The look of all charts: horizontal grid only, round clock times, one number format per axis.
import { clock, tickFormat } from "./format.js";
import { token } from "./palette.js";
import { fittingAxis } from "./ticks.js";

const MINUTE = 60_000;
const DAY = 1_440 * MINUTE;
const MINUTES = [1 / 60, 1 / 30, 1 / 12, 1 / 6, 1 / 4, 1 / 2, 1, 2, 3, 5, 10, 15, 30, 60, 120, 180, 360, 720, 1_440, 2_880, 10_080];
const STEPS = MINUTES.map((minutes) => Math.round(minutes * MINUTE));

/** A tick in the clock's words: seconds or the date only where steps call for them. */
export function tickWords(at, step) {
  const date = new Date(at);
  const isMidnight = date.getHours() + date.getMinutes() === 0;
  if (step >= DAY || (step >= 60 * MINUTE && isMidnight)) return date.toLocaleDateString("en", { month: "short", day: "numeric" });
  return step < MINUTE ? clock(at, { seconds: true }).slice(-8) : clock(at).slice(-5);
}

function roundTimes(scale) {
  const room = Math.max(2, Math.floor(scale.chart.width / 90));
  const step = STEPS.find((size) => (scale.max - scale.min) / size <= room) ?? STEPS.at(-1);
  const zone = new Date(scale.min).getTimezoneOffset() * MINUTE; // round in the browser's zone
  scale.ticks = [];
  for (let at = Math.ceil((scale.min - zone) / step) * step + zone; at <= scale.max; at += step) {
    scale.ticks.push({ value: at });
  }
}

export function timeAxis() {
  return {
    type: "time",
    border: { display: false },
    grid: { display: false },
    ticks: { color: token("ink-3"), autoSkip: false, maxRotation: 0, padding: 2, callback: (value, at, ticks) => tickWords(value, ticks.length > 1 ? ticks[1].value - ticks[0].value : MINUTE) },
    afterBuildTicks: roundTimes,
  };
}

/** An axis that fits these values; without any it has lines but no numbers, which would be made up. */
export function valueAxis(values) {
  const known = values.filter((value) => value !== null);
  const extent = known.reduce(([low, high], value) => [Math.min(low, value), Math.max(high, value)], [Infinity, -Infinity]);
  const whole = known.every((value) => Number.isInteger(value));
  const { min, max, ticks } = known.length ? fittingAxis(...extent, { whole }) : { min: 0, max: 2, ticks: [0, 1, 2] };
  const format = tickFormat(ticks);
  return {
    min,
    max,
    border: { display: false },
    grid: { color: token("grid"), drawTicks: false },
    ticks: { display: known.length > 0, color: token("ink-3"), padding: 8, callback: (value) => format(value) },
    afterBuildTicks: (scale) => (scale.ticks = ticks.map((value) => ({ value }))),
  };
}
