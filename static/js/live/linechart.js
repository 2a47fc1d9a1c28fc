// A query's chart: one line per window or group, dashed where values are still provisional.
import { timeAxis, valueAxis } from "./axes.js";
import { timeMarks } from "./marks.js";
import { faded } from "./palette.js";
import { chartLibrary } from "./vendor.js";

const SPAN_MS = 15 * 60_000;
const LEAST_SPAN_MS = 3 * 60_000;

/** From when on to show results up to `until`: a quarter of an hour, less while there is less to show. */
export const shownFrom = (oldest, until) => Math.max(until - SPAN_MS, Math.min(oldest, until - LEAST_SPAN_MS));

/** The points to draw up to `now`: the window that closes next stands at `now`, later ones wait; gaps stay gaps. */
export function drawable(points, slide, now) {
  const result = [];
  let before = null;
  for (const [end, value, final] of points.values()) {
    if (before !== null && end - before > slide * 1.5) result.push({ x: (before + end) / 2, y: null });
    result.push({ x: Math.min(end, now), y: value, final, end });
    if (end > now) break;
    before = end;
  }
  return result;
}

function lonely(context) {
  const data = context.dataset.data;
  const at = context.dataIndex;
  const missing = (point) => point === undefined || point.y === null;
  return missing(data[at - 1]) && missing(data[at + 1]) ? 2 : 0;
}

/** The values that set the scale: those in sight, but for windows that still fill and would pull it down. */
export function scaleValues(datasets, { from, heard }) {
  const shown = datasets.filter(({ hidden }) => !hidden).flatMap(({ data }) => data);
  const seen = shown.filter(({ x, y }) => x >= from && y !== null);
  const filled = seen.filter(({ final, end }) => final || end <= heard);
  return (filled.length ? filled : seen).map(({ y }) => y);
}

const provisional = (segment, data) => data[segment.p1DataIndex]?.final === false;

function dataset({ id, label, style, data, hidden }) {
  return {
    id,
    label,
    data,
    hidden,
    borderColor: style.colour,
    backgroundColor: style.colour,
    borderWidth: style.width,
    borderDash: style.dash,
    borderJoinStyle: "round",
    pointRadius: lonely, // a value without neighbours would else not be seen
    tension: 0.15,
    spanGaps: false,
    segment: {
      borderColor: (segment) => (provisional(segment, data) ? faded(style.colour, 0.5) : undefined),
      borderDash: (segment) => (provisional(segment, data) ? [3, 3] : undefined),
    },
  };
}

export class LineChart {
  #chart = null;

  constructor(canvas) {
    this.canvas = canvas;
    this.ready = chartLibrary().then((Chart) => {
      this.#chart = new Chart(canvas, {
        type: "line",
        data: { datasets: [] },
        plugins: [timeMarks],
        options: {
          parsing: false,
          normalized: true,
          layout: { padding: { top: 18, right: 1 } },
          scales: { x: timeAxis(), y: valueAxis([]) },
          plugins: { timeMarks: {} },
        },
      });
    });
  }

  /** Draw these series between `from` and `until`; `heard` is the time of the newest event. */
  draw({ series, from, until, now, heard, marks }) {
    const chart = this.#chart;
    if (!chart) return;
    chart.data.datasets = series.map((one) => dataset({ ...one, data: drawable(one.points, one.slide, now) }));
    chart.options.scales.x = { ...timeAxis(), min: from, max: until };
    chart.options.scales.y = valueAxis(scaleValues(chart.data.datasets, { from, heard }));
    chart.options.plugins.timeMarks = { ...marks, crosshair: this.#mark("crosshair"), beads: this.#mark("beads") };
    chart.update("none");
  }

  point(time, beads) {
    if (!this.#chart) return;
    Object.assign(this.#chart.options.plugins.timeMarks, { crosshair: time, beads });
    this.#chart.draw();
  }

  timeAt(offsetX) {
    const scale = this.#chart?.scales.x;
    const area = this.#chart?.chartArea;
    if (!scale || offsetX < area.left || offsetX > area.right) return null;
    return scale.getValueForPixel(offsetX);
  }

  pixelAt(time) {
    return this.#chart?.scales.x.getPixelForValue(time) ?? 0;
  }

  get range() {
    const scale = this.#chart?.scales.x;
    return scale ? [scale.min, scale.max] : [0, 0];
  }

  #mark(name) {
    return this.#chart.options.plugins.timeMarks?.[name];
  }
}
