// Bars: windows that do not overlap, side by side, or on top of each other where that is asked for.
import { faded, token } from "../palette.js";
import { timePicture } from "./timepicture.js";

const MOST_BARS = 60;
const FEWEST_BARS = 4;

/** How far apart bars stand: as long as the window, where that makes a fair number of them. */
export function barStep(range, slide, span) {
  let step = Math.max(1, Math.ceil(range / slide)) * slide;
  if (span / step < FEWEST_BARS) step = Math.max(1, Math.ceil(span / (MOST_BARS / 2) / slide)) * slide;
  while (span / step > MOST_BARS) step *= 2;
  return step;
}

/** The windows that are drawn: every one that starts on a multiple of the step, in the middle of its bar. */
export function barPoints(points, { range, slide }, { from, until }) {
  const step = barStep(range, slide, until - from);
  const drawn = [...points.values()].filter(([end]) => end - step / 2 >= from && end - step < until && (end - range) % step === 0);
  return drawn.map(([end, value, final]) => ({ x: end - step / 2, y: value, final, end }));
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
