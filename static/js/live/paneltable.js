// A panel as a table: one row per window end, newest first; what a screen reader or a copy can use.
import { make } from "./dom.js";
import { clock } from "./format.js";

const MOST_ROWS = 200;

export class PanelTable {
  #written = "";

  constructor() {
    this.element = make("div", "panel-table");
    Object.assign(this.element, { tabIndex: 0, hidden: true });
    this.element.setAttribute("role", "group");
    this.element.setAttribute("aria-label", "The values as a table");
  }

  get shown() {
    return !this.element.hidden;
  }

  toggle() {
    this.element.hidden = !this.element.hidden;
    this.#written = "";
    return this.shown;
  }

  show({ series, range: [from, to] }) {
    const seen = series.filter(({ hidden }) => !hidden);
    const ends = [...new Set(seen.flatMap(({ points }) => [...points.keys()]))].filter((end) => end >= from && end <= to);
    const newest = ends.sort((a, b) => b - a).slice(0, MOST_ROWS);
    const rows = newest.map((end) => [clock(end, { seconds: true }), ...seen.map(({ points, format }) => cell(points.get(end), format))]);
    const heads = ["Window end", ...seen.map(({ label }) => label)];
    const text = JSON.stringify([heads, rows]);
    if (text === this.#written) return;
    this.#written = text;
    const head = make("thead", "", make("tr", "", ...heads.map((words, at) => make("th", at ? "right" : "", words))));
    const body = make("tbody", "", ...rows.map((row) => make("tr", "", ...row.map((words, at) => make("td", at ? "right" : "figures", words)))));
    this.element.replaceChildren(make("table", "list", head, body));
  }
}

function cell(point, format) {
  if (!point || point[1] === null) return "–";
  return (point[2] ? "" : "≈ ") + format.text(point[1]);
}
