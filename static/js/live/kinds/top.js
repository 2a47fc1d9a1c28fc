// The greatest groups, with a bar each and how far they moved in the last minute. Rows swap in place.
import { make, setText } from "../dom.js";
import { whole } from "../format.js";
import { finals, newest, stepOf } from "../values.js";

const BEFORE_MS = 60_000;
const HALF = 11; // letters at either end of a long name

/** A long name with its middle left out: both ends tell names apart. */
export const shortened = (name, most = 2 * HALF + 1) => (name.length <= most ? name : `${name.slice(0, Math.ceil(most / 2) - 1)}…${name.slice(-(Math.floor(most / 2)))}`);

/** By id, how many places each series has gone up since a minute before the newest final result. */
export function moves(series) {
  const now = Math.max(...series.map((one) => finals(one).at(-1)?.[0] ?? -Infinity));
  const then = series.map((one) => ({ id: one.id, value: finals(one).findLast(([end]) => end <= now - BEFORE_MS)?.[1] ?? null }));
  const ranked = then.filter(({ value }) => value !== null).sort((a, b) => b.value - a.value);
  const before = new Map(ranked.map(({ id }, at) => [id, at]));
  return new Map(series.filter(({ id }) => before.has(id)).map(({ id }, at) => [id, before.get(id) - series.findIndex((one) => one.id === id)]));
}

export class Kind {
  static words = "top list";
  #rows = [];

  constructor(place) {
    this.place = place;
    this.name = make("th");
    this.unit = make("th", "right");
    this.body = make("tbody");
    this.note = make("p", "legend-note");
    const head = make("thead", "", make("tr", "", make("th", "", "#"), this.name, this.unit));
    place.classList.add("top-list");
    place.tabIndex = 0; // it scrolls
    place.setAttribute("role", "group");
    place.setAttribute("aria-label", "The greatest groups");
    place.append(make("table", "", head, this.body), this.note);
  }

  draw({ series, settings, format, groups }) {
    const shown = series.filter(({ hidden }) => !hidden);
    const values = shown.map((one) => newest(one)?.[1] ?? null);
    const most = Math.max(...values.map((value) => Math.abs(value ?? 0)), 0);
    const isWhole = values.every((value) => value === null || Number.isInteger(value));
    const up = moves(shown);
    setText(this.name, groups ? groups.by.join(", ") : "Window");
    setText(this.unit, format.unit || "value");
    while (this.#rows.length > shown.length) this.#rows.pop().element.remove();
    while (this.#rows.length < shown.length) this.#rows.push(this.#newRow());
    shown.forEach((one, at) => this.#write(this.#rows[at], one, { value: values[at], most, isWhole, moved: up.get(one.id) ?? 0, settings, format }));
    const count = groups?.count ?? 0;
    setText(this.note, count > shown.length ? `${shown.length} of ${whole(count)} groups` : "");
    this.note.hidden = !this.note.textContent;
  }

  lines() {
    return this.#rows.map(({ element }) => element.innerText.replace(/\s+/g, " ").trim());
  }

  #newRow() {
    const row = { name: make("span", "clip"), moved: make("span", "moved"), bar: make("i"), value: make("td", "right strong figures"), rank: make("td", "quiet figures", String(this.#rows.length + 1)) };
    row.element = make("tr", "", row.rank, make("td", "", make("div", "line-up", row.name, row.moved), make("div", "thin-bar", row.bar)), row.value);
    this.body.append(row.element);
    return row;
  }

  #write(row, one, { value, most, isWhole, moved, settings, format }) {
    const step = stepOf(value, settings.thresholds);
    setText(row.name, shortened(one.label));
    row.name.title = one.label;
    setText(row.moved, moved ? `${moved > 0 ? "▲" : "▼"}${Math.abs(moved)}` : "");
    row.moved.title = moved ? `${moved > 0 ? "up" : "down"} ${Math.abs(moved)} since a minute before` : "";
    row.bar.style.width = `${most ? (Math.abs(value ?? 0) / most) * 100 : 0}%`;
    row.bar.className = step ? `bar-${step.colour}` : "";
    const written = format.figure(value, isWhole);
    const prefix = format.unitOf(value, isWhole).slice(0, -format.unit.length || undefined).trim();
    setText(row.value, prefix ? `${written}\u202f${prefix}` : written);
  }

  destroy() {
    this.place.replaceChildren();
    this.place.classList.remove("top-list");
    for (const name of ["role", "aria-label", "tabindex"]) this.place.removeAttribute(name);
  }
}
