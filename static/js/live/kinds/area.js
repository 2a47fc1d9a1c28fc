// Lines with the room under them filled; the axis begins at 0.
import { drawable, lineDatasets } from "../linechart.js";
import { timePicture } from "./timepicture.js";

const datasets = (series, { now }) => series.flatMap((one) => lineDatasets({ ...one, data: drawable(one, now) }, { fill: "origin" }));

export class Kind extends timePicture({ datasets, fromZero: true }) {
  static words = "area chart";
}
