// A source's health: one figure, its unit and one explaining line per cell.
import { make, setText } from "./dom.js";
import { bytes, clock, duration, whole } from "./format.js";
import { jobIsDown } from "./states.js";

const STATES = {
  running: ["Running", "reads this topic"],
  starting: ["Starting", "the job takes it up"],
  failing: ["Failing", ""],
  absent: ["Not read", "no query asks for it"],
};

function cells({ health, state, now, connected }) {
  const [word, line] = STATES[health.state];
  const jobDown = !connected || jobIsDown(state);
  const since = health.counted_since ? `since ${clock(health.counted_since)}` : "nothing measured yet";
  return [
    jobDown ? ["State", "Job stopped", "", state?.job.since ? `since ${clock(state.job.since)}` : ""] : ["State", word, "", health.error ?? line],
    ["Rate", health.rate === null ? "–" : whole(health.rate), "events/s", health.idle_since ? `idle since ${clock(health.idle_since)}` : "over the last 15 s"],
    ["Watermark", health.watermark ? duration(now - health.watermark) : "–", "behind", health.watermark ? `results are final up to ${clock(health.watermark, { seconds: true })}` : "no event yet"],
    ["Late", whole(health.late), "events", since],
    ["Malformed", whole(health.malformed), "messages", since],
    ["Wrongly dated", whole(health.misdated), "events", since],
    ...(health.state_bytes === null ? [] : [["State kept", bytes(health.state_bytes), "", "slices of open windows"]]),
  ];
}

export class Health {
  #cells = [];

  constructor(element) {
    this.element = element;
    this.source = element.dataset.liveSource;
    element.classList.add("panel", "health");
  }

  render(facts) {
    const health = facts.sources.get(this.source);
    if (!health) return;
    const rows = cells({ ...facts, health });
    if (this.#cells.length !== rows.length) this.#build(rows);
    rows.forEach(([, value, unit, line], at) => {
      const cell = this.#cells[at];
      setText(cell.value, value);
      setText(cell.unit, unit);
      setText(cell.line, line);
    });
  }

  #build(rows) {
    this.#cells = rows.map(([name]) => {
      const cell = { value: make("span", "health-value"), unit: make("small"), line: make("span", "health-line") };
      cell.element = make("div", "", make("span", "", name), make("b", "", cell.value, " ", cell.unit), cell.line);
      return cell;
    });
    this.element.replaceChildren(...this.#cells.map((cell) => cell.element));
  }
}
