// Groups over time: the darker, the greater. No data is hatched, so that a gap never looks like a low value.
import { roundTimes, tickWords } from "../axes.js";
import { make, pixelRatio, setText } from "../dom.js";
import { drawNotes, hatch as staleHatch, notesWithin } from "../marks.js";
import { faded, token } from "../palette.js";
import { shortened } from "./top.js";

const MOST_ROWS = 40;
const LEAST_CELL_PX = 5;
const [TOP, BOTTOM] = [18, 20]; // above is room for the words of marks
const FONT = '11px "Inter Variable", system-ui, sans-serif';
const PROVISIONAL = 0.55;

/** How long a column is: a multiple of the slide, or of the spans to which a long past is thinned, and wide enough to
 *  be seen. */
export function columnStep({ slide, step = 0 }, span, width) {
  const unit = Math.max(slide, step);
  return Math.max(1, Math.ceil(((span / unit) * LEAST_CELL_PX) / Math.max(1, width))) * unit;
}

/** By the start of its column, the newest point of each. A window stands in the column in which it ends; of a thinned
 *  past, every span is in one column. */
export function columns({ points, step = 0 }, length, { from, until }) {
  const cells = new Map();
  for (const point of points.values()) {
    const start = step ? Math.floor(point[0] / length) * length : Math.ceil(point[0] / length) * length - length;
    if (start + length > from && start < until) cells.set(start, point);
  }
  return cells;
}

/** From when until when any of the rows has final results: what one of them lacks there is missing. */
export function told(rows) {
  const spans = rows.flatMap(({ cells, length }) => [...cells].filter(([, [, , final]]) => final).map(([start]) => [start, start + length]));
  return spans.length ? { from: Math.min(...spans.map(([start]) => start)), until: Math.max(...spans.map(([, end]) => end)) } : { from: Infinity, until: -Infinity };
}

/** The starts of the columns of a row that are drawn: those with a result, and those where one is missing. */
export function drawnColumns({ cells, length }, { from, until }) {
  const missing = [];
  for (let start = Math.ceil(from / length) * length; start + length <= until; start += length) if (!cells.has(start)) missing.push(start);
  return [...cells.keys(), ...missing];
}

export class Kind {
  static words = "heat map";
  #area = null;
  #picture = null;
  #crosshair = null;
  #colours = []; // from low to high, read anew with each paint: the theme may have changed

  constructor(place) {
    this.place = place;
    this.canvas = place.appendChild(make("canvas"));
    this.ends = [make("span"), make("span")];
    this.inHead = make("span", "heat-key", this.ends[0], make("i"), this.ends[1]);
    this.resized = new ResizeObserver(() => this.#paint());
    this.resized.observe(place);
  }

  draw(picture) {
    this.#picture = picture;
    this.#paint();
  }

  point(time) {
    this.#crosshair = time;
    this.#paint();
  }

  timeAt(offsetX) {
    if (!this.#area || offsetX < this.#area.left || offsetX > this.#area.right) return null;
    const [from, until] = this.range;
    return from + ((offsetX - this.#area.left) / (this.#area.right - this.#area.left)) * (until - from);
  }

  pixelAt(time) {
    if (!this.#area) return 0;
    const [from, until] = this.range;
    return this.#area.left + ((time - from) / (until - from)) * (this.#area.right - this.#area.left);
  }

  get range() {
    return this.#picture ? [this.#picture.from, this.#picture.until] : [0, 0];
  }

  destroy() {
    this.resized.disconnect();
    this.canvas.remove();
  }

  #paint() {
    const { clientWidth: width, clientHeight: height } = this.place;
    if (!this.#picture || !width || !height) return;
    const context = this.#sized(width, height);
    this.#colours = heatColours();
    const { series, settings, format, from, until } = this.#picture;
    const shown = series.filter(({ hidden }) => !hidden).slice(0, MOST_ROWS);
    const names = shown.map(({ label }) => shortened(label, 20));
    const left = Math.min(width / 3, Math.max(0, ...names.map((name) => context.measureText(name).width)) + 10);
    this.#area = { left, right: width, top: TOP, bottom: height - BOTTOM };
    const rows = shown.map((one, at) => {
      const length = columnStep(one, until - from, width - left);
      return { name: names[at], length, cells: columns(one, length, { from, until }) };
    });
    const [low, high] = this.#extent(rows, settings);
    setText(this.ends[0], low === null ? "" : format.text(low));
    setText(this.ends[1], high === null ? "" : format.text(high));
    this.inHead.hidden = low === null;
    const tall = (this.#area.bottom - TOP) / Math.max(1, rows.length);
    const span = told(rows);
    this.#stale(context);
    rows.forEach((row, at) => this.#row(context, row, { span, y: TOP + at * tall, tall, low, high }));
    this.#frame(context, height);
  }

  #sized(width, height) {
    const ratio = pixelRatio();
    if (this.canvas.width !== Math.round(width * ratio) || this.canvas.height !== Math.round(height * ratio)) {
      Object.assign(this.canvas, { width: Math.round(width * ratio), height: Math.round(height * ratio) });
      this.canvas.style.cssText = `width:${width}px;height:${height}px`;
    }
    const context = this.canvas.getContext("2d");
    context.setTransform(ratio, 0, 0, ratio, 0, 0);
    context.clearRect(0, 0, width, height);
    context.font = FONT;
    return context;
  }

  #extent(rows, { least, greatest }) {
    const values = rows.flatMap(({ cells }) => [...cells.values()].map(([, value]) => value)).filter((value) => value !== null);
    if (!values.length) return [null, null];
    return [least ?? Math.min(...values), greatest ?? Math.max(...values)];
  }

  /** Under the cells, as in other charts: from there on nothing can have come. */
  #stale(context) {
    const { stale } = this.#picture.marks;
    if (!stale) return;
    context.save();
    staleHatch(context, this.#area, Math.min(this.#area.right, Math.max(this.#area.left, this.pixelAt(stale))));
    context.restore();
  }

  #row(context, row, { span, y, tall, low, high }) {
    context.fillStyle = token("ink-2");
    context.textAlign = "left";
    context.textBaseline = "middle";
    context.fillText(row.name, 0, y + tall / 2);
    for (const start of drawnColumns(row, span)) {
      const box = { left: Math.max(this.#area.left, this.pixelAt(start)), right: Math.min(this.#area.right, this.pixelAt(start + row.length)) - 1, top: y, bottom: y + tall - 1.5 };
      if (box.right > box.left) this.#cell(context, box, row.cells.get(start), low, high);
    }
  }

  #cell(context, box, point, low, high) {
    const [width, height] = [box.right - box.left, box.bottom - box.top];
    if (!point || point[1] === null) return hatch(context, box);
    context.globalAlpha = point[2] ? 1 : PROVISIONAL;
    const share = high === low ? 0.5 : (point[1] - low) / (high - low);
    context.fillStyle = this.#colours[Math.round(Math.min(1, Math.max(0, share)) * (this.#colours.length - 1))];
    context.fillRect(box.left, box.top, width, height);
    context.globalAlpha = 1;
  }

  #frame(context, height) {
    const { from, until, marks } = this.#picture;
    const { step, ticks } = roundTimes(from, until, this.#area.right - this.#area.left);
    context.fillStyle = token("ink-3");
    context.textAlign = "center";
    context.textBaseline = "alphabetic";
    for (const { value } of ticks) {
      const words = tickWords(value, step);
      const half = context.measureText(words).width / 2;
      context.fillText(words, Math.min(this.#area.right - half, Math.max(half, this.pixelAt(value))), height - 4);
    }
    if (marks.provisional && !marks.stale) this.#vertical(context, marks.provisional, faded(token("ink-3"), 0.8), [1, 2]);
    if (marks.stale) this.#vertical(context, marks.stale, token("bad"), []);
    const at = (time) => Math.min(this.#area.right, Math.max(this.#area.left, this.pixelAt(time)));
    drawNotes(context, this.#area, at, marks.notes, notesWithin(marks.notes, at, from, until));
    if (this.#crosshair) this.#vertical(context, this.#crosshair, faded(token("ink"), 0.55), []);
  }

  #vertical(context, time, colour, dash) {
    const x = Math.round(this.pixelAt(time)) + 0.5;
    if (x < this.#area.left || x > this.#area.right) return;
    context.strokeStyle = colour;
    context.lineWidth = 1;
    context.setLineDash(dash);
    context.beginPath();
    context.moveTo(x, TOP - 4);
    context.lineTo(x, this.#area.bottom);
    context.stroke();
    context.setLineDash([]);
  }
}

const SHADES = 60;

function heatColours() {
  const ramp = [0, 1, 2, 3, 4, 5].map((step) => token(`h${step}`));
  return Array.from({ length: SHADES + 1 }, (_, shade) => {
    const at = (Math.min(shade, SHADES - 0.001) / SHADES) * (ramp.length - 1);
    const low = Math.floor(at);
    return `color-mix(in srgb, ${ramp[low + 1]} ${((at - low) * 100).toFixed(1)}%, ${ramp[low]})`;
  });
}

function hatch(context, { left, right, top, bottom }) {
  context.save();
  context.beginPath();
  context.rect(left, top, right - left, bottom - top);
  context.clip();
  context.strokeStyle = token("line-2");
  context.lineWidth = 1;
  context.beginPath();
  const tall = bottom - top;
  for (let x = Math.floor((left - tall) / 5) * 5; x < right; x += 5) {
    context.moveTo(x, bottom);
    context.lineTo(x + tall, top);
  }
  context.stroke();
  context.restore();
}
