// The plan page's chart: what the plan was estimated to take, beside what the job shows it can.
import { timeAxis, valueAxis } from "./axes.js";
import { icon, make } from "./dom.js";
import { percent, whole } from "./format.js";
import { shownFrom } from "./linechart.js";
import { timeMarks } from "./marks.js";
import { faded, token } from "./palette.js";
import { chartLibrary } from "./vendor.js";

const REFRESH_MS = 15_000;

const signed = (share) => (share > 0 ? "+" : "") + percent(share);

export class ThroughputChart {
  #points = null;
  #estimates = {};
  #measured = false;
  #chart = null;

  constructor(element) {
    this.element = element;
    this.source = element.dataset.source;
    this.figures = element.querySelector(".plan-figures");
    this.middle = element.querySelector(".middle");
    this.canvas = element.querySelector("canvas");
    this.canvas.millraceSeries = () => this.#series().map(({ label, data }) => ({ label, points: data.map(({ x, y }) => [x, y, true]) }));
    chartLibrary().then((Chart) => (this.#chart = this.#make(Chart)));
    this.#refresh();
    setInterval(() => this.#refresh(), REFRESH_MS);
  }

  take(message) {
    if (message.source === this.source) this.#points = message.points;
  }

  async #refresh() {
    try {
      const answer = await fetch(this.element.dataset.estimates);
      if (!answer.ok) return;
      const { estimates, measured } = await answer.json();
      this.#estimates = estimates;
      this.#measured = measured;
    } catch {
      // the server is away; the socket says so, and the last estimates stay
    }
  }

  render({ now }) {
    if (!this.#chart) return;
    const series = this.#series();
    const [estimated, actual] = series.map(({ data }) => data.findLast(({ y }) => y !== null)?.y ?? null);
    this.#showFigures(actual, estimated);
    this.#showMiddle(actual);
    const values = series.flatMap(({ data }) => data.map(({ y }) => y));
    this.#chart.options.scales = {
      x: { ...timeAxis(), min: shownFrom(series[1].data[0]?.x ?? now, now), max: now },
      y: valueAxis(values),
    };
    this.#chart.options.plugins.timeMarks = { notes: this.#changes() };
    this.#chart.data.datasets = [
      { ...series[0], borderColor: token("ink-3"), borderWidth: 1.5, borderDash: [5, 4], pointRadius: 0, stepped: true },
      { ...series[1], borderColor: token("s1"), borderWidth: 1.75, pointRadius: 0, tension: 0.15, fill: { target: 0, above: faded(token("s1"), 0.1), below: faded(token("s1"), 0.1) } },
    ];
    this.#chart.update("none");
  }

  #make(Chart) {
    return new Chart(this.canvas, {
      type: "line",
      data: { datasets: [] },
      plugins: [timeMarks],
      options: { parsing: false, normalized: true, layout: { padding: { top: 18, right: 1 } }, plugins: { timeMarks: {} } },
    });
  }

  #series() {
    const points = this.#points ?? [];
    return [
      { label: "estimated", data: points.map(([clock, , , plan]) => ({ x: clock, y: this.#estimates[plan] ?? null })) },
      { label: "actual", data: points.map(([clock, capacity]) => ({ x: clock, y: capacity })) },
    ];
  }

  #changes() {
    const points = this.#points ?? [];
    return points
      .filter((point, at) => at && point[3] !== points[at - 1][3])
      .map(([clock, , , plan]) => ({ time: clock, text: `Plan ${plan}` }));
  }

  #showFigures(actual, estimated) {
    const cell = (value, unit, line, key) => {
      const mark = key ? make("i", `key-line ${key}`) : null;
      return make("div", "plan-fact", make("b", "", value, " ", make("small", "", unit)), make("span", "line-up", mark, line));
    };
    const cells = [];
    if (actual !== null) cells.push(cell(whole(actual), "events/s", "actual capacity", "key-actual"));
    if (estimated !== null) cells.push(cell(whole(estimated), "events/s", this.#measured ? "estimated" : "estimated, before measuring", "key-estimated"));
    if (actual !== null && estimated) cells.push(cell(signed(actual / estimated - 1), "", "deviation", null));
    this.figures.replaceChildren(...cells);
  }

  #showMiddle(actual) {
    this.middle.hidden = this.#points === null || actual !== null;
    if (this.middle.hidden || this.middle.childElementCount) return;
    this.middle.append(icon("gauge"), make("b", "", "Nothing measured yet."), make("p", "", "The job tells what a batch took as soon as it has read events."));
  }
}
