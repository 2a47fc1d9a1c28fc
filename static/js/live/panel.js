// A live panel: badge, state strip, picture, legend. Everything it says comes from the socket.
// The picture is drawn by kinds/NAME.js, which is loaded by its name.
import { joinCrosshair, leaveCrosshair, pointAt } from "./crosshair.js";
import { dot, icon, make, setText } from "./dom.js";
import { DrawnSeries } from "./drawnseries.js";
import { clock, duration, spanWords, whole } from "./format.js";
import { HoverCard, marksAt, valuesAt } from "./hovercard.js";
import { hiddenInAddress, keepHidden } from "./legend-address.js";
import { Legend } from "./legend.js";
import { shownFrom } from "./linechart.js";
import { PanelTable } from "./paneltable.js";
import { PastLoader } from "./past.js";
import { QuerySeries } from "./series.js";
import { settingsOf, wishes } from "./settings.js";
import { delayOf, freshLimit, outOfRange, panelState, waitingState } from "./states.js";
import { StateStrip } from "./strip.js";
import { computationChoices, Switch } from "./switch.js";
import { rangeWords } from "./timerange.js";
import { axisFormats } from "./values.js";
import { watchZoom } from "./zoom.js";

const LOADING_AFTER_MS = 200;
const LOADING_TEXT_AFTER_MS = 3_000;
const SAID_FIRINGS = 5; // in the sentence of a chart
const LOW_PX = 300; // under this height the legend is a line, not a table
const NARROW_PX = 480; // under this width it stands below the chart
const LOOK_BACK_MS = 15 * 60_000;
const LONGEST_WAIT_MS = 5_000;
const NEARLY_IN_SIGHT = "50% 0px";
const SEVERITY = ["is-bad", "is-warn", "is-warm", ""];

export class Panel {
  #series;
  #hidden;
  #began = performance.now();
  #computation = null; // which of several is drawn: they may have nothing in common but their windows
  #view = { from: -Infinity, until: Infinity, live: true };
  #drawn = ""; // what the drawing depends on: nothing that did not change is drawn again
  #drawnAt = 0;
  #size = { width: 0, height: 0 }; // of the picture, as the browser last told it: to ask would lay the page out
  #lost = new Set(); // keys of queries that are no more
  #latest = null; // what was rendered last

  /** `control` is the page's time range, `pastAddress` where the kept past lies. */
  constructor(element, control, pastAddress, settings = settingsOf(element)) {
    this.element = element;
    this.control = control;
    this.pastAddress = pastAddress;
    this.settings = settings;
    this.formats = axisFormats(settings);
    this.#series = new DrawnSeries(settings, this.formats);
    this.queries = [...new Set(settings.shows.map(({ query }) => query))].map((key) => new QuerySeries(key));
    this.pasts = this.queries.map((query) => new PastLoader(query, pastAddress, () => this.#wish(query.key)));
    for (const past of this.pasts) past.onChange = () => this.onChange?.();
    this.chosenWindow = null; // of a query by groups, which shows one at a time unless it is set
    this.inSight = false; // or nearly: what is further away is not drawn
    this.kind = null;
    this.#hidden = new Set(hiddenInAddress(element.dataset.panelId));
    element.classList.add("is-loading", `kind-${settings.kind}`);
    this.#build();
    this.ready = import(`./kinds/${settings.kind}.js`).then(({ Kind }) => this.#mount(Kind));
    joinCrosshair(this);
  }

  /** Take all that it built away, so that another panel may stand in the same place. */
  destroy() {
    leaveCrosshair(this);
    this.resized.disconnect();
    this.measured.disconnect();
    this.seen.disconnect();
    this.kind?.destroy?.();
    for (const part of [this.computation.element, this.window.element, this.badge, this.strip.element, this.body, this.kind?.inHead]) part?.remove();
    this.element.classList.remove(`kind-${this.settings.kind}`, "is-grouped", "is-loading", "has-legend");
  }

  /** Which windows and how many groups of a query are shown: of its past, too. */
  #wish(key) {
    return wishes([this])[key];
  }

  watches(key) {
    return this.queries.some((query) => query.key === key);
  }

  /** A message about one of its queries; false when one before it is missing. */
  take(message, now) {
    this.#lost.delete(message.query); // it may have been brought back
    return this.queries.filter(({ key }) => key === message.query).every((query) => query.take(message, now));
  }

  lose(key) {
    this.#lost.add(key);
  }

  oldestEnd() {
    return Math.min(...this.queries.map((query) => query.oldestEnd()));
  }

  /** How far its newest result is behind the clock; null while there is none. */
  delay(sources, now) {
    const delays = this.queries.filter(({ known }) => known).map((query) => delayOf(query, sources.get(query.source), now));
    return delays.includes(null) || !delays.length ? null : Math.max(...delays);
  }

  #build() {
    const head = this.element.querySelector(".panel-head") ?? this.element.appendChild(make("div", "panel-head"));
    this.badge = make("span", "delay");
    this.computation = new Switch("What is shown", (words) => {
      this.#computation = words;
      this.onChange?.();
    });
    this.window = new Switch("Window", (written) => {
      this.chosenWindow = written;
      this.onWindow?.();
    });
    const parts = [this.computation.element, this.window.element, this.badge];
    head.querySelector(".panel-menu") ? head.querySelector(".panel-menu").before(...parts) : head.append(...parts);
    this.strip = new StateStrip();
    this.card = new HoverCard();
    this.middle = make("div", "middle over-plot");
    this.middle.hidden = true;
    this.skeleton = make("div", "plot-skeleton");
    this.skeleton.hidden = true;
    this.place = make("div", "kind-place");
    this.plot = make("div", "plot", this.place, this.card.element, this.skeleton, this.middle);
    this.legend = new Legend((id, hides) => this.#pick(id, hides));
    this.legend.element.hidden = true;
    this.table = new PanelTable();
    this.body = make("div", "chart-and-keys", make("div", "panel-body", this.plot), this.legend.element, this.table.element);
    this.element.append(this.strip.element, this.body);
    this.resized = new ResizeObserver(([{ contentRect }]) => this.#fit(contentRect));
    this.resized.observe(this.element);
    this.seen = new IntersectionObserver((entries) => this.#see(entries.at(-1).isIntersecting), { rootMargin: NEARLY_IN_SIGHT });
    this.seen.observe(this.element);
    this.measured = new ResizeObserver(([{ contentRect }]) => this.#measure(contentRect));
    this.measured.observe(this.place);
    this.body.addEventListener("keydown", (event) => this.#key(event));
  }

  #fit({ width, height }) {
    this.element.classList.toggle("is-low", height < LOW_PX);
    this.element.classList.toggle("is-narrow", width < NARROW_PX);
  }

  #see(inSight) {
    const came = inSight && !this.inSight;
    this.inSight = inSight;
    if (came) this.onChange?.();
  }

  #measure(size) {
    this.#size = size;
    this.kind?.resize?.(size);
  }

  #mount(Kind) {
    if (!this.body.isConnected) return; // another panel has taken its place meanwhile
    this.kind = new Kind(this.place, this.settings);
    this.element.classList.toggle("has-legend", Boolean(Kind.legend));
    this.element.classList.toggle("needs-no-query", Boolean(Kind.needsNoQuery));
    if (this.kind.inHead) this.badge.before(this.kind.inHead);
    const canvas = (this.canvas = this.kind.canvas ?? null);
    if (canvas) {
      canvas.millraceSeries = () => this.drawnSeries().map(({ label, points }) => ({ label, points: [...points.values()] }));
      this.#listen(canvas);
    }
    this.onChange?.();
  }

  #listen(canvas) {
    canvas.tabIndex = 0;
    canvas.setAttribute("role", "img");
    if (!this.kind.timeAt) return;
    watchZoom(this.plot, canvas, this.kind, this.control);
    canvas.addEventListener("pointermove", (event) => pointAt(this.kind.timeAt(event.offsetX), this));
    canvas.addEventListener("pointerleave", () => pointAt(null, this));
    canvas.addEventListener("blur", () => pointAt(null, this));
    canvas.addEventListener("keydown", (event) => {
      const step = { ArrowLeft: -1, ArrowRight: 1 }[event.key];
      if (!step || event.ctrlKey || event.shiftKey || !this.drawnSeries().length) return;
      event.preventDefault();
      event.stopPropagation(); // the grid moves panels with arrows, too
      const [from, to] = this.kind.range;
      const slide = Math.min(...this.queries.map((query) => query.shortestSlide()));
      pointAt(Math.min(to, Math.max(from, (this.pointed ?? to) + step * slide)), this);
    });
  }

  #key(event) {
    const typing = event.target.closest("input, textarea, select");
    if (event.key !== "t" && event.key !== "T") return;
    if (typing || event.ctrlKey || event.metaKey || event.altKey || !this.canvas?.contains(event.target)) return;
    event.preventDefault();
    event.stopPropagation();
    this.toggleTable();
  }

  /** The same as a table, in the place of the picture; focus goes along. */
  toggleTable() {
    const shown = this.table.toggle();
    this.element.classList.toggle("as-table", shown);
    this.#renderTable();
    if (shown) this.table.element.focus();
    else this.canvas?.focus();
    return shown;
  }

  #renderTable() {
    if (this.table.shown && this.#latest) this.table.show(this.#latest);
  }

  get empty() {
    return this.queries.every((query) => query.empty);
  }

  /** What the viewer has switched to, as far as there is a choice. */
  get picked() {
    const [window, computation] = [this.chosenWindow, this.#computation];
    return { ...(window === null ? {} : { window }), ...(computation === null ? {} : { computation }) };
  }

  /** Switches of a panel of one query: between its computations, and between the windows where it is by groups. */
  #showSwitches() {
    const [show] = this.settings.shows;
    const alone = this.settings.shows.length === 1;
    const { computations, choices } = this.queries[0];
    const known = alone && !show.computation ? (computations ?? []) : [];
    if (!known.includes(this.#computation)) this.#computation = known[0] ?? null;
    this.computation.offer(computationChoices(known), this.#computation);
    this.window.offer(alone && !show.windows ? choices : [], this.chosenWindow ?? choices[0]?.[0]);
  }

  /** Draw what is known, as of `now`; `facts` are the socket's state, the job's and the sources'. */
  render(facts) {
    this.#view = facts.view;
    for (const past of this.pasts) if (!this.#lost.has(past.query.key)) past.need(this.#view);
    if (!this.kind) return;
    if (!this.queries.length) return this.#drawWithoutQuery();
    const there = this.queries.filter(({ key }) => !this.#lost.has(key));
    if (!there.length) return this.#showMiddle("unlink", "This query no longer exists.", "Remove the panel, or undo the deletion.");
    if (!there.every(({ known }) => known)) return this.#showLoading({ ...facts, query: there.find(({ known }) => !known) });
    this.#loaded();
    this.#showSwitches();
    this.#draw(facts, there);
  }

  #drawWithoutQuery() {
    this.#loaded();
    this.badge.hidden = true;
    this.kind.draw({ settings: this.settings });
  }

  #draw({ now, connected, state, sources, warnings, oldest, largest, view, notesOf }, queries) {
    const delay = this.delay(sources, now);
    const said = this.#worst(queries, (query) => {
      const source = sources.get(query.source);
      return panelState({ query, connected, state, source, warning: warnings[query.key], now, delay: delayOf(query, source, now) });
    });
    this.#showBadge(said, delay);
    this.strip.show(said ?? this.#pastState());
    const { until } = view;
    const series = this.drawnSeries();
    this.#showRange(queries, series);
    const stale = this.#staleFrom(said, queries, now);
    const shownTo = stale && view.live ? Math.max(stale, this.#newestFinal(queries)) : until;
    const from = view.live && view.isDefault ? shownFrom(oldest, until) : view.from;
    const heard = Math.max(...queries.map(({ source }) => sources.get(source)?.max_event_time ?? until));
    const marks = { provisional: this.#firstProvisional(queries, sources, now), stale, label: largest, notes: this.#notes(queries, notesOf) };
    const picture = { series, from, until, now: shownTo, heard, marks, settings: this.settings, format: this.formats.y, groups: this.#groups(queries) };
    const rows = this.legend.count;
    this.#showLegend(series, [from, until], queries);
    // With its legend the picture changes its size: it is first drawn once that is known, instead of twice.
    if (this.legend.count !== rows && !this.#drawn) this.onChange?.();
    else if (this.inSight && this.#mustDraw(picture, queries)) this.kind.draw(picture);
    this.#latest = { series, range: [from, until], notes: marks.notes }; // what is out of sight has it, too
    this.canvas?.setAttribute("aria-label", this.#sentence(this.#latest));
    this.#renderTable();
    if (this.pointed) this.pointAt(this.pointed, this.card.shown);
  }

  #worst(queries, stateOf) {
    const states = queries.map(stateOf).filter((said) => said !== null);
    return states.sort((a, b) => SEVERITY.indexOf(a.tone) - SEVERITY.indexOf(b.tone))[0] ?? null;
  }

  /** Whether a drawing would look different: something changed, or time has moved by a part of a pixel. */
  #mustDraw({ from, until, marks }, queries) {
    const { width, height } = this.#size;
    const wait = Math.min(LONGEST_WAIT_MS, Math.max(0, (until - from) / Math.max(1, width) / 4));
    const place = [width, height, this.kind.isReady ?? true, document.documentElement.dataset.bsTheme];
    const shapes = queries.map(({ key, shape }) => [key, shape]);
    const look = JSON.stringify([this.#view.key, this.#computation, this.chosenWindow, [...this.#hidden], marks.notes, marks.stale, shapes, ...place]);
    if (this.#drawn === look && performance.now() - this.#drawnAt < wait) return false;
    [this.#drawn, this.#drawnAt] = [look, performance.now()];
    return true;
  }

  /** Where nothing new can have come, if it can be seen. */
  #staleFrom(said, queries, now) {
    if (!said?.from || this.empty) return null;
    const from = Math.min(Math.max(...queries.map((query) => query.newestEnd())), said.from, now);
    return this.#view.live || from < this.#view.until ? from : null;
  }

  get #loading() {
    return this.pasts.find(({ loading }) => loading) ?? null;
  }

  /** What there is to say of the kept past, where it is shown. */
  #pastState() {
    const late = this.pasts.find(({ loading, askedAt }) => loading && performance.now() - askedAt > LOADING_TEXT_AFTER_MS);
    if (late) return this.#stillLoading({ text: "Cancel", run: () => this.pasts.forEach((past) => past.cancel()) });
    const problem = this.pasts.map((past) => past.problem).find(Boolean);
    return problem ? { tone: "is-warn", icon: "history-off", bold: "The past is not shown.", rest: `${problem} Trying again.` } : null;
  }

  #stillLoading(action = null) {
    const { from, until } = this.#view;
    const count = this.queries.reduce((sum, query) => sum + query.series.size, 0);
    return { tone: "", icon: "loader", bold: "Still loading:", rest: `${spanWords(until - from)}${count ? ` of ${count} series` : ""}.`, action };
  }

  #notes(queries, notesOf) {
    const all = queries.flatMap((query) => notesOf(query.key, query.edits));
    return [...new Map(all.map((note) => [`${note.time} ${note.text}`, note])).values()];
  }

  /** The series as they are drawn. */
  drawnSeries() {
    const known = this.queries.filter((query) => query.known && !this.#lost.has(query.key));
    const queryOf = (key) => known.find((query) => query.key === key);
    return this.#series.of({ queryOf, view: this.#view, computation: this.#computation, window: this.chosenWindow, hidden: this.#hidden });
  }

  #newestFinal(queries) {
    const finals = queries.flatMap((query) => query.all().flatMap(({ points }) => [...points.values()].filter(([, , final]) => final)));
    return finals.length ? Math.max(...finals.map(([end]) => end)) : -Infinity;
  }

  #firstProvisional(queries, sources, now) {
    const marks = queries.map(({ source }) => sources.get(source)?.watermark).filter((mark) => mark && mark < now);
    return marks.length ? Math.min(...marks) : null;
  }

  #groups(queries) {
    const [query] = queries.filter(({ groupBy }) => groupBy.length);
    return query ? { by: query.groupBy, count: query.groupCount(this.#view) } : null;
  }

  #showLegend(series, range, queries) {
    const grouped = queries.some(({ groupBy }) => groupBy.length > 0);
    this.legend.element.hidden = !this.element.classList.contains("has-legend");
    this.element.classList.toggle("is-grouped", grouped && !this.legend.element.hidden);
    if (this.legend.element.hidden) return;
    const heading = this.settings.shows.length > 1 ? "Series" : grouped ? queries[0].groupBy.join(", ") : "Window";
    this.legend.show({ series, heading, note: this.#groupNote(series, queries), range });
  }

  #groupNote(series, queries) {
    const groups = this.#groups(queries);
    const by = this.#view.live ? "newest final value" : "greatest value";
    const shown = new Set(series.filter(({ group }) => group.length).map(({ group }) => JSON.stringify(group))).size;
    return groups && groups.count > shown ? `${shown} of ${whole(groups.count)}, by the ${by}` : "";
  }

  #sentence({ series, range: [from, until], notes }) {
    const title = this.element.querySelector("h2")?.textContent ?? "Live results";
    const what = this.#computation !== null && this.queries[0].computations.length > 1 ? `${this.#computation}, ` : "";
    const edits = this.queries.flatMap((query) => query.edits ?? []).map(([time, text]) => ` At ${clock(time)} ${text}.`).join("");
    const fired = notes.filter(({ time, tone }) => tone === "bad" && time >= from && time <= until).sort((a, b) => a.time - b.time);
    const alerts = fired.slice(-SAID_FIRINGS).map(({ time, text }) => ` At ${clock(time)} ${text}.`).join("");
    const when = rangeWords(this.control.range, this.#view.until).toLowerCase();
    return `${title}: ${this.kind.constructor.words} of ${what}${series.map((one) => one.label).join(", ") || "no series yet"}, ${when}.${edits}${alerts}`;
  }

  #showBadge(said, delay) {
    const limit = this.empty ? 0 : freshLimit(Math.min(...this.queries.map((query) => query.shortestSlide())));
    const kind = said?.badge ?? (delay > 5 * limit ? "is-bad" : delay > limit ? "is-warn" : "");
    const text = said?.word ?? (delay === null ? "" : duration(delay));
    if (this.badge.dataset.kind !== kind) {
      this.badge.replaceChildren(dot(kind), make("span"));
      this.badge.dataset.kind = kind;
    }
    setText(this.badge.lastChild, text);
    this.badge.title = delay === null ? "" : `The newest result is ${duration(delay)} behind the clock.`;
  }

  #showRange(queries, series) {
    if (this.#loading || !queries.every((query) => outOfRange(query, series, this.#view))) {
      this.middle.hidden = true;
      return;
    }
    const newest = Math.max(...queries.map((query) => Math.max(query.newestEnd(), query.last ?? -Infinity)));
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

  #loaded() {
    this.skeleton.hidden = true;
    this.element.classList.remove("is-loading");
  }

  #showLoading(facts) {
    const waited = performance.now() - this.#began;
    this.skeleton.hidden = waited < LOADING_AFTER_MS;
    this.strip.show(waitingState(facts) ?? (waited > LOADING_TEXT_AFTER_MS ? this.#stillLoading() : null));
  }

  #pick(id, hides) {
    const ids = this.drawnSeries().map((one) => one.id);
    if (hides) this.#hidden.has(id) ? this.#hidden.delete(id) : this.#hidden.add(id);
    else {
      const alone = ids.every((other) => (other === id) !== this.#hidden.has(other));
      this.#hidden = new Set(alone ? [] : ids.filter((other) => other !== id));
    }
    keepHidden(this.element.dataset.panelId, this.#hidden);
    this.onChange?.();
  }

  /** Crosshair at a time; the panel under the pointer also shows the values. */
  pointAt(time, withValues) {
    this.pointed = time;
    if (!this.kind?.point) return;
    const rows = time === null ? [] : valuesAt(this.drawnSeries(), time);
    this.kind.point(time, rows.map(({ style, point, axis }) => ({ time: point[0], value: point[1], colour: style.colour, axis })));
    const pixelAt = (at) => this.kind.pixelAt(at);
    const marks = time === null ? [] : marksAt(this.#latest?.notes ?? [], time, pixelAt);
    if (!withValues || !(rows.length || marks.length)) return this.card.hide(); // an alert may fire because there is no value
    this.card.show({ time, rows, marks, x: pixelAt(time), width: this.plot.clientWidth });
  }
}
