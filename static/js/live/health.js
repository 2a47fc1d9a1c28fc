// A source's health: six figures, each with its unit, one explaining line and what it did of late.
import { dot, make, setText } from "./dom.js";
import { healthCells, sourceState } from "./health-words.js";
import { number, whole } from "./format.js";
import { Sparkline } from "./sparkline.js";

const DRAWN = [["rate", "line"], ["lag", "line"], ["delay", "line"], ["late", "bars"], ["malformed", "bars"], null];

function drawing(described) {
  if (!described) return null;
  const [key, kind] = described;
  return { key, spark: new Sparkline(kind) };
}

/** The strip of a source's page. */
export class Health {
  #cells = [];

  constructor(element) {
    this.element = element;
    this.source = element.dataset.liveSource;
    this.lateness = Number(element.dataset.lateness);
    element.classList.add("panel", "health");
  }

  render(facts) {
    const health = facts.sources.get(this.source);
    if (!health) return;
    const cells = healthCells({ ...facts, health, lateness: this.lateness });
    if (!this.#cells.length) this.#build(cells);
    const spans = facts.spans.get(this.source);
    cells.forEach((cell, at) => this.#show(this.#cells[at], cell, spans));
  }

  #show(shown, { value, unit = "", line, title = "", warns = false }, spans) {
    setText(shown.value, value);
    setText(shown.unit, unit);
    setText(shown.words, line);
    shown.line.classList.toggle("is-warned", warns);
    shown.element.title = title;
    if (shown.drawing && spans) shown.drawing.spark.show(spans[shown.drawing.key]);
  }

  #build(cells) {
    this.#cells = cells.map(({ name }, at) => {
      const words = make("span");
      const line = make("span", "health-line", dot("is-warn"), words);
      const cell = { value: make("span", "health-value"), unit: make("small"), words, line, drawing: drawing(DRAWN[at]) };
      cell.element = make("div", "", make("span", "health-name", name), make("b", "", cell.value, " ", cell.unit), line, cell.drawing?.spark.element ?? null);
      return cell;
    });
    this.element.replaceChildren(...this.#cells.map((cell) => cell.element));
  }
}

/** The mark that says in a word how a source is. */
export class SourceMark {
  #said = null;

  constructor(element) {
    this.element = element;
    this.source = element.dataset.liveSourceState;
    if (!element.closest("tr")) element.setAttribute("role", "status"); // a list would announce them all
  }

  render(facts) {
    const [kind, word, more] = sourceState({ ...facts, health: facts.sources.get(this.source) });
    const said = kind + word + more;
    if (said === this.#said) return;
    this.#said = said;
    this.element.className = `mark ${{ "": "is-good", "is-warn": "is-warn", "is-bad": "is-bad" }[kind] ?? ""}`.trim();
    this.element.title = more;
    this.element.replaceChildren(dot(kind), word);
  }
}

/** A row of the list of sources: rate with its line, and lag. */
export class SourceRow {
  constructor(element) {
    this.source = element.dataset.liveSourceRow;
    this.rate = element.querySelector("[data-figure=rate]");
    this.lag = element.querySelector("[data-figure=lag]");
    this.spark = new Sparkline("line");
    element.querySelector("[data-figure=line]").append(this.spark.element);
  }

  render(facts) {
    const health = facts.sources.get(this.source);
    if (!health) return;
    const [rate, lag] = healthCells({ ...facts, health });
    setText(this.rate, rate.value === "–" ? "–" : `${number(Math.round(health.rate))}/s`);
    this.rate.title = rate.line;
    setText(this.lag, lag.value === "–" ? "–" : whole(health.lag));
    this.lag.title = lag.line;
    const spans = facts.spans.get(this.source);
    if (spans) this.spark.show(spans.rate);
  }
}
