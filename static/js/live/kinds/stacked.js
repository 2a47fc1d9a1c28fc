// Areas on top of each other: the parts and their sum.
import { drawable, lineDataset } from "../linechart.js";
import { timePicture } from "./timepicture.js";

/** The series with a point at every time that any of them has: what has none adds nothing to the sum there. */
export function aligned(all) {
  const times = [...new Set(all.flatMap((data) => data.filter(({ y }) => y !== null).map(({ x }) => x)))].sort((a, b) => a - b);
  return all.map((data) => {
    const known = new Map(data.map((point) => [point.x, point]));
    return times.map((x) => (known.get(x)?.y ?? null) === null ? { x, y: 0, final: true, end: x } : known.get(x));
  });
}

function datasets(series, { now }) {
  const data = aligned(series.map((one) => drawable(one.points, one.slide, now, one)));
  return series.map((one, at) => {
    const style = { ...one.style, width: 1, dash: [] };
    return lineDataset({ ...one, axis: "y", style, data: data[at] }, { fill: "stack" });
  });
}

export class Kind extends timePicture({ datasets, fromZero: true, stacked: () => true }) {
  static words = "stacked areas";
}
