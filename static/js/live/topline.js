// Beside a dashboard's title: how far behind it is; Pause holds the picture still, results go on arriving.
import { dot, icon, make, setText } from "./dom.js";
import { clock, duration } from "./format.js";
import { jobIsDown } from "./states.js";

export class TopLine {
  #kind = null;

  constructor(element, button) {
    this.element = element;
    this.button = button;
    this.pausedAt = null;
    this.bold = make("b");
    this.rest = make("span", "not-on-phone");
    button.addEventListener("click", () => this.#toggle());
    addEventListener("keydown", (event) => {
      const typing = event.target.closest?.("input, textarea, select, dialog, [contenteditable]");
      if (event.key === "p" && !typing && !event.ctrlKey && !event.metaKey && !event.altKey) this.#toggle();
    });
  }

  #toggle() {
    this.pausedAt = this.pausedAt === null ? this.now() : null;
    const paused = this.pausedAt !== null;
    this.button.replaceChildren(icon(paused ? "player-play" : "player-pause"), make("span", "not-on-phone", paused ? "Resume" : "Pause"));
    this.button.setAttribute("aria-label", paused ? "Resume" : "Pause");
    this.onToggle?.();
  }

  render(facts) {
    const [kind, bold, rest] = this.#words(facts);
    if (this.#kind !== kind) {
      this.#kind = kind;
      this.element.replaceChildren(dot(kind), this.bold, this.rest);
    }
    setText(this.bold, bold);
    setText(this.rest, rest);
  }

  #words({ now, connected, state, delay, looksBack }) {
    if (this.pausedAt !== null) {
      return ["is-warn", `Paused at ${clock(this.pausedAt, { seconds: true })}`, `${duration(now - this.pausedAt)} behind`];
    }
    if (!connected) return ["is-warn", "Reconnecting", ""];
    if (looksBack) return ["is-off", "Looking back", ""];
    if (delay === null) return ["is-off", "Waiting", "for the first result"];
    const down = state?.broker.state === "down" || jobIsDown(state);
    return down || delay > 60_000 ? ["is-bad", "Not live", `${duration(delay)} behind`] : ["", "Live", `${duration(delay)} behind`];
  }
}
