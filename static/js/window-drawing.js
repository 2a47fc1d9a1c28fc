// <window-drawing data-windows='{"windows": [[range, slide, offset], …], "edges": [[period, residue], …]}'>
// Windows on a time axis, to scale: the newest of each size in full, three older ones fading, slices on top.
import { clock, roughly, spoken, tickStep } from "./durations.js";

const LABEL = 62; // room for the sizes at the left
const NARROW = 520;
const FADES = [1, 0.42, 0.26, 0.14];
const ROW = 44;
const OWN_SCALE_FROM = 20; // longest over shortest
const MOST_SLICES = 400;
const FAINTEST_SLICE_PX = 3;

const lastAt = (instant, [period, residue]) => instant - (((instant - residue) % period) + period) % period;

/** Instants in [from, to] at which slices end, oldest first; null when there are too many to tell apart. */
function edgesBetween(classes, from, to) {
  const found = new Set();
  for (const one of classes) {
    if ((to - from) / one[0] > MOST_SLICES) return null;
    for (let at = lastAt(to, one); at >= from; at -= one[0]) found.add(at);
  }
  return found.size > MOST_SLICES ? null : [...found].sort((a, b) => a - b);
}

function sliceWords(classes, now) {
  const longest = Math.max(...classes.map(([period]) => period));
  const edges = edgesBetween(classes, now - 4 * longest, now);
  if (!edges) return "many short slices";
  const lengths = [...new Set(edges.slice(1).map((at, index) => at - edges[index]))].sort((a, b) => a - b);
  if (lengths.length > 3) return `slices of ${spoken(lengths[0])} to ${spoken(lengths.at(-1))}`;
  return `slices of ${lengths.map(spoken).join(" and ")}`;
}

/** The end of the newest window that is complete. */
const newestEnd = ([range, slide, offset], now) => lastAt(now, [slide, (range + offset) % slide]);
const windowColour = (index, count) => `var(--w${count === 1 ? 2 : 1 + Math.round((index / (count - 1)) * 2)})`;
const text = (x, y, words, more = "", { size = 12, ink = "ink-3" } = {}) => `<text x="${x}" y="${y}" font-size="${size}" fill="var(--${ink})" ${more}>${words}</text>`;

class WindowDrawing extends HTMLElement {
  connectedCallback() {
    ({ windows: this.windows, edges: this.edges } = JSON.parse(this.dataset.windows));
    this.resized = new ResizeObserver(() => this.draw());
    this.resized.observe(this);
    this.ticking = setInterval(() => this.sayNext(), 1_000);
  }

  disconnectedCallback() {
    this.resized.disconnect();
    clearInterval(this.ticking);
  }

  /** The header of the panel says what the drawing cannot: the slices in words, and when the next result is due. */
  sayNext() {
    const panel = this.closest(".panel");
    const now = Date.now();
    const next = Math.min(...this.windows.map((window) => newestEnd(window, now) + window[1]));
    panel.querySelector("[data-next-result]").textContent = `next window ends in ${Math.ceil((next - now) / 1_000)} s`;
    const shared = this.windows.length > 1 ? "all windows share " : "built from ";
    panel.querySelector("[data-caption]").textContent = shared + sliceWords(this.edges, now);
  }

  draw() {
    const width = Math.floor(this.clientWidth);
    if (!width) return;
    this.sayNext();
    const right = width < NARROW ? 74 : 112;
    const ranges = this.windows.map(([range]) => range);
    const ownScales = Math.max(...ranges) > OWN_SCALE_FROM * Math.min(...ranges);
    const now = Date.now();
    const scaleOf = ([range, slide]) => {
      const span = Math.max(range + 3 * slide, range * 1.25) * 1.06;
      return { from: now - span, x: (at) => LABEL + ((at - (now - span)) / span) * (width - LABEL - right) };
    };
    const widest = scaleOf(this.windows.reduce((a, b) => (b[0] + 3 * b[1] > a[0] + 3 * a[1] ? b : a)));
    let y = 12;
    let marks = this.slices(widest, now, width, y);
    y += 28;
    this.windows.forEach((window, index) => {
      marks += this.row(window, index, ownScales ? scaleOf(window) : widest, { now, width, y, ownScales });
      y += ROW;
    });
    const bottom = y;
    const frame = ownScales ? "" : this.axis(widest, now, width, bottom);
    marks += `<line x1="${widest.x(now)}" x2="${widest.x(now)}" y1="4" y2="${bottom - 6}" stroke="var(--ink)" stroke-opacity=".55"/>`;
    marks += text(widest.x(now), bottom + 9, "now", 'text-anchor="middle" font-weight="600"', { size: 11, ink: "ink" });
    this.innerHTML = `<svg width="${width}" height="${bottom + 14}" role="img" aria-label="${this.sentence()}">${frame}${marks}</svg>`;
  }

  slices(scale, now, width, y) {
    const end = text(0, y + 9, "Slices", "", { ink: "ink-2" });
    const edges = edgesBetween(this.edges, scale.from, now);
    const first = scale.x(scale.from);
    if (!edges || edges.length > (scale.x(now) - first) / FAINTEST_SLICE_PX) {
      return `${end}<rect x="${first}" y="${y}" width="${scale.x(now) - first}" height="10" rx="1.5" fill="var(--flow)"/>`;
    }
    const bounds = [scale.from, ...edges, now];
    return bounds.slice(1).reduce((svg, at, index) => {
      const [left, to] = [scale.x(bounds[index]), scale.x(at)];
      const open = index === bounds.length - 2 ? ' opacity=".45"' : "";
      return to - left < 1.2 ? svg : `${svg}<rect x="${left + 0.5}" y="${y}" width="${to - left - 1}" height="10" rx="1.5" fill="var(--flow)"${open}/>`;
    }, end);
  }

  row(window, index, scale, { now, width, y, ownScales }) {
    const [range, slide] = window;
    const newest = newestEnd(window, now);
    let svg = "";
    for (let age = 3; age >= 0; age -= 1) {
      const to = newest - age * slide;
      const [left, end] = [scale.x(Math.max(to - range, scale.from)), scale.x(to)];
      const colour = windowColour(index, this.windows.length);
      if (end > left) svg += `<rect x="${left}" y="${y + (3 - age) * 8}" width="${end - left}" height="5.5" rx="1.5" fill="${colour}" opacity="${FADES[age]}"/>`;
    }
    svg += text(0, y + 31, spoken(range), 'font-weight="600"', { ink: "ink" });
    const note = ownScales ? `${roughly(now - scale.from)} wide` : slide === range ? "tumbling" : `every ${spoken(slide)}`;
    return svg + text(width, y + 31, note, 'text-anchor="end"');
  }

  axis(scale, now, width, bottom) {
    const step = tickStep(now - scale.from, width < NARROW ? 3 : 7);
    let svg = "";
    for (let at = Math.ceil(scale.from / step) * step; at < now; at += step) {
      svg += `<line x1="${scale.x(at)}" x2="${scale.x(at)}" y1="6" y2="${bottom - 6}" stroke="var(--grid)"/>`;
      if (scale.x(now) - scale.x(at) > 40) svg += text(scale.x(at), bottom + 9, clock(at, step), 'text-anchor="middle"', { size: 11 });
    }
    return svg;
  }

  sentence() {
    const sizes = this.windows.map(([range, slide]) => `${spoken(range)} every ${spoken(slide)}`).join(", ");
    return `Windows of ${sizes} on a time axis, over the slices they share`;
  }
}

customElements.define("window-drawing", WindowDrawing);
