// A text in Markdown. It is built from text nodes, never from markup: nothing in it can run.
import { markdown } from "../../markdown.js";

export class Kind {
  static words = "text";
  static needsNoQuery = true;
  #written = null;

  constructor(place) {
    this.place = place;
    place.classList.add("text-place");
    place.tabIndex = 0; // it scrolls
    place.setAttribute("role", "group");
    place.setAttribute("aria-label", "Text");
  }

  draw({ settings }) {
    if (settings.text === this.#written) return;
    this.#written = settings.text;
    this.place.replaceChildren(markdown(settings.text || "Nothing is written here yet."));
  }

  lines() {
    return this.place.innerText.split("\n").filter(Boolean);
  }

  destroy() {
    this.place.replaceChildren();
    this.place.classList.remove("text-place");
    for (const name of ["role", "aria-label", "tabindex"]) this.place.removeAttribute(name);
  }
}
