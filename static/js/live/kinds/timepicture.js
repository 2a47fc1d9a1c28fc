// What all charts over time have in common: a canvas with a legend beside it.
import { make } from "../dom.js";
import { LineChart } from "../linechart.js";

/** A kind that draws with Chart.js over time; `look` says how (see linechart.js). */
export function timePicture(look) {
  return class {
    static legend = true;

    constructor(place) {
      this.canvas = place.appendChild(make("canvas"));
      this.chart = new LineChart(this.canvas, look);
    }

    draw(picture) {
      this.chart.draw(picture);
    }

    resize(size) {
      this.chart.resize(size);
    }

    point(time, beads) {
      this.chart.point(time, look.type === "bar" ? [] : beads);
    }

    timeAt(offsetX) {
      return this.chart.timeAt(offsetX);
    }

    pixelAt(time) {
      return this.chart.pixelAt(time);
    }

    get isReady() {
      return this.chart.isReady;
    }

    get range() {
      return this.chart.range;
    }

    destroy() {
      this.chart.destroy();
      this.canvas.remove();
    }
  };
}
