// The live part of every page: one socket, and whatever on this page shows what comes from it.
import { say } from "../toast.js";
import { Annotations } from "./annotations.js";
import { Bells } from "./bells.js";
import { leaveCrosshair } from "./crosshair.js";
import { watchDialogs } from "./dialogs.js";
import { JobCard } from "./jobcard.js";
import { showLoad } from "./loadfigures.js";
import { Panel } from "./panel.js";
import { watchPanelMenus } from "./panelmenu.js";
import { RangeControl } from "./rangecontrol.js";
import { showRefused, showWaiting } from "./refused.js";
import { LiveSocket } from "./socket.js";
import { wishes } from "./settings.js";
import { TopLine } from "./topline.js";

const REDRAW_MS = 1_000;
const SETTLED_MS = 10_000; // a page is not loaded anew at once: during an update processes of two versions answer

class LivePage {
  #state = null;
  #sources = new Map();
  #spans = new Map();
  #warnings = {}; // by key of a query
  #signedOut = false;
  #toldOf = null; // the version of the pages that was last told to be newer
  #waiting = null; // how the next frame will be rendered

  constructor() {
    const place = document.querySelector("[data-past]");
    this.socket = new LiveSocket(place?.dataset.share);
    this.bells = new Bells();
    const card = document.getElementById("job-card");
    this.card = card ? new JobCard(card) : null;
    this.control = new RangeControl(document.getElementById("time-range"), () => this.socket.now());
    this.control.onChange = () => this.render({ anew: true });
    this.annotations = new Annotations(place?.dataset.marks ? place : null);
    Object.assign(this.annotations, { now: () => this.socket.now(), onChange: () => this.render({ anew: true }) });
    this.pastAddress = place?.dataset.past;
    this.panels = [...document.querySelectorAll("[data-live-query], [data-panel]")].map((element) => new Panel(element, this.control, this.pastAddress));
    [this.rows, this.health, this.plan] = [[], [], null];
    const line = document.getElementById("live-line");
    this.topLine = line ? new TopLine(line, document.getElementById("pause")) : null;
    if (this.topLine) Object.assign(this.topLine, { now: () => this.socket.now(), onToggle: () => this.render() });
    for (const panel of this.panels) this.#heed(panel);
    this.#listen();
    this.#watch();
    this.#addParts();
    setInterval(() => this.render(), REDRAW_MS);
    addEventListener("millrace:theme", () => this.render());
    addEventListener("beforeprint", () => this.#drawAll());
    this.render();
  }

  /** What only some pages have: its modules are not loaded by the others. */
  async #addParts() {
    const each = (selector, Part) => [...document.querySelectorAll(selector)].map((element) => new Part(element));
    const has = (selector) => document.querySelector(selector) !== null;
    if (has("[data-live-query-row], [data-live-query-state]")) {
      const { QueryRow, QueryState } = await import("./queryrow.js");
      this.rows = [...each("[data-live-query-row]", QueryRow), ...each("[data-live-query-state]", QueryState)];
    }
    if (has("[data-live-source], [data-live-source-state], [data-live-source-row]")) {
      const { Health, SourceMark, SourceRow } = await import("./health.js");
      this.health = [...each("[data-live-source]", Health), ...each("[data-live-source-state]", SourceMark), ...each("[data-live-source-row]", SourceRow)];
    }
    const throughput = document.getElementById("throughput");
    if (throughput) this.plan = new (await import("./planpage.js")).PlanPage(throughput);
    if (!this.rows.length && !this.health.length && !this.plan) return;
    this.#watch();
    this.render();
  }

  #heed(panel) {
    Object.assign(panel, { onChange: () => this.#renderSoon({ anew: true }), onWindow: () => this.#watch() });
  }

  /** Paper has no part that is out of sight. */
  #drawAll() {
    for (const panel of this.panels) panel.inSight = true;
    this.render({ anew: true });
  }

  /** Once for all that comes before the next frame. */
  #renderSoon({ anew = false } = {}) {
    if (!this.#waiting) requestAnimationFrame(() => {
      const wanted = this.#waiting;
      this.#waiting = null;
      this.render(wanted);
    });
    this.#waiting = { anew: anew || Boolean(this.#waiting?.anew) };
  }

  #watch() {
    this.socket.watch({
      queries: [...new Set([...this.panels.flatMap(({ queries }) => queries.map(({ key }) => key)), ...unseenQueries()])],
      shows: wishes(this.panels),
      board: document.querySelector("[data-board]")?.dataset.board ?? "",
      rows: this.rows.map(({ key }) => key),
      sources: [...this.health.map(({ source }) => source), ...(this.plan ? [this.plan.source] : [])],
      plan: this.plan !== null,
      health: this.health.length > 0,
    });
  }

  #listen() {
    const on = (type, handle) => this.socket.addEventListener(type, ({ detail }) => handle(detail));
    on("state", (message) => {
      this.#state = message;
      this.#noticeUpdate(message.pages);
    });
    on("alerts", (message) => this.#ring(message));
    on("source", (message) => this.#sources.set(message.source, message));
    on("health", (message) => this.#spans.set(message.source, message));
    on("rows", (message) => {
      this.rows.forEach((row) => row.take(message.rows[row.key]));
      this.#renderSoon();
    });
    on("warnings", ({ queries }) => {
      this.#warnings = queries;
      this.#renderSoon();
    });
    on("throughput", (message) => this.plan?.throughput.take(message));
    on("refused", (message) => this.#refuse(message));
    on("notices", ({ waiting, sentence }) => {
      showWaiting(waiting);
      if (sentence) say(sentence, { action: { label: "See notices", run: () => location.assign("/notices/") } });
    });
    on("missing", ({ key }) => this.#panelsOf(key).forEach((panel) => panel.lose(key)));
    for (const type of ["snapshot", "update"]) on(type, (message) => this.#take(message));
    this.socket.addEventListener("connected", () => {
      if (this.socket.lostAt !== null) this.panels.forEach((panel) => panel.pasts.forEach((past) => past.forget())); // what was missed meanwhile
      this.render();
    });
    this.socket.addEventListener("lost", () => this.render());
    this.socket.addEventListener("too-many", () => say("Too many pages of yours are open here: close some of them, and this one goes on.", { kind: "warning" }), { once: true });
    this.socket.addEventListener("signed-out", () => (this.#signedOut = true));
  }

  /** Of a board, the panel says so; a list loses its row; any other page is about what is refused: load it anew. */
  #refuse(message) {
    const { kind, key } = message;
    if (kind === "query" && unseenQueries().includes(key)) return;
    const row = kind === "connection" ? null : document.querySelector(`[data-live-${kind}-row="${CSS.escape(key)}"]`);
    const panels = kind === "query" ? this.#panelsOf(key) : [];
    if (row) row.remove();
    else if (!panels.length || panels.some(({ element }) => !element.closest("[data-board]"))) location.reload();
    for (const panel of panels) {
      leaveCrosshair(panel);
      showRefused(panel.element, message);
    }
    this.panels = this.panels.filter((panel) => !panels.includes(panel));
    this.rows = this.rows.filter((known) => kind !== "query" || known.key !== key);
    this.health = this.health.filter(({ source }) => kind !== "source" || source !== key);
  }

  #take(message) {
    if (unseenQueries().includes(message.query)) return location.reload(); // it may be seen now
    const whole = this.#panelsOf(message.query).map((panel) => panel.take(message, this.socket.now()));
    if (whole.includes(false)) this.socket.rewatch();
    else if (message.type === "snapshot") this.#renderSoon();
  }

  /** The server has been updated: a screen on the wall goes on with the new pages, nobody loses what they type. */
  #noticeUpdate(version) {
    if (import.meta.url.includes(`/${version}/`) || version === this.#toldOf) return; // files have it in their address
    if (performance.now() < SETTLED_MS) return;
    this.#toldOf = version;
    const busy = document.querySelector("dialog[open], input:focus, textarea:focus, [aria-pressed=true]#edit-layout");
    if (document.querySelector(".board") && !busy) location.reload();
    else say("Millrace was updated.", { kind: "warning", action: { label: "Reload page", run: () => location.reload() } });
  }

  #ring(message) {
    this.bells.take(message);
    this.annotations.ring(message.marks);
  }

  #panelsOf(key) {
    return this.panels.filter((panel) => panel.watches(key));
  }

  panelAt(element) {
    return this.panels.find((panel) => panel.element === element);
  }

  /** Another panel in the same place, such as the next state of an editor's preview. */
  replace(old, settings) {
    old.destroy();
    const fresh = new Panel(old.element, this.control, this.pastAddress, settings);
    this.#heed(fresh);
    this.panels[this.panels.indexOf(old)] = fresh;
    this.#watch();
    this.render();
    return fresh;
  }

  /** A panel that was taken off the page; `keep` puts it back. */
  drop(panel) {
    this.panels = this.panels.filter((one) => one !== panel);
  }

  keep(panel) {
    this.panels.push(panel);
    this.#watch();
  }

  /** `anew`: the viewer changed what is shown, which a pause does not hold up. */
  render({ anew = false } = {}) {
    const facts = {
      now: this.socket.now(),
      connected: this.socket.connected || this.socket.lostAt === null,
      signedOut: this.#signedOut,
      state: this.#state,
      sources: this.#sources,
      spans: this.#spans,
      warnings: this.#warnings,
    };
    this.bells.speak();
    this.card?.render(facts);
    showLoad(facts);
    this.rows.forEach((row) => row.render(facts));
    this.health.forEach((strip) => strip.render(facts));
    this.plan?.render(facts);
    this.topLine?.render({ ...facts, delay: this.#delay(facts), looksBack: !this.control.view().live });
    const pausedAt = this.topLine?.pausedAt ?? null;
    if (pausedAt !== null && !anew) return;
    const now = pausedAt ?? facts.now;
    const view = this.control.view(now);
    this.annotations.need(view);
    const oldest = Math.min(...this.panels.map((panel) => panel.oldestEnd())); // one time axis for all
    const notesOf = (key, edits) => this.annotations.of(key, edits);
    this.panels.forEach((panel, at) => panel.render({ ...facts, now, oldest, largest: at === 0, view, notesOf }));
    this.#showDownloads(view);
  }

  /** Files hold what is shown. */
  #showDownloads({ from, until }) {
    for (const link of document.querySelectorAll("a[data-download]")) {
      const picked = this.panelAt(link.closest(".panel"))?.picked ?? {};
      link.href = `${link.dataset.download}?${new URLSearchParams({ from: Math.floor(from), to: Math.ceil(until), ...picked })}`;
    }
  }

  /** The newest result on the page; panels that are behind it say so themselves. */
  #delay({ now, sources }) {
    const delays = this.panels.map((panel) => panel.delay(sources, now)).filter((delay) => delay !== null);
    return delays.length ? Math.min(...delays) : null;
  }
}

/** Keys of the queries whose panels say that they may not be seen. */
function unseenQueries() {
  return [...document.querySelectorAll("[data-unseen-query]")].map(({ dataset }) => dataset.unseenQuery);
}

watchDialogs();
export const page = new LivePage();
watchPanelMenus(page);
