// A panel of results that were computed for this page: as a chart with its legend, or as a table.
import { icon, make, setText } from "./live/dom.js";
import { clock, number, whole, windowLength } from "./live/format.js";
import { Legend } from "./live/legend.js";
import { LineChart } from "./live/linechart.js";
import { SeriesColours, windowStyle } from "./live/palette.js";
import { byNewestValue } from "./live/series.js";
import { computationChoices, Switch } from "./live/switch.js";

const MOST_ROWS = 200;
const CHART = "Chart";
const TABLE = "Table";

const isNumber = (value) => typeof value === "number";

export class ComputedResults {
  #answer = null;
  #colours = new SeriesColours();
  #hidden = new Set();

  constructor(element) {
    this.element = element;
    const redraw = () => this.#draw();
    this.computation = new Switch("What is shown", redraw);
    this.window = new Switch("Window", redraw);
    this.form = new Switch("Shown as", redraw);
    this.basis = make("span", "panel-sub");
    element.querySelector(".panel-head").append(this.basis, make("span", "fill"), this.computation.element, this.window.element, this.form.element);
    this.strips = make("div", "computed-strips");
    this.strips.setAttribute("aria-live", "polite");
    this.canvas = make("canvas");
    this.canvas.setAttribute("role", "img");
    this.canvas.millraceSeries = () => this.#drawn().map(({ label, points }) => ({ label, points: [...points.values()] }));
    this.legend = new Legend((id, hides) => this.#pick(id, hides));
    this.plot = make("div", "chart-and-keys", make("div", "panel-body", make("div", "plot", this.canvas)), this.legend.element);
    this.table = make("div", "scrolls computed-table");
    Object.assign(this.table, { tabIndex: 0 });
    this.table.setAttribute("role", "region");
    this.table.setAttribute("aria-label", "Results as a table");
    this.middle = make("div", "middle");
    this.middle.setAttribute("role", "status");
    element.append(this.strips, this.plot, this.table, this.middle);
    this.plot.hidden = this.table.hidden = true;
    this.chart = new LineChart(this.canvas);
    addEventListener("millrace:theme", redraw);
    this.#showMiddle("Computing.", "The newest messages are being read.");
  }

  get empty() {
    return this.#answer === null;
  }

  set busy(busy) {
    this.element.setAttribute("aria-busy", busy);
  }

  /** Say why there is nothing new; what was shown before stays under it. */
  say(bold, rest) {
    if (!this.#answer) return this.#showMiddle(bold, rest);
    this.#showStrips([{ tone: "is-warn", symbol: "alert-circle", bold, rest }]);
  }

  async show(answer) {
    await this.chart.ready;
    this.#answer = { ...answer, series: answer.series.map((one) => ({ ...one, id: [one.computation, one.window, ...one.group].join("|"), points: new Map(one.points.map((point) => [point[0], point])) })) };
    setText(this.basis, answer.basis);
    this.computation.offer(computationChoices(answer.computations));
    this.window.offer(answer.group_by.length ? answer.windows.map(({ written, words, range, timed }) => [written, timed ? windowLength(range) : words]) : []);
    const drawable = this.#answer.series.some(({ points }) => [...points.values()].some(([, value]) => isNumber(value)));
    this.form.offer(drawable ? [[CHART, CHART], [TABLE, TABLE]] : [[TABLE, TABLE]]);
    this.#showStrips((answer.notes ?? []).map((note) => ({ tone: "", symbol: "info-circle", bold: "", rest: note })));
    this.#draw();
  }

  #showStrips(strips) {
    const said = JSON.stringify(strips);
    if (this.strips.dataset.said === said) return;
    this.strips.dataset.said = said;
    const line = ({ tone, symbol, bold, rest }) => make("div", `strip-line ${tone}`.trim(), icon(symbol), bold ? make("b", "", bold) : null, make("p", "", rest));
    this.strips.replaceChildren(...strips.map(line));
  }

  #showMiddle(bold, rest) {
    this.plot.hidden = this.table.hidden = true;
    this.middle.hidden = false;
    this.middle.replaceChildren(make("b", "", bold), make("p", "", rest));
  }

  #drawn() {
    const { series, group_by: groupBy } = this.#answer ?? { series: [], group_by: [] };
    const grouped = groupBy.length > 0;
    const picked = series.filter(({ computation, window }) => computation === this.computation.picked && (!grouped || window === this.window.picked));
    const ordered = grouped ? byNewestValue(picked) : picked.filter(({ points }) => points.size);
    if (grouped) this.#colours.keep(ordered.map(({ group }) => group.join("|")));
    return ordered.map((one, at) => ({
      ...one,
      style: grouped ? this.#colours.style(one.group.join("|")) : windowStyle(at, ordered.length),
      label: grouped ? one.group.map((part) => part ?? "none").join(" · ") : one.timed ? windowLength(one.range) : this.#windowWords(one.window),
      detail: grouped || !one.timed ? "" : one.slide === one.range ? "tumbling" : `every ${windowLength(one.slide)}`,
      hidden: this.#hidden.has(one.id),
    }));
  }

  #windowWords(written) {
    return this.#answer.windows.find((one) => one.written === written)?.words ?? written;
  }

  #draw() {
    if (!this.#answer) return;
    const series = this.#drawn();
    if (!series.length) return this.#showMiddle("No results.", this.#answer.notes?.length ? "What is missing is said above." : "No window of these messages has a value.");
    this.middle.hidden = true;
    this.plot.hidden = this.form.picked !== CHART;
    this.table.hidden = this.form.picked !== TABLE;
    this.element.classList.toggle("is-grouped", this.#answer.group_by.length > 0);
    if (this.form.picked === CHART) this.#drawChart(series);
    else this.#showTable(series);
  }

  #drawChart(series) {
    const numeric = series.map((one) => ({ ...one, points: new Map([...one.points].map(([end, [, value, final]]) => [end, [end, isNumber(value) ? value : null, final]])) }));
    const ends = numeric.flatMap(({ points }) => [...points.keys()]);
    const until = Math.max(...ends);
    const from = Math.min(Math.min(...ends), until - series[0].slide);
    const { watermark } = this.#answer;
    const marks = { provisional: watermark && watermark < until ? watermark : null, label: true };
    this.chart.draw({ series: numeric, from, until, now: until, heard: this.#answer.until ?? until, marks });
    this.legend.show({ series: numeric, heading: this.#heading(), note: this.#more(series), range: [from, until] });
    this.canvas.setAttribute("aria-label", `${this.computation.picked} from ${clock(from)} to ${clock(until)}: line chart of ${series.map(({ label }) => label).join(", ")}.`);
  }

  #heading() {
    return this.#answer.group_by.join(", ") || "Window";
  }

  /** The groups that are not drawn. */
  #more(series) {
    const known = this.#answer.groups[`${this.computation.picked}|${this.window.picked}`];
    return this.#answer.group_by.length && known > series.length ? `${whole(known - series.length)} more` : "";
  }

  #showTable(series) {
    const ends = [...new Set(series.flatMap(({ points }) => [...points.keys()]))].sort((a, b) => b - a);
    const allWhole = series.every(({ points }) => [...points.values()].every(([, value]) => !isNumber(value) || Number.isInteger(value)));
    const head = make("tr", "", make("th", "", "Window ends"), ...series.map(({ label }) => make("th", "right", label)));
    const body = ends.slice(0, MOST_ROWS).map((end) => make("tr", "", this.#time(end), ...series.map(({ points }) => this.#cell(points.get(end), allWhole))));
    const notes = [ends.length > MOST_ROWS ? `The newest ${MOST_ROWS} of ${whole(ends.length)} windows.` : "", this.#more(series)].filter(Boolean);
    this.table.replaceChildren(make("table", "list", make("thead", "", head), make("tbody", "", ...body)), make("p", "legend-note", notes.join(" ")));
  }

  #time(end) {
    const time = make("time", "", clock(end, { seconds: true }));
    time.dateTime = time.title = new Date(end).toISOString();
    return make("td", "figures", time);
  }

  #cell(point, allWhole) {
    if (!point) return make("td", "right quiet", "–");
    const [, value, final] = point;
    const words = isNumber(value) || value === null ? number(value, allWhole) : typeof value === "string" ? value : JSON.stringify(value.items ?? value);
    const cell = make("td", "right", (final ? "" : "≈ ") + words);
    if (!final) cell.title = "Provisional: later events may change it.";
    return cell;
  }

  #pick(id, hides) {
    const ids = this.#drawn().map((one) => one.id);
    if (hides) this.#hidden.has(id) ? this.#hidden.delete(id) : this.#hidden.add(id);
    else {
      const alone = ids.every((other) => (other === id) !== this.#hidden.has(other));
      this.#hidden = new Set(alone ? [] : ids.filter((other) => other !== id));
    }
    this.#draw();
  }
}
