// The inspector beside a table of messages or dead letters: a line opens in it, arrow keys go through the lines.
import { colourJson } from "./source-json.js";
import { say } from "./toast.js";

const NARROW = "(max-width: 1100px)";

export class Inspector {
  #opened = null; // the address, which outlives its row

  constructor(element) {
    this.element = element;
    document.addEventListener("click", (event) => this.#clicked(event));
    document.addEventListener("keydown", (event) => this.#keyed(event));
    element.addEventListener("htmx:afterSwap", () => this.#loaded());
  }

  /** Mark the row that is open, also among rows that came later. */
  mark() {
    for (const button of document.querySelectorAll("[data-inspect]")) {
      const open = button.dataset.inspect === this.#opened;
      button.setAttribute("aria-pressed", String(open));
      button.closest("tr").classList.toggle("is-open", open);
    }
  }

  #clicked(event) {
    const { target } = event;
    if (target.closest("[data-close]")) return this.#close();
    if (target.closest("[data-copy]")) return this.#copy();
    const part = target.closest("[data-part]");
    if (part) return this.#show(part.dataset.part);
    const row = target.closest("tr.message-line");
    if (row && getSelection().isCollapsed) this.#open(row.querySelector("[data-inspect]"));
  }

  #keyed(event) {
    if (event.key === "Escape" && !this.element.hidden && this.element.contains(document.activeElement)) return this.#close();
    const button = event.target.closest?.("[data-inspect]");
    const step = { ArrowDown: "nextElementSibling", ArrowUp: "previousElementSibling" }[event.key];
    const next = button && step && button.closest("tr")[step]?.querySelector("[data-inspect]");
    if (!next) return;
    event.preventDefault();
    next.focus();
    this.#open(next);
  }

  #open(button) {
    this.#opened = button.dataset.inspect;
    this.element.hidden = false;
    this.mark();
    window.htmx.ajax("GET", this.#opened, { target: this.element, swap: "innerHTML" });
  }

  #loaded() {
    this.element.querySelectorAll("[data-shown-as=json]").forEach(colourJson);
    if (matchMedia(NARROW).matches) this.element.scrollIntoView({ block: "nearest" });
  }

  #show(part) {
    for (const button of this.element.querySelectorAll("[data-part]")) button.setAttribute("aria-pressed", String(button.dataset.part === part));
    for (const body of this.element.querySelectorAll("[data-part-of]")) body.hidden = body.dataset.partOf !== part;
  }

  #close() {
    const address = this.#opened;
    this.#opened = null;
    this.element.hidden = true;
    this.element.replaceChildren();
    this.mark();
    [...document.querySelectorAll("[data-inspect]")].find((button) => button.dataset.inspect === address)?.focus();
  }

  async #copy() {
    const shown = this.element.querySelector("[data-part-of]:not([hidden]) pre");
    try {
      await navigator.clipboard.writeText(shown?.textContent ?? "");
      say("Copied.");
    } catch {
      say("Not copied: the browser does not allow it here. Select the text instead.", { kind: "error" });
    }
  }
}
