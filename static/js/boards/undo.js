// What was done last on this page can be undone: by the toast for 10 s, by Ctrl/Cmd-Z while the page is open.
import { say } from "../toast.js";

const KEPT = 50;

export class Undo {
  #done = [];

  constructor() {
    addEventListener("keydown", (event) => {
      if (event.key.toLowerCase() !== "z" || !(event.ctrlKey || event.metaKey) || event.shiftKey || event.altKey) return;
      if (event.target.closest?.("input, textarea, select, dialog, [contenteditable]")) return;
      if (!this.#done.length) return;
      event.preventDefault();
      this.#takeBack(this.#done.at(-1));
    });
  }

  /** Say what was done; `undo` takes it back. */
  did(words, undo) {
    const step = { undo };
    this.#done = [...this.#done, step].slice(-KEPT);
    step.toast = say(words, { action: { label: "Undo", run: () => this.#takeBack(step) } });
  }

  #takeBack(step) {
    if (!this.#done.includes(step)) return;
    this.#done = this.#done.filter((one) => one !== step);
    step.toast?.remove();
    step.undo();
  }
}
