// The time range of a page: its button and card, the address, and the way back.
import { say } from "../toast.js";
import { icon, make, setText } from "./dom.js";
import { between, DEFAULT_RANGE, parseRange, PRESETS, RangeProblem, rangeCode, rangeWords, resolve } from "./timerange.js";

const NO_TYPING = "input, textarea, select, dialog, [contenteditable]";

/** What the address asks for; instead of a range that makes no sense the default one is shown, and that is said. */
function fromAddress(now) {
  const asked = new URLSearchParams(location.search);
  if (!asked.has("from")) return DEFAULT_RANGE;
  try {
    const [from, to] = [asked.get("from"), asked.get("to")];
    return parseRange(to ? `${from} to ${to}` : from, now);
  } catch (problem) {
    if (!(problem instanceof RangeProblem)) throw problem;
    say(`${problem.message} The last 15 minutes are shown.`, { kind: "warning" });
    return DEFAULT_RANGE;
  }
}

const isDefault = ({ from, to }) => from === DEFAULT_RANGE.from && to === DEFAULT_RANGE.to;

export class RangeControl {
  /** `element` is where it stands, or null for a page whose range cannot be changed. */
  constructor(element, now) {
    this.now = now;
    this.range = element ? fromAddress(now()) : DEFAULT_RANGE;
    this.depth = history.state?.rangeDepth ?? 0; // how many changes this page has made: as many ways back
    this.onChange = null;
    this.element = element;
    if (element) this.#build();
  }

  /** `{from, until, live}` in milliseconds at this moment. */
  view(now = this.now()) {
    return { ...resolve(this.range, now), isDefault: isDefault(this.range), key: `${this.range.from}|${this.range.to}` };
  }

  set(range) {
    if (!this.element) return;
    if (range.from === this.range.from && range.to === this.range.to) return;
    this.range = range;
    this.depth += 1;
    const address = new URL(location.href);
    for (const name of ["from", "to"]) isDefault(range) ? address.searchParams.delete(name) : address.searchParams.set(name, range[name]);
    history.pushState({ ...history.state, rangeDepth: this.depth }, "", address);
    this.#changed();
  }

  between(from, until) {
    this.set(between(from, until));
  }

  /** The range before the last change. */
  back() {
    if (this.depth > 0) history.back();
  }

  backToLive() {
    this.set(DEFAULT_RANGE);
  }

  zoomOut() {
    const { from, until, live } = this.view();
    const span = until - from;
    if (live) this.set({ from: `now-${Math.round((2 * span) / 1000)}s`, to: "now" });
    else this.between(from - span / 2, Math.min(this.now(), until + span / 2));
  }

  /** Move by a part of the range: negative is earlier; never past now. */
  pan(part) {
    const { from, until } = this.view();
    const step = Math.min(part * (until - from), this.now() - until);
    if (step) this.between(from + step, until + step);
  }

  #build() {
    this.words = make("span", "range-words");
    this.code = make("code", "code quiet not-on-phone");
    this.button = this.#button("btn", "Time range", () => this.#toggle(), icon("clock"), this.words, this.code, icon("chevron-down"));
    this.button.setAttribute("aria-expanded", "false");
    this.button.setAttribute("aria-controls", "range-card");
    this.button.setAttribute("aria-keyshortcuts", "t");
    this.out = this.#button("btn btn-square", "Zoom out", () => this.zoomOut(), icon("zoom-out"));
    this.out.setAttribute("aria-keyshortcuts", "z");
    this.live = this.#button("btn btn-small back-to-live", "", () => this.backToLive(), icon("player-track-next"), "Back to live");
    this.element.append(this.live, make("span", "range-buttons", this.button, this.out), this.#card());
    this.#listen();
    this.#show();
  }

  #button(className, label, run, ...children) {
    const button = make("button", className, ...children);
    button.type = "button";
    if (label) button.setAttribute("aria-label", label);
    if (label) button.title = label;
    button.addEventListener("click", run);
    return button;
  }

  #card() {
    this.input = make("input", "form-control code");
    Object.assign(this.input, { id: "range-typed", autocomplete: "off", spellcheck: false });
    this.problem = make("p", "problem");
    this.problem.setAttribute("role", "alert");
    this.problem.hidden = true;
    const label = make("label", "form-label", "Time range");
    label.htmlFor = "range-typed";
    const form = make("form", "", label, make("div", "range-line", this.input, make("button", "btn btn-main", "Show")), this.problem);
    form.addEventListener("submit", (event) => {
      event.preventDefault();
      this.#typed();
    });
    const presets = make("div", "range-presets", ...PRESETS.map((text) => this.#preset(text)));
    const around = make(
      "div",
      "range-line",
      this.#button("btn btn-small", "", () => this.pan(-0.5), icon("chevron-left"), "Earlier"),
      this.#button("btn btn-small", "", () => this.pan(0.5), "Later", icon("chevron-right")),
    );
    const help = make("p", "form-note", "now-15m · now-1d/d · 14:00 · yesterday · 2026-11-16 09:30 · or two of them. Units s m h d w M.");
    this.card = make("div", "range-card", form, help, presets, around);
    Object.assign(this.card, { id: "range-card", hidden: true });
    return this.card;
  }

  #preset(text) {
    const range = parseRange(text, this.now());
    const button = this.#button("", "", () => this.#close(() => this.set(range)), rangeWords(range, this.now()));
    button.dataset.preset = text;
    return button;
  }

  #listen() {
    addEventListener("popstate", () => {
      this.range = fromAddress(this.now());
      this.depth = history.state?.rangeDepth ?? 0;
      this.#changed();
    });
    document.addEventListener("click", (event) => {
      if (!this.card.hidden && !this.element.contains(event.target)) this.#close();
    });
    addEventListener("keydown", (event) => this.#key(event));
  }

  #key(event) {
    if (event.key === "Escape" && !this.card.hidden) return this.#close(() => this.button.focus());
    if (event.ctrlKey || event.metaKey || event.altKey || event.target.closest?.(NO_TYPING)) return;
    if (event.key === "t") {
      event.preventDefault();
      this.#open();
    }
    if (event.key === "z") this.zoomOut();
    if (event.key === "Escape" && !document.querySelector("details[open]")) this.back();
  }

  #toggle() {
    this.card.hidden ? this.#open() : this.#close();
  }

  #open() {
    this.card.hidden = false;
    this.button.setAttribute("aria-expanded", "true");
    const { from, to } = this.range;
    this.input.value = to === "now" ? from : from === to ? from : `${from} to ${to}`;
    this.input.select();
    this.input.focus();
  }

  #close(then = null) {
    this.card.hidden = true;
    this.button.setAttribute("aria-expanded", "false");
    this.#say("");
    then?.();
  }

  #typed() {
    try {
      const range = parseRange(this.input.value, this.now());
      this.#close(() => this.set(range));
      this.button.focus();
    } catch (problem) {
      if (!(problem instanceof RangeProblem)) throw problem;
      this.#say(problem.message);
    }
  }

  #say(sentence) {
    this.problem.hidden = !sentence;
    setText(this.problem, sentence);
    this.input.setAttribute("aria-invalid", String(Boolean(sentence)));
  }

  #changed() {
    this.#show();
    this.onChange?.();
  }

  #show() {
    setText(this.words, rangeWords(this.range, this.now()));
    setText(this.code, rangeCode(this.range));
    this.live.hidden = this.view().live;
    for (const button of this.card.querySelectorAll("[data-preset]")) {
      button.setAttribute("aria-pressed", String(rangeWords(this.range, this.now()) === button.textContent));
    }
  }
}
