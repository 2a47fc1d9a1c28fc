// What a band of the plan's picture stands for: beside it, while it is pointed at or has the focus.
import { make } from "./dom.js";
import { number, percent, whole } from "./format.js";

const NAMES = 6;
const AWAY = 6; // px

const line = (name, value) => make("div", "tip-row", make("span", "", name), make("b", "", value));

function rows(band, share) {
  const names = band.queries.slice(0, NAMES).map(({ label }) => make("div", "clip", label));
  const more = band.queries.length - names.length;
  return [
    make("div", "tip-head", band.node ? `${band.label}, node ${band.node}` : band.label),
    line("Kernel", band.kernel || "several"),
    line("Cost", `${percent(share)} of all`),
    line("Core time", `${number(band.cost * 1000)} ms a second`),
    line("Edges/min", band.edges === null ? "no slices" : number(band.edges)),
    line("Queries", whole(band.count)),
    make("div", "flow-card-names", ...names, ...(more > 0 ? [make("div", "tip-head", `${whole(more)} more`)] : [])),
  ];
}

export class FlowCard {
  constructor(panel) {
    this.panel = panel;
    this.element = make("div", "hover-card flow-card");
    this.element.setAttribute("aria-hidden", "true"); // the label of the band says what matters of it
    this.hide();
    panel.append(this.element);
  }

  /** Show the card for a band of the picture; `share` is its part of the cost of all. */
  follow(element, band, share) {
    for (const begins of ["pointerenter", "focus"]) element.addEventListener(begins, () => this.#show(element, band, share));
    for (const ends of ["pointerleave", "blur"]) element.addEventListener(ends, () => this.hide());
  }

  hide() {
    this.element.hidden = true;
  }

  /** Below the band's name, or above it where there is no room, and within the panel. */
  #show(element, band, share) {
    this.element.replaceChildren(...rows(band, share));
    this.element.hidden = false;
    const panel = this.panel.getBoundingClientRect();
    const name = element.querySelector(".flow-name").getBoundingClientRect();
    const { offsetWidth: width, offsetHeight: height } = this.element;
    const fits = name.bottom + AWAY + height <= innerHeight || name.top - AWAY < height;
    const left = Math.max(AWAY, Math.min(name.left - panel.left, panel.width - AWAY - width));
    this.element.style.top = `${(fits ? name.bottom + AWAY : name.top - AWAY - height) - panel.top}px`;
    this.element.style.left = `${left}px`;
  }
}
