// A query's chart: one line per window or group, dashed where values are still provisional.
import { timeAxis, valueAxis } from "./axes.js";
import { timeMarks } from "./marks.js";
import { faded } from "./palette.js";
import { chartLibrary } from "./vendor.js";

const SPAN_MS = 15 * 60_000;
const LEAST_SPAN_MS = 3 * 60_000;

/** From when on to show results up to `until`: a quarter of an hour, less while there is less to show. */
export const shownFrom = (oldest, until) => Math.max(until - SPAN_MS, Math.min(oldest, until - LEAST_SPAN_MS));

/** The points to draw up to `now`: the window that closes next stands at `now`, later ones wait; gaps stay gaps.
 *  Before `detailFrom` there are two points for every `step`, which may lie twice as far apart. */
export function drawable(points, slide, now, { step = 0, detailFrom = Infinity } = {}) {
  const result = [];
  let before = null;
  for (const [end, value, final] of points.values()) {
    const reach = step && before < detailFrom ? Math.max(2 * step, slide * 1.5) : slide * 1.5;
    if (before !== null && end - before > reach) result.push({ x: (before + end) / 2, y: null });
    result.push({ x: Math.min(end, now), y: value, final, end });
    if (end > now) break;
    before = end;
  }
  return result;
}

function lonely(context) {
  const { data } = context.dataset;
  const at = context.dataIndex;
  if (data[at].y === null) return 0;
  const missing = (point) => point === undefined || point.y === null;
  return missing(data[at - 1]) && missing(data[at + 1]) ? 2 : 0;
}

/** The values that set the scale: those in sight, but for windows that still fill and would pull it down. */
export function scaleValues(datasets, { from, until = Infinity, heard }) {
  const shown = datasets.filter(({ hidden }) => !hidden).flatMap(({ data }) => data);
  const seen = shown.filter(({ x, y }) => x >= from && x <= until && y !== null);
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
    // A value without neighbours would else not be seen; asking of each point takes long where there are many.
    pointRadius: data.some((_, dataIndex) => lonely({ dataset: { data }, dataIndex })) ? lonely : 0,
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

  get isReady() {
    return this.#chart !== null;
  }

  /** Draw these series between `from` and `until`; `heard` is the time of the newest event. */
  draw({ series, from, until, now, heard, marks }) {
    const chart = this.#chart;
    if (!chart) return;
    chart.data.datasets = series.map((one) => dataset({ ...one, data: drawable(one.points, one.slide, now, one) }));
    chart.options.scales.x = { ...timeAxis(), min: from, max: until };
    chart.options.scales.y = valueAxis(scaleValues(chart.data.datasets, { from, until, heard }));
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
