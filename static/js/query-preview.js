// The preview of a draft: asked for when its cost has been answered, so that both speak of the same draft.
import { ComputedResults } from "./computed-results.js";
import { setText } from "./live/dom.js";
import { whole } from "./live/format.js";

const AGAIN_MS = 1_500;
const LATER_MS = 15_000; // an empty topic may fill, a cluster come back

class Preview {
  #asking = null;
  #again = 0;

  constructor(form, element) {
    this.form = form;
    this.address = element.dataset.address;
    this.shown = new ComputedResults(element);
  }

  async ask() {
    this.#asking?.abort();
    clearTimeout(this.#again);
    const asking = (this.#asking = new AbortController());
    this.shown.busy = true;
    try {
      const response = await fetch(this.address, { method: "POST", body: new FormData(this.form), signal: asking.signal });
      if (!response.ok) throw new Error(response.statusText);
      this.#take(await response.json());
    } catch (error) {
      if (error.name === "AbortError") return;
      this.shown.say("The server did not answer.", "The preview follows when something is typed.");
    }
    if (this.#asking === asking) this.shown.busy = false;
  }

  /** Where nothing can be computed, the last preview stays. */
  #take(answer) {
    if (!answer.answerable) {
      const [bold, rest] = this.shown.empty ? ["Nothing to preview yet.", "It appears once the windows and the field are given."] : ["Not up to date.", "The preview follows when this is fixed."];
      return this.shown.say(bold, rest);
    }
    if (answer.problem) this.#again = setTimeout(() => this.ask(), answer.busy ? AGAIN_MS : LATER_MS);
    if (answer.problem) return this.shown.say(answer.busy ? "Computing." : "No preview.", answer.problem);
    this.#sayGroups(answer);
    this.shown.show({ ...answer, basis: `on ${answer.whole ? "all" : "the newest"} ${whole(answer.messages)} messages` });
  }

  /** Under “Group by”, which texts do not have. */
  #sayGroups({ group_by: groupBy, groups }) {
    const note = this.form.querySelector("[data-group-count]");
    const count = Math.max(0, ...Object.values(groups));
    if (note) setText(note, groupBy.length && count ? `${whole(count)} group${count === 1 ? "" : "s"} in these messages` : "");
  }
}

export function followPreview(form, element) {
  if (!element) return;
  const preview = new Preview(form, element);
  form.addEventListener("htmx:afterRequest", ({ detail }) => {
    if (detail.successful && detail.elt === form) preview.ask();
  });
  preview.ask();
}
