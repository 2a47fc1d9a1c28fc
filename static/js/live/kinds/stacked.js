// Areas on top of each other: the parts and their sum.
import { drawable, EDGES, lineDataset, withoutSegments } from "../linechart.js";
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

/** The areas, and their edges on top. The edges are dashed where they are not final; of lines in several parts Chart.js
 *  does not fill the room between, so that they are stacked for themselves. */
export function datasets(series, { now }) {
  const data = aligned(series.map((one) => drawable(one, now)));
  const styled = series.map((one, at) => ({ ...one, axis: "y", style: { ...one.style, width: 1, dash: [] }, data: data[at] }));
  const areas = styled.map((one) => withoutSegments({ ...lineDataset(one, { fill: "stack" }), borderWidth: 0 }));
  const edges = styled.map((one) => ({ ...lineDataset({ ...one, data: one.data.map((point) => ({ ...point })) }), stack: EDGES, tension: 0 }));
  return [...areas, ...edges];
}

export class Kind extends timePicture({ datasets, fromZero: true, stacked: () => true }) {
  static words = "stacked areas";
}
