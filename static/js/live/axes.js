// The look of all charts: horizontal grid only, round clock times, one number format per axis.
import { clock, tickFormat } from "./format.js";
import { token } from "./palette.js";
import { fittingAxis, logTicks } from "./ticks.js";
import { writtenIn } from "./values.js";

const MINUTE = 60_000;
const DAY = 1_440 * MINUTE;
const MINUTES = [1 / 60, 1 / 30, 1 / 12, 1 / 6, 1 / 4, 1 / 2, 1, 2, 3, 5, 10, 15, 30, 60, 120, 180, 360, 720, 1_440, 2_880, 10_080];
const STEPS = MINUTES.map((minutes) => Math.round(minutes * MINUTE));
const THIN = "\u202f";

/** A tick in the clock's words: seconds or the date only where steps call for them. */
export function tickWords(at, step) {
  const date = new Date(at);
  const isMidnight = date.getHours() + date.getMinutes() === 0;
  if (step >= DAY || (step >= 60 * MINUTE && isMidnight)) return date.toLocaleDateString("en", { month: "short", day: "numeric" });
  return step < MINUTE ? clock(at, { seconds: true }).slice(-8) : clock(at).slice(-5);
}

/** Round clock times, in the browser's zone, between two instants on so many pixels. */
export function roundTimes(min, max, width) {
  const room = Math.max(2, Math.floor(width / 90));
  const step = STEPS.find((size) => (max - min) / size <= room) ?? STEPS.at(-1);
  const zone = new Date(min).getTimezoneOffset() * MINUTE;
  const ticks = [];
  for (let at = Math.ceil((min - zone) / step) * step + zone; at <= max; at += step) ticks.push({ value: at });
  return { step, ticks };
}

/** Milliseconds on a linear scale: ticks are our own, and Chart.js's time scale takes longer than all the drawing. */
export function timeAxis() {
  return {
    type: "linear",
    border: { display: false },
    grid: { display: false },
    ticks: { color: token("ink-3"), autoSkip: false, maxRotation: 0, padding: 2, callback: (value, at, ticks) => tickWords(value, ticks.length > 1 ? ticks[1].value - ticks[0].value : MINUTE) },
    afterBuildTicks: (scale) => (scale.ticks = roundTimes(scale.min, scale.max, scale.chart.width).ticks),
  };
}

function fitted(known, { scale, least, greatest, fromZero }) {
  if (!known.length) return scale === "log" ? { min: 1, max: 100, ticks: [1, 10, 100] } : { min: least ?? 0, max: greatest ?? 2, ticks: [0, 1, 2] };
  const [low, high] = known.reduce(([lowest, highest], value) => [Math.min(lowest, value), Math.max(highest, value)], [Infinity, -Infinity]);
  if (scale === "log") return logTicks(least ?? low, greatest ?? high);
  const whole = known.every((value) => Number.isInteger(value));
  return fittingAxis(fromZero ? Math.min(0, low) : low, fromZero ? Math.max(0, high) : high, { whole, least, greatest });
}

/** An axis that fits these values; without any it has lines but no numbers, which would be made up. */
export function valueAxis(values, { unit = "", scale = "linear", least = null, greatest = null, fromZero = false, position = "left" } = {}) {
  const known = values.filter((value) => value !== null && (scale !== "log" || value > 0));
  const { min, max, ticks } = fitted(known, { scale, least, greatest, fromZero });
  const { sign, times } = writtenIn(unit);
  const format = tickFormat(ticks.map((tick) => tick * times), { even: scale !== "log" });
  return {
    type: scale === "log" ? "logarithmic" : "linear",
    position,
    min,
    max,
    border: { display: false },
    grid: { color: token("grid"), drawTicks: false, drawOnChartArea: position === "left" },
    ticks: {
      display: known.length > 0,
      color: token("ink-3"),
      padding: 8,
      callback: (value) => format(value * times) + (sign && value === ticks.at(-1) ? THIN + sign : ""),
    },
    afterBuildTicks: (built) => (built.ticks = ticks.map((value) => ({ value }))),
  };
}
