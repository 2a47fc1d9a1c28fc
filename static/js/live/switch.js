// One choice of a few, in the head of a panel; it is there only where there is something to choose.
import { make } from "./dom.js";

/** Computations to choose from: by their aggregate alone where all are of the same field. */
export function computationChoices(words) {
  const parts = words.map((one) => one.split(" of "));
  const sameField = parts.every((part) => part.length === 2 && part[1] === parts[0][1]);
  return words.map((one, at) => [one, sameField ? parts[at][0] : one]);
}

export class Switch {
  constructor(label, onPick) {
    this.onPick = onPick;
    this.picked = null;
    this.element = make("span", "pick panel-pick");
    this.element.setAttribute("role", "group");
    this.element.setAttribute("aria-label", label);
    this.element.hidden = true;
  }

  /** Offer these, as [value, words]; what was picked stays so while it is offered, unless told. */
  offer(choices, picked = this.picked) {
    this.picked = choices.some(([value]) => value === picked) ? picked : (choices[0]?.[0] ?? null);
    this.element.hidden = choices.length < 2;
    const shown = JSON.stringify(choices);
    if (this.element.dataset.shown !== shown) {
      this.element.dataset.shown = shown;
      this.element.replaceChildren(...choices.map(([value, words]) => this.#button(value, words)));
    }
    this.#press();
  }

  #press() {
    for (const button of this.element.children) button.setAttribute("aria-pressed", button.value === this.picked);
  }

  #button(value, words) {
    const button = Object.assign(make("button", "", words), { type: "button", value });
    button.addEventListener("click", () => {
      this.picked = value;
      this.#press();
      this.onPick(value);
    });
    return button;
  }
}
