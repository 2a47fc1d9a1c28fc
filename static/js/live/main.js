// The live part of every page: one socket, and whatever on this page shows what comes from it.
import { Bells } from "./bells.js";
import { watchDialogs } from "./dialogs.js";
import { Health, SourceMark, SourceRow } from "./health.js";
import { JobCard } from "./jobcard.js";
import { Panel } from "./panel.js";
import { PlanPage } from "./planpage.js";
import { QueryRow } from "./queryrow.js";
import { LiveSocket } from "./socket.js";
import { delayOf } from "./states.js";
import { TopLine } from "./topline.js";

const REDRAW_MS = 1_000;

class LivePage {
  #state = null;
  #sources = new Map();
  #spans = new Map();
  #signedOut = false;

  constructor() {
    this.socket = new LiveSocket();
    this.bells = new Bells();
    this.card = new JobCard(document.getElementById("job-card"));
    this.panels = [...document.querySelectorAll("[data-live-query]")].map((element) => new Panel(element));
    this.rows = [...document.querySelectorAll("[data-live-query-row]")].map((element) => new QueryRow(element));
    this.health = this.#sourceParts();
    const throughput = document.getElementById("throughput");
    this.plan = throughput ? new PlanPage(throughput) : null;
    const line = document.getElementById("live-line");
    this.topLine = line ? new TopLine(line, document.getElementById("pause")) : null;
    if (this.topLine) Object.assign(this.topLine, { now: () => this.socket.now(), onToggle: () => this.render() });
    for (const panel of this.panels) panel.onChange = () => this.render();
    this.#listen();
    this.#watch();
    setInterval(() => this.render(), REDRAW_MS);
    addEventListener("millrace:theme", () => this.render());
    this.render();
  }

  #sourceParts() {
    const parts = [["[data-live-source]", Health], ["[data-live-source-state]", SourceMark], ["[data-live-source-row]", SourceRow]];
    return parts.flatMap(([selector, Part]) => [...document.querySelectorAll(selector)].map((element) => new Part(element)));
  }

  #watch() {
    this.socket.watch({
      queries: this.panels.map((panel) => panel.query.key),
      rows: this.rows.map(({ key }) => key),
      sources: [...this.health.map(({ source }) => source), ...(this.plan ? [this.plan.source] : [])],
      plan: this.plan !== null,
      health: this.health.length > 0,
    });
  }

  #listen() {
    const on = (type, handle) => this.socket.addEventListener(type, ({ detail }) => handle(detail));
    on("state", (message) => (this.#state = message));
    on("alerts", (message) => this.#ring(message));
    on("source", (message) => this.#sources.set(message.source, message));
    on("health", (message) => this.#spans.set(message.source, message));
    on("rows", (message) => this.rows.forEach((row) => row.take(message.rows[row.key], message.clock)));
    on("throughput", (message) => this.plan?.throughput.take(message));
    on("missing", ({ key }) => this.#panelsOf(key).forEach((panel) => (panel.missing = true)));
    for (const type of ["snapshot", "update"]) on(type, (message) => this.#take(message));
    this.socket.addEventListener("connected", () => this.render());
    this.socket.addEventListener("lost", () => this.render());
    this.socket.addEventListener("signed-out", () => (this.#signedOut = true));
  }

  #take(message) {
    const whole = this.#panelsOf(message.query).map((panel) => {
      panel.missing = false; // it may have been brought back
      return panel.query.take(message, this.socket.now());
    });
    if (whole.includes(false)) this.socket.rewatch();
    else if (message.type === "snapshot") this.render();
  }

  #ring(message) {
    this.bells.take(message);
    for (const panel of this.panels) panel.alertMarks = message.marks[panel.query.key] ?? [];
  }

  #panelsOf(key) {
    return this.panels.filter((panel) => panel.query.key === key);
  }

  render() {
    const facts = {
      now: this.socket.now(),
      connected: this.socket.connected || this.socket.lostAt === null,
      signedOut: this.#signedOut,
      state: this.#state,
      sources: this.#sources,
      spans: this.#spans,
    };
    this.card.render(facts);
    this.health.forEach((strip) => strip.render(facts));
    this.plan?.render(facts);
    this.topLine?.render({ ...facts, delay: this.#delay(facts) });
    if (this.topLine?.pausedAt) return;
    const oldest = Math.min(...this.panels.map(({ query }) => query.oldestEnd())); // one time axis for all
    this.panels.forEach((panel, at) => panel.render({ ...facts, oldest, largest: at === 0 }));
  }

  /** The newest result on the page; panels that are behind it say so themselves. */
  #delay({ now, sources }) {
    const delays = this.panels.map(({ query }) => delayOf(query, sources.get(query.source), now)).filter((delay) => delay !== null);
    return delays.length ? Math.min(...delays) : null;
  }
}

watchDialogs();
new LivePage();
