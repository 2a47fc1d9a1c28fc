// Bars: windows that do not overlap, side by side, or on top of each other where that is asked for.
import { faded, token } from "../palette.js";
import { timePicture } from "./timepicture.js";

const MOST_BARS = 60;
const FEWEST_BARS = 4;
const ALL_KEPT_MS = 20 * 60_000; // in longer ranges windows may be left out

/** How far apart windows are that do not overlap. */
const apart = (range, slide) => Math.max(1, Math.ceil(range / slide)) * slide;

/** How far apart bars stand: as long as the window, where that makes a fair number of them. */
export function barStep(range, slide, span) {
  let step = apart(range, slide);
  if (span / step < FEWEST_BARS) step = Math.max(1, Math.ceil(span / (MOST_BARS / 2) / slide)) * slide;
  while (span / step > MOST_BARS) step *= 2;
  return step;
}

/**
 * The windows that are drawn, in the middle of their bars: those that start on a multiple of the step. Where a bar
 * is wider than the window, or a long past is thinned, the newest window within each bar.
 */
export function barPoints(points, { range, slide }, { from, until }) {
  const step = barStep(range, slide, until - from);
  const isWider = step > apart(range, slide);
  const phase = isWider ? 0 : range % step;
  const exact = !isWider && until - from <= ALL_KEPT_MS;
  const bars = new Map(); // by where they end
  for (const point of points.values()) {
    const bar = Math.ceil((point[0] - phase) / step) * step + phase;
    const isDrawn = bar - step / 2 >= from && bar - step < until && (!exact || point[0] === bar);
    if (isDrawn && !(bars.get(bar)?.[0] > point[0])) bars.set(bar, point);
  }
  return [...bars].sort(([one], [other]) => one - other).map(([bar, [end, value, final]]) => ({ x: bar - step / 2, y: value, final, end }));
}

function dataset(one, picture) {
  const { colour } = one.style;
  const data = barPoints(one.points, one, picture);
  return {
    id: one.id,
    label: one.label,
    data,
    hidden: one.hidden,
    yAxisID: one.axis ?? "y",
    backgroundColor: ({ dataIndex }) => (data[dataIndex]?.final === false ? faded(colour, 0.25) : colour),
    borderColor: ({ dataIndex }) => (data[dataIndex]?.final === false ? colour : token("surface")),
    borderWidth: ({ dataIndex }) => (data[dataIndex]?.final === false ? 1 : 0),
    borderRadius: 1,
    barPercentage: 0.86,
    categoryPercentage: 0.96,
  };
}

const look = {
  type: "bar",
  datasets: (series, picture) => series.map((one) => dataset(one, picture)),
  fromZero: true,
  stacked: ({ stack }) => Boolean(stack),
};

export class Kind extends timePicture(look) {
  static words = "bar chart";
}
