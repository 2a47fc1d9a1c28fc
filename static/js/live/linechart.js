// Charts over time: one line, area or row of bars per window or group; provisional values are dashed or outlined.
import { timeAxis, valueAxis } from "./axes.js";
import { pixelRatio } from "./dom.js";
import { isGap } from "./gaps.js";
import { timeMarks } from "./marks.js";
import { faded } from "./palette.js";
import { chartLibrary } from "./vendor.js";

const SPAN_MS = 15 * 60_000;
const LEAST_SPAN_MS = 3 * 60_000;

/** From when on to show results up to `until`: a quarter of an hour, less while there is less to show. */
export const shownFrom = (oldest, until) => Math.max(until - SPAN_MS, Math.min(oldest, until - LEAST_SPAN_MS));

/** The points to draw up to `now`: the window that closes next stands at `now`, later ones wait; gaps stay gaps. */
export function drawable(series, now) {
  const result = [];
  let before = null;
  for (const [end, value, final] of series.points.values()) {
    if (before !== null && isGap(before, end, series)) result.push({ x: (before + end) / 2, y: null });
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

/** The heights of what is stacked: at each time the sum. */
export function stackedValues(datasets, { from }) {
  const sums = new Map();
  for (const { data, hidden } of datasets) {
    if (!hidden) for (const { x, y } of data) if (x >= from && y !== null) sums.set(x, (sums.get(x) ?? 0) + y);
  }
  return [...sums.values()];
}

/** The stack of lines that only repeat the edges of areas. */
export const EDGES = "edges";

const provisional = (segment, data) => data[segment.p1DataIndex]?.final === false;

export function lineDataset({ id, label, style, data, hidden, axis }, { fill = false } = {}) {
  return {
    id,
    label,
    data,
    hidden,
    yAxisID: axis ?? "y",
    fill,
    borderColor: style.colour,
    backgroundColor: fill ? faded(style.colour, fill === "origin" ? 0.14 : 0.55) : style.colour,
    borderWidth: style.width,
    borderDash: style.dash,
    borderJoinStyle: "round",
    // A value without neighbours would else not be seen; asking of each point takes long where there are many.
    pointRadius: data.some((_, dataIndex) => lonely({ dataset: { data }, dataIndex })) ? lonely : 0,
    pointBackgroundColor: style.colour,
    tension: fill && fill !== "origin" ? 0 : 0.15,
    spanGaps: false,
    segment: {
      borderColor: (segment) => (provisional(segment, data) ? faded(style.colour, 0.5) : undefined),
      borderDash: (segment) => (provisional(segment, data) ? [3, 3] : undefined),
    },
  };
}

/** What is final, and apart from it the end that is not: how a segment looks is only asked for there, which takes long. */
export function lineDatasets(one, options) {
  const at = one.data.findIndex(({ final }) => final === false);
  if (at < 0) return [withoutSegments(lineDataset(one, options))];
  const end = lineDataset({ ...one, data: one.data.slice(Math.max(0, at - 1)) }, options);
  return at === 0 ? [end] : [withoutSegments(lineDataset({ ...one, data: one.data.slice(0, at) }, options)), end];
}

export const withoutSegments = ({ segment, ...dataset }) => dataset;

const asLines = (series, { now }) => series.flatMap((one) => lineDatasets({ ...one, data: drawable(one, now) }));

/** By name: in a stack a series keeps its place whatever its newest value is. */
export const inOrder = (series) => [...series].sort((one, other) => one.label.localeCompare(other.label, "en", { numeric: true }) || (one.id < other.id ? -1 : 1));

/** A chart over time; `look` says how series become datasets, what is stacked, and whether the axis begins at 0. */
export class LineChart {
  #library = null;
  #chart = null; // made when there is something to draw

  constructor(canvas, look = {}) {
    this.canvas = canvas;
    this.look = { type: "line", datasets: asLines, stacked: () => false, fromZero: false, ...look };
    this.ready = chartLibrary().then((Chart) => (this.#library = Chart));
  }

  get isReady() {
    return this.#library !== null;
  }

  /** Draw these series between `from` and `until`; `heard` is the time of the newest event. */
  draw({ series, from, until, now, heard, marks, settings = {} }) {
    if (!this.#library) return;
    const stacked = this.look.stacked(settings);
    const datasets = this.look.datasets(stacked ? inOrder(series) : series, { now, from, until, settings });
    const scales = { x: { ...timeAxis(), min: from, max: until, stacked, offset: false }, ...this.#valueAxes(datasets, { from, heard, settings, stacked }) };
    const timeMarks = { ...marks, levels: settings.thresholds ?? [], crosshair: this.#mark("crosshair"), beads: this.#mark("beads") };
    if (this.#chart) this.#update({ datasets, scales, timeMarks });
    else this.#chart = this.#make({ datasets, scales, timeMarks });
  }

  #make({ datasets, scales, timeMarks: shown }) {
    return new this.#library(this.canvas, {
      type: this.look.type,
      data: { datasets },
      plugins: [timeMarks],
      options: {
        parsing: false,
        normalized: true,
        devicePixelRatio: pixelRatio(),
        layout: { padding: { top: 18, right: 1 } },
        scales,
        plugins: { timeMarks: shown },
      },
    });
  }

  #update({ datasets, scales, timeMarks: shown }) {
    const chart = this.#chart;
    this.#sharpen(chart);
    chart.data.datasets = datasets;
    chart.options.scales = scales;
    chart.options.plugins.timeMarks = shown;
    chart.update("none");
  }

  /** At once: Chart.js would wait for the next frame, and draw all of it twice. */
  resize({ width, height }) {
    if (width && height) this.#chart?.resize(width, height);
  }

  #sharpen(chart) {
    const ratio = pixelRatio();
    if (chart.currentDevicePixelRatio === ratio) return;
    chart.options.devicePixelRatio = ratio;
    chart.resize();
  }

  #valueAxes(datasets, { from, heard, settings, stacked }) {
    const options = { ...settings, fromZero: this.look.fromZero };
    const values = (axis) => {
      const own = datasets.filter(({ yAxisID, stack }) => yAxisID === axis && stack !== EDGES);
      return stacked ? stackedValues(own, { from }) : scaleValues(own, { from, heard });
    };
    const axes = { y: { ...valueAxis(values("y"), options), stacked } };
    if (!datasets.some(({ yAxisID }) => yAxisID === "right")) return axes;
    return { ...axes, right: { ...valueAxis(values("right"), { unit: settings.right_unit, scale: settings.scale, fromZero: this.look.fromZero, position: "right" }), stacked } };
  }

  point(time, beads) {
    if (!this.#chart) return;
    Object.assign(this.#chart.options.plugins.timeMarks, { crosshair: time, beads });
    this.#chart.draw();
  }

  timeAt(offsetX) {
    const scale = this.#chart?.scales.x;
    const area = this.#chart?.chartArea;
    if (!scale || !area || offsetX < area.left || offsetX > area.right) return null;
    return scale.getValueForPixel(offsetX);
  }

  pixelAt(time) {
    return this.#chart?.scales.x.getPixelForValue(time) ?? 0;
  }

  get range() {
    const scale = this.#chart?.scales.x;
    return scale ? [scale.min, scale.max] : [0, 0];
  }

  destroy() {
    this.#chart?.destroy();
    this.#chart = this.#library = null;
  }

  #mark(name) {
    return this.#chart?.options.plugins.timeMarks?.[name];
  }
}
