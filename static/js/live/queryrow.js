// A row of the list of queries: state, a small line, rate of results and share of the cost.
import { dot, icon, make, setText } from "./dom.js";
import { clock, duration, number, percent } from "./format.js";
import { jobStopped, unheard } from "./health-words.js";
import { Sparkline } from "./sparkline.js";

const SECOND = 1_000;
const MINUTE = 60_000;

/** Up to whole seconds under a minute, to whole minutes above: the time left never reads as less than it is. */
const left = (time) => duration(Math.ceil(time / (time < MINUTE ? SECOND : MINUTE)) * (time < MINUTE ? SECOND : MINUTE), { tenths: false });

/** The mark, the word and the note of a query whose source is read. */
function readState({ error, due, recalled }, { now }) {
  if (recalled !== null) return ["is-off", "Warming up", `reading the past, ${percent(Math.floor(100 * recalled) / 100)} done`];
  if (due !== null && due > now) return ["is-off", "Warming up", `${left(due - now)} left`];
  return ["", "Running", error ?? ""];
}

/** What it leaves out is told beside what it does. */
function warned([, word, note], warning) {
  return ["is-warn", word, note ? `${note.replace(/\.$/, "")}. ${warning}` : warning];
}

/** The mark, the word and the note that say how a query is. */
export function rowState(row, facts) {
  const { state, error, paused, warning } = row;
  if (state === "paused") return ["is-off", "Paused", `by ${paused.by} at ${clock(paused.at)}${paused.why ? `: ${paused.why}` : ""}`];
  const silence = unheard(facts);
  if (silence) return [silence[0], silence[1], ""]; // in every row: a word is enough
  const stopped = jobStopped(facts);
  if (stopped) return stopped;
  if (state === "failing") return ["is-bad", "Failing", error ?? "unknown cause"];
  if (state !== "running") return ["is-off", "Starting", "waiting for the job to pick up the source"];
  return warning ? warned(readState(row, facts), warning) : readState(row, facts);
}

/** Results per second, or per minute where that reads better. */
export function rateWords(rate) {
  if (rate === null) return "–";
  if (rate >= 1 || rate === 0) return `${number(rate >= 100 ? Math.round(rate) : Number(rate.toFixed(1)))}/s`;
  return `${number(Number((rate * 60).toPrecision(2)))}/min`;
}

/** What is not nothing does not read as nothing. */
export const shareWords = (share) => (share > 0 && share < 0.0005 ? `<${percent(0.001)}` : percent(share));

/** The state of a query, wherever it is told. */
export class QueryState {
  #row = null;
  #said = null;

  constructor(element, key = element.dataset.liveQueryState) {
    [this.element, this.key] = [element, key];
  }

  take(row) {
    this.#row = row ?? this.#row;
    if (row) for (const button of document.querySelectorAll(`[data-pauses="${CSS.escape(this.key)}"]`)) offerPause(button, row.state !== "paused");
  }

  /** It changes without a word about the query, too. */
  render(facts) {
    if (!this.#row) return;
    const [kind, word, note] = rowState(this.#row, facts);
    const said = kind + word + note;
    if (said === this.#said) return;
    this.#said = said;
    const words = make("span", "", word, ...(note ? [" ", make("span", "quiet small", note)] : []));
    this.element.replaceChildren(make("span", "query-state", dot(kind), words));
  }
}

/** What the button of a query's page does next: somebody else may have paused it meanwhile. */
function offerPause(button, runs) {
  const [asked, word] = runs ? ["pause", "Pause"] : ["resume", "Resume"];
  if (button.value === asked) return;
  button.value = asked;
  button.setAttribute("aria-label", word);
  button.replaceChildren(icon(runs ? "player-pause" : "player-play"), make("span", "not-on-phone", word));
}

export class QueryRow {
  constructor(element) {
    this.key = element.dataset.liveQueryRow;
    const cell = (name) => element.querySelector(`[data-figure=${name}]`);
    [this.rate, this.share] = ["rate", "share"].map(cell);
    this.state = new QueryState(cell("state"), this.key);
    this.spark = new Sparkline("line");
    cell("line").append(this.spark.element);
  }

  take(row) {
    if (!row) return;
    this.state.take(row);
    setText(this.rate, rateWords(row.rate));
    this.rate.title = "Results of the last minute, over all groups and windows";
    if (row.share !== null) {
      setText(this.share, shareWords(row.share));
      this.share.title = "Measured share of what all queries took in the last minute";
    }
    this.spark.show(row.line);
  }

  render(facts) {
    this.state.render(facts);
  }
}
