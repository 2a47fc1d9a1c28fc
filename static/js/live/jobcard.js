// The card at the foot of the side bar: the worst state anywhere, and the load.
import { dot, make } from "./dom.js";
import { clock, percent, whole } from "./format.js";
import { loadNow } from "./loadfigures.js";

function worst({ connected, signedOut, state }) {
  if (signedOut) return ["is-bad", "Signed out", "Reload the page to sign in."];
  if (!connected) return ["is-warn", "Reconnecting", ""];
  if (!state) return ["is-off", "Connecting", ""];
  const { broker, job, failing } = state;
  if (broker.state === "down") return ["is-bad", "Broker not reachable", `since ${clock(broker.since)}`];
  if (!state.caught_up) return ["is-off", "Reading the last 15 minutes", ""];
  if (job.state === "unknown") return ["is-bad", "No job is running", "Start it with ./millrace up."];
  if (job.state === "stopped") return ["is-bad", "Job stopped", `since ${clock(job.since)}`];
  if (failing.length === 1) return ["is-bad", "1 source failing", failing[0]];
  if (failing.length) return ["is-bad", `${failing.length} sources failing`, failing.join(", ")];
  if (job.state === "starting") return ["is-off", "Job starting", ""];
  return ["", "Job running", ""];
}

export class JobCard {
  #said = null;

  constructor(element) {
    this.element = element;
    this.words = make("b");
    this.detail = make("div", "job-detail");
    this.bar = make("i");
    this.load = make("div", "job-load", make("div", "load-bar", this.bar), make("div", "job-figures"));
    // Only the state announces itself; the load changes every second.
    element.removeAttribute("role");
    this.status = make("div", "job-words");
    this.status.setAttribute("role", "status");
    element.replaceChildren(this.status, this.load);
  }

  render(facts) {
    const [kind, bold, detail] = worst(facts);
    const said = kind + bold + detail;
    if (said !== this.#said) {
      this.#said = said;
      this.status.replaceChildren(dot(kind), make("span", "side-label", make("b", kind === "is-bad" ? "bad-ink" : "", bold), detail ? make("span", "job-detail", detail) : ""));
      this.status.title = detail ? `${bold}, ${detail}` : bold;
    }
    const load = loadNow(facts);
    this.load.hidden = !load;
    if (!load) return;
    this.bar.style.width = `${Math.min(100, load.share * 100)}%`;
    this.load.lastChild.textContent = `${whole(load.rate)} events/s · ${percent(load.share)} load`;
    this.load.title = "Events per second now, and how much of the cores’ time the job’s work takes.";
  }
}
