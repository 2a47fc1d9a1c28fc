// Areas on top of each other: the parts and their sum.
import { drawable, lineDataset } from "../linechart.js";
import { timePicture } from "./timepicture.js";

/** The series with a point at every time that any of them has, so that they can be added up. Between its own points
 *  a series goes straight on; where it has a gap, or has not begun or has ended, it has no part in the sum. */
export function aligned(all) {
  const times = [...new Set(all.flatMap((data) => data.map(({ x }) => x)))].sort((a, b) => a - b);
  return all.map((data) => {
    let next = 0;
    return times.map((x) => {
      while (next < data.length && data[next].x < x) next += 1;
      return data[next]?.x === x ? data[next] : { x, y: between(data[next - 1], data[next], x), final: data[next]?.final };
    });
  });
}

/** The height at `x` of the line from one point to the next; null where there is no line. */
function between(before, after, x) {
  if ((before?.y ?? null) === null || (after?.y ?? null) === null) return null;
  return before.y + ((after.y - before.y) * (x - before.x)) / (after.x - before.x);
}

function datasets(series, { now }) {
  const data = aligned(series.map((one) => drawable(one, now)));
  return series.map((one, at) => {
    const style = { ...one.style, width: 1, dash: [] };
    return lineDataset({ ...one, axis: "y", style, data: data[at] }, { fill: "stack" });
  });
}

export class Kind extends timePicture({ datasets, fromZero: true, stacked: () => true }) {
  static words = "stacked areas";
}
