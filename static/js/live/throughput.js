// The plan page's chart: what the plan or a tree was estimated to take, beside what the job shows it can: capacities, not the rate that arrives.
import { timeAxis, valueAxis } from "./axes.js";
import { icon, make } from "./dom.js";
import { percent, whole } from "./format.js";
import { shownFrom } from "./linechart.js";
import { timeMarks } from "./marks.js";
import { faded, token } from "./palette.js";
import { chartLibrary } from "./vendor.js";

const REFRESH_MS = 15_000;
const SPANS = { "24h": 86_400_000, "7d": 7 * 86_400_000 };
const NOTES = {
  plan: "Capacity: the events a second that would fill the cores at today’s batch size. Larger batches cost less for each event, so it grows with the arriving rate. Estimated by the cost model at the calibration in use.",
  tree: "What the cores could take for this tree alone. Work that is not told apart by tree is split as it was estimated.",
};

const MIDDLE = {
  now: ["Nothing measured yet.", "The job tells what a batch took as soon as it has read events."],
  plan: ["No samples of this time.", "One is kept every five minutes while the job reads events."],
  tree: ["No samples of this tree.", "One is kept every five minutes, of the costliest trees, for as long as a tree has the same queries and kernel."],
};

const signed = (share) => (share > 0 ? "+" : "") + percent(share);

export class ThroughputChart {
  #live = null; // points of the socket
  #estimates = {};
  #measured = false;
  #before = null;
  #tree = { estimate: null, points: [] };
  #past = null; // points of a longer time, once they are here
  #asked = 0;
  #chart = null;
  #of = "plan";
  #span = "15m";

  constructor(element) {
    this.element = element;
    this.source = element.dataset.source;
    this.figures = element.querySelector(".plan-figures");
    this.middle = element.querySelector(".middle");
    this.canvas = element.querySelector("canvas");
    this.note = element.querySelector("[data-throughput-note]");
    this.canvas.millraceSeries = () => this.#series().map(({ label, data }) => ({ label, points: data.map(({ x, y }) => [x, y, true]) }));
    for (const button of element.querySelectorAll("[data-of]")) button.addEventListener("click", () => this.#show({ of: button.dataset.of, span: this.#span }));
    for (const button of element.querySelectorAll("[data-span]")) button.addEventListener("click", () => this.#show({ of: this.#of, span: button.dataset.span }));
    chartLibrary().then((Chart) => {
      this.#chart = this.#make(Chart);
      if (this.facts) this.render(this.facts);
    });
    this.note.textContent = NOTES.plan;
    setInterval(() => this.#refresh(), REFRESH_MS);
  }

  take(message) {
    if (message.source === this.source) this.#live = message.points;
  }

  /** Another tree is selected on the page. */
  select(tree) {
    this.tree = tree;
    this.#tree = { estimate: null, points: [] };
    if (this.#of === "tree") this.#past = null;
    this.element.querySelector("[data-of=tree]").textContent = `Tree ${tree}`;
    this.#refresh();
  }

  #show({ of, span }) {
    this.#of = of;
    this.#span = span;
    this.note.textContent = NOTES[of];
    for (const button of this.element.querySelectorAll("[data-of]")) button.setAttribute("aria-pressed", String(button.dataset.of === of));
    for (const button of this.element.querySelectorAll("[data-span]")) button.setAttribute("aria-pressed", String(button.dataset.span === span));
    this.#past = null;
    this.#refresh();
  }

  async #refresh() {
    const asked = ++this.#asked;
    const of = this.#of === "tree" ? { tree: this.tree } : {};
    const [estimates, past] = await Promise.all([
      this.#ask(this.element.dataset.estimates, of),
      this.#span === "15m" ? null : this.#ask(this.element.dataset.history, { span: this.#span, ...of }),
    ]);
    if (asked !== this.#asked) return; // something else is shown meanwhile
    if (estimates) {
      this.told = true;
      [this.#estimates, this.#measured, this.#before] = [estimates.estimates, estimates.measured, estimates.before];
      if (estimates.tree) this.#tree = estimates.tree;
    }
    if (past) this.#past = past.points;
    if (this.facts) this.render(this.facts);
  }

  /** The answer; null where the server is away: the socket says so, and the last figures stay. */
  async #ask(address, parameters) {
    try {
      const answer = await fetch(`${address}?${new URLSearchParams(parameters)}`);
      return answer.ok ? await answer.json() : null;
    } catch {
      return null;
    }
  }

  render(facts) {
    this.facts = facts;
    if (!this.#chart) return;
    const { now } = facts;
    const series = this.#series();
    const [estimated, actual] = series.map(({ data }) => data.findLast(({ y }) => y !== null)?.y ?? null);
    this.#showFigures(actual, estimated);
    this.#showMiddle(actual);
    const values = series.flatMap(({ data }) => data.map(({ y }) => y));
    const from = this.#span === "15m" ? shownFrom(series[1].data[0]?.x ?? now, now) : now - SPANS[this.#span];
    this.#chart.options.scales = { x: { ...timeAxis(), min: from, max: now }, y: valueAxis(values) };
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

  /** When (ms), actual, estimated, plan: of what is shown. */
  #points() {
    if (this.#span !== "15m") return this.#past ?? [];
    if (this.#of === "tree") return this.#tree.points.map(([clock, actual]) => [clock, actual, this.#tree.estimate, this.#tree.plan]);
    return (this.#live ?? []).map(([clock, capacity, , plan]) => [clock, capacity, this.#estimates[plan] ?? null, plan]);
  }

  #series() {
    const points = this.#points();
    return [
      { label: "estimated", data: points.map(([x, , y]) => ({ x, y })) },
      { label: "actual", data: points.map(([x, y]) => ({ x, y })) },
    ];
  }

  #changes() {
    const points = this.#points();
    return points
      .filter((point, at) => at && point[3] !== points[at - 1][3])
      .map(([time, , , plan]) => ({ time, text: `Plan ${plan}` }));
  }

  #showFigures(actual, estimated) {
    const cell = (value, unit, line, key) => {
      const mark = key ? make("i", `key-line ${key}`) : null;
      return make("div", "plan-fact", make("b", "", value, " ", make("small", "", unit)), make("span", "line-up", mark, line));
    };
    const cells = [];
    if (actual !== null) cells.push(cell(whole(actual), "events/s", "capacity, measured", "key-actual"));
    if (estimated !== null) cells.push(cell(whole(estimated), "events/s", this.#measured ? "capacity, estimated" : "capacity, estimated before measuring", "key-estimated"));
    const arriving = this.#of === "plan" ? this.facts.sources.get(this.source)?.rate ?? null : null;
    if (arriving !== null) cells.push(cell(whole(arriving), "events/s", "arriving", null));
    if (actual !== null && estimated) cells.push(cell(signed(actual / estimated - 1), "", this.#deviationWords(), null));
    this.figures.replaceChildren(...cells);
  }

  #deviationWords() {
    const before = this.#of === "tree" ? this.#tree.before : this.#before;
    return before ? `deviation, ${signed(before.deviation)} ${before.words}` : "deviation";
  }

  /** Whether what is shown has been heard of, be it that there is nothing. */
  #isKnown() {
    if (this.#span !== "15m") return this.#past !== null;
    return this.#of === "plan" ? this.#live !== null : this.told === true;
  }

  #showMiddle(actual) {
    this.middle.hidden = !this.#isKnown() || actual !== null;
    if (this.middle.hidden) return;
    const [title, words] = MIDDLE[this.#span === "15m" ? "now" : this.#of];
    if (this.middle.dataset.said === title) return;
    this.middle.dataset.said = title;
    this.middle.replaceChildren(icon("gauge"), make("b", "", title), make("p", "", words));
  }
}
