// What charts mark beside results: plans, changes of queries, alerts, and notes, which people add here.
import { make, setText } from "./dom.js";
import { clock } from "./format.js";
import { instant, RangeProblem, written } from "./timerange.js";

const AGAIN_MS = 60_000;

/** When alerts fired and recovered, each once: what is known more newly holds. */
export function alertNotes(asked = [], told = []) {
  const marks = new Map([...asked, ...told].map((mark) => [`${mark.alert} ${mark.what} ${mark.time}`, mark]));
  return [...marks.values()].map(({ what, time, until, text }) => ({ time, until, text, tone: what === "fires" ? "bad" : "ok" }));
}

export class Annotations {
  #asked = null;
  #askedAt = 0;
  #notes = [];
  #queries = {};
  #firings = {}; // by query, as asked for
  #rung = {}; // likewise, as the socket told: of the last minutes, and newer than what was asked for

  /** `element` carries the addresses; null on pages that have no marks but those of the socket. */
  constructor(element) {
    this.element = element;
    this.onChange = null;
    this.dialog = document.getElementById("add-note");
    if (this.dialog) this.#listen();
  }

  /** The marks of a query, with the edits that its socket told. */
  of(key, edits) {
    const own = new Map([...(this.#queries[key] ?? []), ...edits]);
    const notes = this.#notes.map(({ time, text, by }) => ({ time, text: `${by}: ${text}` }));
    return [...[...own].map(([time, text]) => ({ time, text })), ...notes, ...alertNotes(this.#firings[key], this.#rung[key])];
  }

  /** Marks of alerts that the socket told, by query. */
  ring(marks) {
    this.#rung = marks;
  }

  need({ from, until, live, key }) {
    if (!this.element) return;
    const again = live && performance.now() - this.#askedAt > AGAIN_MS;
    if (this.#asked === key && !again) return;
    this.#asked = key;
    this.#askedAt = performance.now();
    this.#ask(Math.floor(from), Math.ceil(until) + (live ? AGAIN_MS : 0));
  }

  async #ask(from, to) {
    try {
      const answer = await fetch(`${this.element.dataset.marks}?from=${from}&to=${to}`);
      if (!answer.ok) return;
      const { notes, queries, firings } = await answer.json();
      [this.#notes, this.#queries, this.#firings] = [notes, queries, firings];
      this.#list();
      this.onChange?.();
    } catch {
      // the server is away: the panels say so, and marks are asked for again
      this.#asked = null;
    }
  }

  /** Open the form at an instant. */
  addAt(time) {
    if (!this.dialog) return;
    this.dialog.querySelector("[name=at]").value = written(Math.floor(time / 1000) * 1000);
    this.#say("");
    this.#list();
    this.dialog.showModal();
    this.dialog.querySelector("[name=text]").focus();
  }

  #listen() {
    this.problem = this.dialog.querySelector(".problem");
    this.dialog.querySelector("form").addEventListener("submit", (event) => {
      event.preventDefault();
      this.#save(event.target);
    });
    document.addEventListener("click", (event) => {
      if (event.target.closest("[data-adds-note]")) this.addAt(this.now());
      if (event.target.closest("#add-note [data-closes]")) this.dialog.close();
    });
  }

  #say(sentence) {
    this.problem.hidden = !sentence;
    setText(this.problem, sentence);
  }

  async #save(form) {
    try {
      const time = instant(form.elements.at.value.trim(), this.now());
      const note = await this.#post(this.element.dataset.notes, { time, text: form.elements.text.value });
      this.#notes = [...this.#notes, note].sort((a, b) => a.time - b.time);
      form.elements.text.value = "";
      this.dialog.close();
      this.onChange?.();
    } catch (problem) {
      this.#say(problem instanceof RangeProblem || problem.told ? problem.message : "Not saved: the server did not answer.");
    }
  }

  async #post(address, fields) {
    const body = new FormData();
    for (const [name, value] of Object.entries(fields)) body.set(name, value);
    const token = this.dialog.querySelector("[name=csrfmiddlewaretoken]").value;
    const answer = await fetch(address, { method: "POST", body, headers: { "X-CSRFToken": token } });
    if (answer.ok) return answer.status === 204 ? null : answer.json();
    const { problem } = await answer.json();
    throw Object.assign(new Error(problem), { told: true });
  }

  #list() {
    const list = this.dialog?.querySelector(".note-list");
    if (!list) return;
    list.replaceChildren(...this.#notes.map((note) => this.#row(note)));
    list.hidden = !this.#notes.length;
  }

  #row(note) {
    const remove = make("button", "btn btn-small", "Remove note");
    remove.type = "button";
    remove.setAttribute("aria-label", `Remove note “${note.text}”`);
    remove.addEventListener("click", async () => {
      await this.#post(`${this.element.dataset.notes}${note.id}/remove/`, {});
      this.#notes = this.#notes.filter(({ id }) => id !== note.id);
      this.#list();
      this.onChange?.();
    });
    const words = make("span", "", `${clock(note.time, { seconds: true })} · ${note.by}: ${note.text}`);
    return make("li", "", words, note.mine ? remove : null);
  }
}
