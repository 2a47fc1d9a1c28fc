// The table beside a chart: each line as it is drawn, its newest final value and its extent.
import { make, setText } from "./dom.js";
import { summary } from "./series.js";
import { valueFormat } from "./values.js";

const SCROLLS_ABOVE = 8;
const PLAIN = valueFormat();

export class Legend {
  #rows = new Map();
  #body = make("tbody");
  #first = make("th");
  #note = make("p", "legend-note");
  #search = make("input", "form-control legend-search");

  constructor(onPick) {
    this.onPick = onPick;
    Object.assign(this.#search, { type: "search", placeholder: "Search", hidden: true });
    this.#search.setAttribute("aria-label", "Search in the legend");
    this.#search.addEventListener("input", () => this.#filter());
    const head = make("thead", "", make("tr", "", this.#first, make("th", "", "last final"), make("th", "", "min"), make("th", "", "max")));
    this.element = make("div", "legend-box", this.#search, make("table", "key-table", head, this.#body), this.#note);
  }

  get count() {
    return this.#rows.size;
  }

  /** Rows stay where they are; only what changed is written. */
  show({ series, heading, note, range }) {
    setText(this.#first, heading);
    setText(this.#note, note);
    this.#note.hidden = !note;
    this.element.classList.toggle("is-long", series.length > SCROLLS_ABOVE);
    this.#search.hidden = series.length <= SCROLLS_ABOVE;
    for (const [id, row] of this.#rows) {
      if (!series.some((one) => one.id === id)) {
        row.element.remove();
        this.#rows.delete(id);
      }
    }
    const summaries = series.map(({ points }) => summary(points, ...range));
    // What is on one axis is written alike.
    const isWhole = (axis) => series.every((one, at) => one.axis !== axis || hasNoFractions(summaries[at]));
    const whole = new Map([...new Set(series.map(({ axis }) => axis))].map((axis) => [axis, isWhole(axis)]));
    series.forEach((one, at) => this.#place(this.#row(one), one, at, summaries[at], (value) => (one.format ?? PLAIN).text(value, whole.get(one.axis))));
    this.#filter();
  }

  #filter() {
    const asked = this.#search.hidden ? "" : this.#search.value.trim().toLowerCase();
    for (const { element, name } of this.#rows.values()) element.hidden = !name.textContent.toLowerCase().includes(asked);
  }

  #row(one) {
    if (!this.#rows.has(one.id)) {
      const row = { key: make("i", "key-line"), name: make("span", "clip"), detail: make("span", "quiet"), cells: [] };
      const button = make("button", "", row.key, row.name, row.detail);
      button.type = "button";
      button.title = "Show this one alone; with Ctrl, hide it";
      button.addEventListener("click", (event) => this.onPick(one.id, event.ctrlKey || event.metaKey));
      row.button = button;
      row.cells = ["newest", "", ""].map((name) => make("td", name));
      row.element = make("tr", "", make("td", "", button), ...row.cells);
      this.#rows.set(one.id, row);
    }
    return this.#rows.get(one.id);
  }

  #place(row, one, at, { last, min, max }, write) {
    if (this.#body.children[at] !== row.element) this.#body.insertBefore(row.element, this.#body.children[at] ?? null);
    row.key.style.cssText = keyStyle(one.style);
    setText(row.name, one.label);
    setText(row.detail, one.detail);
    row.name.title = one.label;
    row.element.classList.toggle("is-hidden", one.hidden);
    row.button.setAttribute("aria-pressed", String(!one.hidden));
    [last, min, max].forEach((value, column) => setText(row.cells[column], write(value)));
  }
}

const hasNoFractions = ({ last, min, max }) => [last, min, max].every((value) => value === null || Number.isInteger(value));

/** The key as the line is drawn: its width, its colour, its dashes. */
function keyStyle({ width, colour, dash }) {
  const height = `height:${width + 0.75}px;`;
  if (!dash.length) return `${height}background:${colour}`;
  const [on, off] = dash;
  return `${height}border-radius:0;background:repeating-linear-gradient(to right, ${colour} 0 ${on}px, transparent ${on}px ${on + off}px)`;
}
