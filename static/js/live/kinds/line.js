// Lines over time, as fine as the windows are.
import { timePicture } from "./timepicture.js";

export class Kind extends timePicture({}) {
  static words = "line chart";
}
