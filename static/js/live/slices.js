// A tree on its time axis: where its slices end, which query closes a window at each edge, and what that covers.
import { clock, windowLength } from "./format.js";

const NS = "http://www.w3.org/2000/svg";
const LEFT = 250;
const ROW = { least: 28, most: 56 }; // rows spread over the panel's height
const BELOW = 24; // room for the times
const TOP = 12;
const FIRST_ROW = TOP + 34;
const SLICE = 16;
const MAX_EDGES = 14;
const MOST_ROWS = 10; // of queries; the rest is one row

function svg(tag, attributes, text = null) {
  const element = document.createElementNS(NS, tag);
  for (const [name, value] of Object.entries(attributes)) element.setAttribute(name, value);
  if (text !== null) element.textContent = text;
  return element;
}

/** The first edge after an instant. */
function edgeAfter(classes, instant) {
  const next = ([period, residue]) => instant + period - ((((instant - residue) % period) + period) % period);
  return Math.min(...classes.map(next));
}

function edgesBetween(classes, from, to, limit) {
  const edges = [];
  for (let at = edgeAfter(classes, from - 1); at <= to && edges.length < limit; at = edgeAfter(classes, at)) edges.push(at);
  return edges;
}

/** A span that holds some twenty edges, most of them past. */
function spanAround(classes, now) {
  const ahead = edgesBetween(classes, now, Infinity, MAX_EDGES);
  const length = ahead.at(-1) - now || 60_000;
  return [now - length * 0.8, now + length * 0.2];
}

function cadence({ range, slide, slowest = slide }) {
  const every = slowest === slide ? `every ${windowLength(slide)}` : `every ${windowLength(slide)} to ${windowLength(slowest)}`;
  return range ? `${windowLength(range)} ${every}` : every;
}

/** Rows to draw: queries by themselves, and those there is no room for as one, which closes where any of them does. */
export function rowsOf(queries) {
  if (queries.length <= MOST_ROWS) return queries.map((query) => ({ ...query, closes: [[query.slide, query.end]] }));
  const shown = queries.slice(0, MOST_ROWS - 1).map((query) => ({ ...query, closes: [[query.slide, query.end]] }));
  const rest = queries.slice(MOST_ROWS - 1);
  const classes = [...new Map(rest.map(({ slide, end }) => [`${slide} ${end}`, [slide, end]])).values()];
  const slides = rest.map(({ slide }) => slide);
  return [...shown, { name: `${rest.length} more`, aggregate: rest.map(({ name }) => name).join(", "), closes: classes, slide: Math.min(...slides), slowest: Math.max(...slides), range: null }];
}

export class SliceDrawing {
  #drawnFor = null;
  #observer;

  constructor(box, timeline) {
    this.box = box;
    this.timeline = { ...timeline, queries: rowsOf(timeline.queries) };
    this.nextEdge = document.getElementById("next-edge");
    this.#observer = new ResizeObserver(() => (this.#drawnFor = null));
    this.#observer.observe(box);
  }

  stop() {
    this.#observer.disconnect();
  }

  render({ now }) {
    const next = edgeAfter(this.timeline.edges, now);
    this.nextEdge.textContent = `Next edge in ${Math.max(1, Math.ceil((next - now) / 1000))} s`;
    if (this.#drawnFor === Math.floor(now / 1000)) return;
    this.#drawnFor = Math.floor(now / 1000);
    this.#draw(this.timeline, now);
  }

  #draw(timeline, now) {
    const width = Math.max(620, this.box.clientWidth - 24);
    const [from, to] = spanAround(timeline.edges, now);
    const x = (time) => LEFT + ((time - from) / (to - from)) * (width - LEFT - 10);
    const count = timeline.queries.length;
    const row = Math.min(ROW.most, Math.max(ROW.least, (this.box.clientHeight - FIRST_ROW - BELOW - 10) / count));
    const height = FIRST_ROW + row * count + BELOW;
    const drawing = svg("svg", { width, height, role: "img", "aria-label": "Slices between edges, which query closes a window at each edge, and what its newest window covers" });
    const edges = edgesBetween(timeline.edges, from, to, 4 * MAX_EDGES);
    drawing.append(...this.#slices(edges, x, now), ...this.#grid(edges, x, height), ...timeline.queries.flatMap((query, at) => this.#row(query, FIRST_ROW + row * (at + 0.5), { from, to, x, now })), ...this.#times(from, to, x, now, height));
    this.box.replaceChildren(drawing);
  }

  #slices(edges, x, now) {
    const shapes = [svg("text", { x: 0, y: TOP + 12, "font-size": 12, "font-weight": 600, fill: "var(--ink)" }, "Slices")];
    edges.slice(0, -1).forEach((from, at) => {
      const to = edges[at + 1];
      const closed = to <= now;
      const wide = x(to) - x(from) - 2;
      shapes.push(svg("rect", {
        x: x(from) + 1, y: TOP, width: Math.max(1, wide), height: SLICE, rx: 2,
        fill: closed ? "var(--accent)" : "none", "fill-opacity": 0.26,
        ...(closed ? {} : { stroke: "var(--accent)", "stroke-dasharray": "3 2" }),
      }));
      const straddles = from < now && to > now;
      if (wide > 34 && !straddles) shapes.push(svg("text", { x: (x(from) + x(to)) / 2, y: TOP + 12, "font-size": 11, fill: "var(--ink)", "text-anchor": "middle" }, windowLength(to - from)));
    });
    return shapes;
  }

  #grid(edges, x, height) {
    return edges.map((edge) => svg("line", { x1: x(edge), x2: x(edge), y1: TOP, y2: height - BELOW, stroke: "var(--line)" }));
  }

  #row(query, y, { from, to, x, now }) {
    const name = query.name.length > 22 ? `${query.name.slice(0, 21)}…` : query.name;
    const shapes = [
      svg("text", { x: 0, y: y + 4, "font-size": 12.5, fill: "var(--ink)" }, name),
      svg("text", { x: LEFT - 16, y: y + 4, "font-size": 11, fill: "var(--ink-3)", "text-anchor": "end" }, cadence(query)),
      svg("line", { x1: x(from), x2: x(to), y1: y, y2: y, stroke: "var(--grid)" }),
    ];
    shapes[0].append(svg("title", {}, `${query.name}: ${query.aggregate}`));
    const ends = edgesBetween(query.closes, from, to, 4 * MAX_EDGES);
    const newest = ends.findLast((end) => end <= now);
    if (newest && query.range) {
      const left = x(Math.max(from, newest - query.range));
      shapes.push(svg("rect", { x: left, y: y - 6, width: x(newest) - left, height: 12, rx: 3, fill: "var(--accent)", "fill-opacity": 0.16 }));
    }
    for (const end of ends) {
      shapes.push(svg("circle", { cx: x(end), cy: y, r: 4, fill: end > now ? "var(--surface)" : "var(--accent)", stroke: "var(--accent)", "stroke-width": 1.5 }));
    }
    return shapes;
  }

  #times(from, to, x, now, height) {
    const step = (to - from) / 5;
    const unit = step > 60_000 ? 60_000 : step > 5_000 ? 5_000 : 1_000;
    const every = Math.max(unit, Math.ceil(step / unit) * unit);
    const shapes = [
      svg("line", { x1: x(now), x2: x(now), y1: 4, y2: height - 18, stroke: "var(--ink)", "stroke-opacity": 0.6 }),
      svg("text", { x: x(now), y: height - 4, "font-size": 11, "font-weight": 600, "text-anchor": "middle", fill: "var(--ink)" }, "now"),
    ];
    for (let at = Math.ceil(from / every) * every; at <= to; at += every) {
      if (Math.abs(x(at) - x(now)) < 46 || x(at) > x(to) - 20) continue;
      shapes.push(svg("text", { x: x(at), y: height - 4, "font-size": 11, fill: "var(--ink-3)", "text-anchor": "middle" }, clock(at, { seconds: true })));
    }
    return shapes;
  }
}
