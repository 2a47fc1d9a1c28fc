// “Saved” beside the title, for two seconds.
const SHOWN_MS = 2_000;

export class Saved {
  #timer = null;

  constructor(element) {
    this.element = element;
  }

  show() {
    this.element.textContent = "Saved";
    clearTimeout(this.#timer);
    this.#timer = setTimeout(() => (this.element.textContent = ""), SHOWN_MS);
  }
}
