// <expression-input><textarea></textarea></expression-input>: SQL in colours, its slip underlined in place,
// and the source's fields to choose from while one is typed (a combobox: arrows, Enter or Tab, Esc).
import { make } from "./live/dom.js";

const TOKENS = /('(?:[^']|'')*'?)|("(?:[^"]|"")*"?)|(\b\d+(?:\.\d+)?\b)|\b(and|or|not|in|is|null|like|ilike|between|case|when|then|else|end|true|false|select|from|where|group|by|window|hopping|tumbling|last|session|offset)\b/gi;
const KINDS = ["code-text", "", "code-number", "code-word"];
const WORD = /[\p{L}_][\p{L}\p{N}_.]*$/u;
const MOST = 8;
let listed = 0;

/** By name, its type and how an expression writes it. */
const fields = () => Object.entries(JSON.parse(document.getElementById("fields")?.textContent || "{}") ?? {});

class ExpressionInput extends HTMLElement {
  #choices = [];
  #active = -1;
  #slip = null; // [start, end] of what is wrong

  connectedCallback() {
    this.area = this.querySelector("textarea");
    this.querySelector(".expression-paper")?.remove();
    this.paper = make("div", `${this.area.className} expression-paper`);
    this.paper.setAttribute("aria-hidden", "true");
    this.list = make("ul", "completions");
    this.list.id = `completions-${(listed += 1)}`;
    this.list.setAttribute("role", "listbox");
    this.list.setAttribute("aria-label", "Fields");
    this.list.hidden = true;
    this.prepend(this.paper);
    this.append(this.list);
    const says = { role: "combobox", "aria-autocomplete": "list", "aria-expanded": "false", "aria-controls": this.list.id };
    for (const [name, value] of Object.entries(says)) this.area.setAttribute(name, value);
    this.area.addEventListener("input", () => {
      this.#slip = null;
      this.#paint();
      if (document.activeElement === this.area) this.#offer(); // not for a draft that is put back
    });
    this.area.addEventListener("keydown", (event) => this.#press(event));
    this.area.addEventListener("blur", () => this.#close());
    this.area.addEventListener("scroll", () => (this.paper.scrollTop = this.area.scrollTop));
    this.list.addEventListener("pointerdown", (event) => {
      event.preventDefault(); // the caret stays where it is
      const at = [...this.list.children].indexOf(event.target.closest("li"));
      if (at >= 0) this.#take(this.#choices[at]);
    });
    this.#paint();
  }

  /** Underline these characters, or nothing. */
  mark(span) {
    this.#slip = span;
    this.#paint();
  }

  /** Put a name in the place of what is wrong. */
  mend(name) {
    if (!this.#slip) return; // it was typed over meanwhile
    this.area.setRangeText(name, ...this.#slip, "end");
    this.area.focus();
    this.area.dispatchEvent(new Event("input", { bubbles: true }));
    this.#close();
  }

  #paint() {
    const text = this.area.value;
    const pieces = [];
    let at = 0;
    for (const found of text.matchAll(TOKENS)) {
      pieces.push([at, found.index, ""], [found.index, found.index + found[0].length, KINDS[[1, 2, 3, 4].findIndex((group) => found[group] !== undefined)]]);
      at = found.index + found[0].length;
    }
    pieces.push([at, text.length, ""]);
    this.paper.replaceChildren(...pieces.flatMap(([from, to, kind]) => this.#cut(from, to, kind, text)), "\n");
  }

  #cut(from, to, kind, text) {
    const [start, end] = this.#slip ?? [-1, -1];
    const bounds = [from, Math.min(to, Math.max(from, start)), Math.min(to, Math.max(from, end)), to];
    return [0, 1, 2]
      .filter((part) => bounds[part + 1] > bounds[part])
      .map((part) => make("span", `${kind} ${part === 1 ? "slip" : ""}`.trim(), text.slice(bounds[part], bounds[part + 1])));
  }

  #word() {
    const { selectionStart, selectionEnd, value } = this.area;
    if (selectionStart !== selectionEnd) return null;
    return WORD.exec(value.slice(0, selectionStart))?.[0] ?? (value === "" && this.dataset.kind === "computation" ? "" : null);
  }

  #offer(all = false) {
    const word = all ? (this.#word() ?? "") : this.#word();
    if (word === null || (this.dataset.kind === "text" && this.area.name !== "sql")) return this.#close();
    const low = word.toLowerCase();
    const known = fields().filter(([name]) => name.toLowerCase().includes(low) && name !== word);
    known.sort(([a], [b]) => b.toLowerCase().startsWith(low) - a.toLowerCase().startsWith(low) || (a < b ? -1 : 1));
    this.#choices = known.slice(0, MOST).map(([name, [, written]]) => ({ name, written }));
    if (!this.#choices.length) return this.#close();
    this.list.replaceChildren(...known.slice(0, MOST).map(([name, [kind]], at) => this.#choice(name, kind, at)));
    this.list.hidden = false;
    this.area.setAttribute("aria-expanded", "true");
    this.#point(-1);
  }

  #choice(name, kind, at) {
    const item = make("li", "", make("span", "code", name), make("span", "quiet", kind));
    item.id = `${this.list.id}-${at}`;
    item.setAttribute("role", "option");
    return item;
  }

  #point(at) {
    this.#active = at;
    [...this.list.children].forEach((item, index) => item.setAttribute("aria-selected", index === at));
    if (at < 0) this.area.removeAttribute("aria-activedescendant");
    else this.area.setAttribute("aria-activedescendant", `${this.list.id}-${at}`);
  }

  #close() {
    this.list.hidden = true;
    this.area.setAttribute("aria-expanded", "false");
    this.#point(-1);
  }

  #press(event) {
    const step = { ArrowDown: 1, ArrowUp: -1 }[event.key];
    if (this.list.hidden) {
      if (event.key === "ArrowDown" && (event.altKey || this.dataset.kind === "computation")) {
        event.preventDefault();
        this.#offer(true);
      } else if (event.key === "Enter" && this.dataset.kind !== "text" && !event.ctrlKey && !event.metaKey) event.preventDefault();
      return;
    }
    if (step) {
      event.preventDefault();
      const count = this.#choices.length;
      this.#point((this.#active + step + count + (this.#active < 0 && step < 0 ? 1 : 0)) % count);
    } else if (event.key === "Escape") {
      event.preventDefault();
      event.stopPropagation();
      this.#close();
    } else if ((event.key === "Enter" && !event.ctrlKey && !event.metaKey) || event.key === "Tab") {
      if (this.#active < 0) {
        this.#close();
        if (event.key === "Enter" && this.dataset.kind !== "text") event.preventDefault();
        return;
      }
      event.preventDefault();
      this.#take(this.#choices[this.#active]);
    }
  }

  #take({ name, written }) {
    const word = this.#word() ?? "";
    const end = this.area.selectionStart;
    const isAlone = this.dataset.kind === "computation" && this.area.value.trim() === word; // a field by its name
    this.area.setRangeText(isAlone ? name : written, end - word.length, end, "end");
    this.area.dispatchEvent(new Event("input", { bubbles: true }));
    this.#close();
  }
}

customElements.define("expression-input", ExpressionInput);
