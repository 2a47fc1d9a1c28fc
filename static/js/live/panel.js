// A live panel: badge, state strip, chart, legend. Everything it says comes from the socket.
import { joinCrosshair, pointAt } from "./crosshair.js";
import { dot, icon, make, setText } from "./dom.js";
import { clock, duration, number, spanWords, whole, windowLength } from "./format.js";
import { Legend } from "./legend.js";
import { LineChart, shownFrom } from "./linechart.js";
import { PastLoader } from "./past.js";
import { SeriesColours, windowStyle } from "./palette.js";
import { byNewestValue, QuerySeries } from "./series.js";
import { delayOf, freshLimit, outOfRange, panelState, waitingState } from "./states.js";
import { rangeWords } from "./timerange.js";
import { watchZoom } from "./zoom.js";

const LOADING_AFTER_MS = 200;
const LOADING_TEXT_AFTER_MS = 3_000;
const TOOLTIP_ROWS = 10;
const LOOK_BACK_MS = 15 * 60_000;
const LONGEST_WAIT_MS = 5_000;

export class Panel {
  #colours = new SeriesColours();
  #hidden = new Set();
  #began = performance.now();
  #stateText = null;
  #stateIcon = null;
  #computation = null; // which of several is drawn: they may have nothing in common but their windows
  #view = { from: -Infinity, until: Infinity, live: true };
  #drawn = ""; // what the drawing depends on: nothing that did not change is drawn again
  #drawnAt = 0;
  #drawnRevision = 0;

  /** `control` is the page's time range, `pastAddress` where the kept past lies. */
  constructor(element, control, pastAddress) {
    this.element = element;
    this.control = control;
    this.query = new QuerySeries(element.dataset.liveQuery);
    this.missing = false;
    this.past = new PastLoader(this.query, pastAddress);
    this.past.onChange = () => this.onChange?.();
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
    watchZoom(plot, this.canvas, this.chart, this.control);
    this.#listen();
  }

  #listen() {
    this.canvas.addEventListener("pointermove", (event) => pointAt(this.chart.timeAt(event.offsetX), this));
    this.canvas.addEventListener("pointerleave", () => pointAt(null, this));
    this.canvas.addEventListener("blur", () => pointAt(null, this));
    this.canvas.addEventListener("keydown", (event) => {
      const step = { ArrowLeft: -1, ArrowRight: 1 }[event.key];
      if (!step || event.shiftKey || !this.#drawnSeries().length) return;
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
  render({ now, connected, state, sources, oldest, largest, view, notes }) {
    this.#view = view;
    const source = sources.get(this.query.source);
    if (this.missing) return this.#showMiddle("unlink", "This query no longer exists.", "Remove the panel, or undo the deletion.");
    this.past.need(view);
    if (!this.query.known) return this.#showLoading({ query: this.query, connected, state });
    this.#loaded();
    this.#showSwitch();
    const delay = delayOf(this.query, source, now);
    const said = panelState({ query: this.query, connected, state, source, now, delay });
    this.#showBadge(said, delay);
    this.#showStrip(said ?? this.#pastState());
    const { until } = view;
    this.element.classList.toggle("is-grouped", this.query.groupBy.length > 0);
    const series = this.#drawnSeries();
    this.#showRange(series);
    const stale = this.#staleFrom(said, now);
    const marks = { provisional: this.#firstProvisional(source, now), stale, label: largest, notes };
    const shownTo = stale && view.live ? Math.max(stale, this.#newestFinal()) : until;
    const from = view.live && view.isDefault ? shownFrom(oldest, until) : view.from;
    if (this.#mustDraw({ from, until, marks })) {
      this.chart.draw({ series, from, until, now: shownTo, heard: source?.max_event_time ?? until, marks });
    }
    this.legend.show({ series, heading: this.#heading(), note: this.#groupNote(), range: this.chart.range });
    this.canvas.setAttribute("aria-label", this.#sentence(series));
    if (this.pointed) this.pointAt(this.pointed, !this.tip.hidden);
  }

  /** Whether a drawing would look different: something changed, or time has moved by a part of a pixel. */
  #mustDraw({ from, until, marks }) {
    const perPixel = (until - from) / Math.max(1, this.canvas.clientWidth);
    const wait = Math.min(LONGEST_WAIT_MS, Math.max(0, perPixel / 4));
    const place = [this.canvas.clientWidth, this.canvas.clientHeight, this.chart.isReady, document.documentElement.dataset.bsTheme];
    const look = JSON.stringify([this.#view.key, this.#computation, [...this.#hidden], marks.notes, marks.stale, ...place]);
    const soon = this.#drawn === look && performance.now() - this.#drawnAt < wait && this.#drawnRevision === this.query.shape;
    if (soon) return false;
    [this.#drawn, this.#drawnAt, this.#drawnRevision] = [look, performance.now(), this.query.shape];
    return true;
  }

  /** What there is to say of the kept past, where it is shown. */
  #pastState() {
    const waited = this.past.loading ? performance.now() - this.past.askedAt : 0;
    if (waited > LOADING_TEXT_AFTER_MS) return this.#stillLoading({ text: "Cancel", run: () => this.past.cancel() });
    if (!this.past.problem) return null;
    return { tone: "is-warn", icon: "history-off", bold: "The past is not shown.", rest: `${this.past.problem} Trying again.` };
  }

  #drawnSeries() {
    const grouped = this.query.groupBy?.length > 0;
    const drawn = this.query.shown(this.#view).filter(({ computation }) => computation === this.#computation);
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

  /** Where nothing new can have come, if it can be seen. */
  #staleFrom(said, now) {
    if (!said?.from || this.query.empty) return null;
    const from = Math.min(this.query.newestEnd(), said.from, now);
    return this.#view.live || from < this.#view.until ? from : null;
  }

  #firstProvisional(source, now) {
    const watermark = source?.watermark;
    return watermark && watermark < now ? watermark : null;
  }

  #heading() {
    return this.query.groupBy.length ? this.query.groupBy.join(", ") : "Window";
  }

  #groupNote() {
    const { count, groups, by } = this.query.ranking(this.#view, this.#computation);
    return groups > count ? `${count} of ${whole(groups)}, by the ${by}` : "";
  }

  #sentence(series) {
    const title = this.element.querySelector("h2")?.textContent ?? "Live results";
    const what = this.query.computations.length > 1 ? `${this.#computation}, ` : "";
    return `${title}: line chart of ${what}${series.map((one) => one.label).join(", ") || "no series yet"}, ${rangeWords(this.control.range, this.#view.until).toLowerCase()}.`;
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
    const action = said.action ? make(said.action.run ? "button" : "a", "btn btn-small", said.action.text) : null;
    if (said.action?.run) action.addEventListener("click", said.action.run);
    else if (action) action.href = said.action.address;
    this.strip.replaceChildren(icon(said.icon), make("b", "", said.bold), make("p", "not-on-phone", said.rest), ...(action ? [action] : []));
  }

  #showRange(series) {
    if (this.past.loading || !outOfRange(this.query, series, this.#view)) {
      this.middle.hidden = true;
      return;
    }
    const newest = Math.max(this.query.newestEnd(), this.query.last ?? -Infinity);
    const go = make("button", "btn btn-small", `Go to ${clock(newest)}`);
    go.type = "button";
    go.addEventListener("click", () => this.control.between(newest - LOOK_BACK_MS, newest + 1_000));
    this.#showMiddle("calendar-off", "No data in this range.", `The newest result is from ${clock(newest)}.`, this.control.element ? go : null);
  }

  #showMiddle(symbol, bold, rest, action = null) {
    this.#loaded();
    this.middle.hidden = false;
    if (this.middle.dataset.said === bold + rest) return;
    this.middle.dataset.said = bold + rest;
    this.middle.replaceChildren(icon(symbol), make("b", "", bold), make("p", "", rest), ...(action ? [action] : []));
  }

  #stillLoading(action = null) {
    const { from, until } = this.#view;
    const count = this.query.series.size;
    const series = count ? ` of ${count} series` : "";
    return { tone: "", icon: "loader", bold: "Still loading:", rest: `${spanWords(until - from)}${series}.`, action };
  }

  #loaded() {
    this.skeleton.hidden = true;
    this.element.classList.remove("is-loading");
  }

  #showLoading(facts) {
    const waited = performance.now() - this.#began;
    this.skeleton.hidden = waited < LOADING_AFTER_MS;
    this.#showStrip(waitingState(facts) ?? (waited > LOADING_TEXT_AFTER_MS ? this.#stillLoading() : null));
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
      if (near && near[1] !== null && Math.abs(near[0] - time) <= Math.max(one.slide, 2 * (one.step ?? 0))) rows.push({ ...one, point: near });
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
    const why = final ? null : make("div", "tip-why", "Late events may still change it.");
    this.tip.replaceChildren(make("div", "tip-head", head), ...lines, why ?? "");
    const x = this.chart.pixelAt(time);
    const left = x > this.canvas.clientWidth / 2;
    this.tip.style.left = left ? "" : `${x + 14}px`;
    this.tip.style.right = left ? `${this.canvas.clientWidth - x + 14}px` : "";
  }
}
