// A live panel: badge, state strip, chart, legend. Everything it says comes from the socket.
import { joinCrosshair, pointAt } from "./crosshair.js";
import { dot, icon, make, setText } from "./dom.js";
import { clock, duration, number, whole, windowLength } from "./format.js";
import { Legend } from "./legend.js";
import { LineChart, shownFrom } from "./linechart.js";
import { SeriesColours, windowStyle } from "./palette.js";
import { byNewestValue, QuerySeries } from "./series.js";
import { delayOf, freshLimit, outOfRange, panelState, waitingState } from "./states.js";

const LOADING_AFTER_MS = 200;
const LOADING_TEXT_AFTER_MS = 3_000;
const TOOLTIP_ROWS = 10;

export class Panel {
  #colours = new SeriesColours();
  #hidden = new Set();
  #began = performance.now();
  #stateText = null;
  #stateIcon = null;
  #computation = null; // which of several is drawn: they may have nothing in common but their windows
  #lookAt = null; // the right edge when the viewer went back to older results

  constructor(element) {
    this.element = element;
    this.query = new QuerySeries(element.dataset.liveQuery);
    this.missing = false;
    this.alertMarks = []; // [time, text, "fires" or "recovers"]
    element.classList.add("is-loading");
    this.#build();
    joinCrosshair(this);
    this.canvas.millraceSeries = () =>
      this.#drawnSeries().map(({ label, points }) => ({ label, points: [...points.values()] }));
  }

  #build() {
    const head = this.element.querySelector(".panel-head") ?? this.element.appendChild(make("div", "panel-head"));
    this.badge = make("span", "delay");
    head.querySelector(".panel-menu") ? head.querySelector(".panel-menu").before(this.badge) : head.append(this.badge);
    this.strip = make("div", "strip-line");
    this.strip.setAttribute("role", "status");
    this.strip.hidden = true;
    this.canvas = make("canvas");
    this.canvas.tabIndex = 0;
    this.canvas.setAttribute("role", "img");
    this.tip = make("div", "hover-card");
    this.tip.hidden = true;
    this.middle = make("div", "middle over-plot");
    this.middle.hidden = true;
    this.skeleton = make("div", "plot-skeleton");
    this.skeleton.hidden = true;
    const plot = make("div", "plot", this.canvas, this.tip, this.skeleton, this.middle);
    this.legend = new Legend((id, hides) => this.#pick(id, hides));
    this.element.append(this.strip, make("div", "chart-and-keys", make("div", "panel-body", plot), this.legend.element));
    this.chart = new LineChart(this.canvas);
    this.#listen();
  }

  #listen() {
    this.canvas.addEventListener("pointermove", (event) => pointAt(this.chart.timeAt(event.offsetX), this));
    this.canvas.addEventListener("pointerleave", () => pointAt(null, this));
    this.canvas.addEventListener("blur", () => pointAt(null, this));
    this.canvas.addEventListener("keydown", (event) => {
      const step = { ArrowLeft: -1, ArrowRight: 1 }[event.key];
      if (!step || this.query.empty) return;
      event.preventDefault();
      const [from, to] = this.chart.range;
      const next = (this.pointed ?? to) + step * this.query.shortestSlide();
      pointAt(Math.min(to, Math.max(from, next)), this);
    });
  }

  /** A switch between computations, for a query with several. */
  #showSwitch() {
    const known = this.query.computations ?? [];
    if (this.#computation === null || !known.includes(this.#computation)) this.#computation = known[0] ?? null;
    if (this.picked?.dataset.known === known.join("\n")) return;
    this.picked?.remove();
    this.picked = make("span", "pick panel-pick");
    this.picked.dataset.known = known.join("\n");
    this.picked.hidden = known.length < 2;
    this.picked.setAttribute("role", "group");
    this.picked.setAttribute("aria-label", "What is shown");
    this.picked.append(...known.map((words) => this.#switchTo(words)));
    this.badge.before(this.picked);
  }

  #switchTo(words) {
    const button = make("button", "", words);
    button.type = "button";
    button.setAttribute("aria-pressed", words === this.#computation);
    button.addEventListener("click", () => {
      this.#computation = words;
      for (const other of this.picked.children) other.setAttribute("aria-pressed", other === button);
      this.onChange?.();
    });
    return button;
  }

  /** Draw what is known, as of `now`; `facts` are the socket's state, the job's and the sources'. */
  render({ now, connected, state, sources, oldest, largest }) {
    const source = sources.get(this.query.source);
    if (this.missing) return this.#showMiddle("unlink", "This query no longer exists.", "Remove the panel, or undo the deletion.");
    if (!this.query.known) return this.#showLoading({ query: this.query, connected, state });
    this.#loaded();
    this.#showSwitch();
    const delay = delayOf(this.query, source, now);
    const said = panelState({ query: this.query, connected, state, source, now, delay });
    this.#showBadge(said, delay);
    this.#showStrip(said);
    this.#showRange(now);
    const until = this.#lookAt ?? now;
    this.element.classList.toggle("is-grouped", this.query.groupBy.length > 0);
    const series = this.#drawnSeries();
    const stale = said?.from && !this.query.empty ? Math.min(this.query.newestEnd(), said.from, now) : null;
    const alerts = this.alertMarks.map(([time, text, what]) => ({ time, text, tone: what === "fires" ? "bad" : "ok" }));
    const notes = [...this.query.edits.map(([time, text]) => ({ time, text })), ...alerts];
    const marks = { provisional: this.#firstProvisional(source, now), stale, label: largest, notes };
    const shownTo = stale ? Math.max(stale, this.#newestFinal()) : until;
    this.chart.draw({ series, from: shownFrom(oldest, until), until, now: shownTo, heard: source?.max_event_time ?? until, marks });
    this.legend.show({ series, heading: this.#heading(), note: this.#groupNote(), range: this.chart.range });
    this.canvas.setAttribute("aria-label", this.#sentence(series));
    if (this.pointed) this.pointAt(this.pointed, !this.tip.hidden);
  }

  #drawnSeries() {
    const grouped = this.query.groupBy?.length > 0;
    const drawn = this.query.all().filter(({ computation }) => computation === this.#computation);
    const all = grouped ? byNewestValue(drawn) : drawn;
    this.#colours.keepOnly(all.map((one) => one.id));
    return all.map((one, at) => ({
      ...one,
      style: grouped ? this.#colours.style(one.id) : windowStyle(at, all.length),
      label: grouped ? one.group.map((part) => part ?? "none").join(" · ") : windowLength(one.range),
      detail: grouped ? "" : one.slide === one.range ? "tumbling" : `every ${windowLength(one.slide)}`,
      hidden: this.#hidden.has(one.id),
    }));
  }

  #newestFinal() {
    const finals = this.query.all().flatMap(({ points }) => [...points.values()].filter(([, , final]) => final));
    return finals.length ? Math.max(...finals.map(([end]) => end)) : -Infinity;
  }

  #firstProvisional(source, now) {
    const watermark = source?.watermark;
    return watermark && watermark < now ? watermark : null;
  }

  #heading() {
    return this.query.groupBy.length ? this.query.groupBy.join(", ") : "Window";
  }

  #groupNote() {
    const shown = this.query.all().filter(({ computation }) => computation === this.#computation).length;
    return this.query.groups > shown ? `${shown} of ${whole(this.query.groups)}, by the newest final value` : "";
  }

  #sentence(series) {
    const title = this.element.querySelector("h2")?.textContent ?? "Live results";
    const what = this.query.computations.length > 1 ? `${this.#computation}, ` : "";
    return `${title}: line chart of ${what}${series.map((one) => one.label).join(", ") || "no series yet"}, last 15 minutes.`;
  }

  #showBadge(said, delay) {
    const limit = this.query.empty ? 0 : freshLimit(this.query.shortestSlide());
    const kind = said?.badge ?? (delay > 5 * limit ? "is-bad" : delay > limit ? "is-warn" : "");
    const text = said?.word ?? (delay === null ? "" : duration(delay));
    if (this.badge.dataset.kind !== kind) {
      this.badge.replaceChildren(dot(kind), make("span"));
      this.badge.dataset.kind = kind;
    }
    setText(this.badge.lastChild, text);
    this.badge.title = delay === null ? "" : `The newest result is ${duration(delay)} behind the clock.`;
  }

  #showStrip(said) {
    const text = said ? `${said.bold} ${said.rest}` : "";
    if (text === this.#stateText) return;
    this.#stateText = text;
    // A state announces itself once; that its numbers move is not worth another word.
    this.strip.setAttribute("aria-live", said && said.icon === this.#stateIcon ? "off" : "polite");
    this.#stateIcon = said?.icon ?? null;
    this.strip.hidden = !said;
    if (!said) return this.strip.replaceChildren();
    this.strip.className = `strip-line ${said.tone}`;
    const action = said.action ? make("a", "btn btn-small", said.action.text) : null;
    if (action) action.href = said.action.address;
    this.strip.replaceChildren(icon(said.icon), make("b", "", said.bold), make("p", "not-on-phone", said.rest), ...(action ? [action] : []));
  }

  #showRange(now) {
    if (!outOfRange(this.query, now)) this.#lookAt = null; // results go on: so does the panel
    if (this.#lookAt || !outOfRange(this.query, now)) {
      this.middle.hidden = true;
      return;
    }
    const newest = this.query.newestEnd();
    const go = make("button", "btn btn-small", `Go to ${clock(newest)}`);
    go.type = "button";
    go.addEventListener("click", () => (this.#lookAt = newest));
    this.#showMiddle("calendar-off", "No data in this range.", `The newest result is from ${clock(newest)}.`, go);
  }

  #showMiddle(symbol, bold, rest, action = null) {
    this.#loaded();
    this.middle.hidden = false;
    if (this.middle.dataset.said === bold + rest) return;
    this.middle.dataset.said = bold + rest;
    this.middle.replaceChildren(icon(symbol), make("b", "", bold), make("p", "", rest), ...(action ? [action] : []));
  }

  #loaded() {
    this.skeleton.hidden = true;
    this.element.classList.remove("is-loading");
  }

  #showLoading(facts) {
    const waited = performance.now() - this.#began;
    this.skeleton.hidden = waited < LOADING_AFTER_MS;
    const slow = { tone: "", icon: "loader", bold: "Still loading:", rest: "the last 15 minutes." };
    this.#showStrip(waitingState(facts) ?? (waited > LOADING_TEXT_AFTER_MS ? slow : null));
  }

  #pick(id, hides) {
    const ids = [...this.query.series.keys()];
    if (hides) this.#hidden.has(id) ? this.#hidden.delete(id) : this.#hidden.add(id);
    else {
      const alone = ids.every((other) => (other === id) !== this.#hidden.has(other));
      this.#hidden = new Set(alone ? [] : ids.filter((other) => other !== id));
    }
    this.onChange?.();
  }

  /** Crosshair at a time; the panel under the pointer also shows the values. */
  pointAt(time, withValues) {
    this.pointed = time;
    const rows = time === null ? [] : this.#valuesAt(time);
    const beads = rows.map(({ style, point }) => ({ time: point[0], value: point[1], colour: style.colour }));
    this.chart.point(time, beads);
    this.tip.hidden = !(withValues && rows.length);
    if (!this.tip.hidden) this.#showTip(time, rows);
  }

  #valuesAt(time) {
    const rows = [];
    for (const one of this.#drawnSeries()) {
      if (one.hidden) continue;
      const near = [...one.points.values()].reduce((best, point) => (Math.abs(point[0] - time) < Math.abs((best?.[0] ?? Infinity) - time) ? point : best), null);
      if (near && near[1] !== null && Math.abs(near[0] - time) <= one.slide) rows.push({ ...one, point: near });
    }
    return rows.sort((a, b) => b.point[1] - a.point[1]);
  }

  #showTip(time, rows) {
    const final = rows.every(({ point }) => point[2]);
    const lines = rows.slice(0, TOOLTIP_ROWS).map(({ label, style, point }) => {
      const key = make("i", "key-line");
      key.style.cssText = `height:${style.width + 0.5}px;background:${style.colour}`;
      return make("div", "tip-row", key, make("span", "clip", label), make("b", "", (point[2] ? "" : "≈ ") + number(point[1])));
    });
    const head = `${clock(rows[0].point[0], { seconds: true })} · ${final ? "final" : "provisional"}`;
    this.tip.replaceChildren(make("div", "tip-head", head), ...lines);
    const x = this.chart.pixelAt(time);
    const left = x > this.canvas.clientWidth / 2;
    this.tip.style.left = left ? "" : `${x + 14}px`;
    this.tip.style.right = left ? `${this.canvas.clientWidth - x + 14}px` : "";
  }
}
