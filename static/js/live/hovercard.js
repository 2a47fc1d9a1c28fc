// The card beside the crosshair: values at a time, and what happened then.
import { make } from "./dom.js";
import { clock } from "./format.js";

const MOST_ROWS = 10;
const MOST_MARKS = 4;
const MARK_REACH_PX = 6;

/** The nearest result of each series that has one near a time, greatest first. */
export function valuesAt(series, time) {
  const rows = [];
  for (const one of series) {
    if (one.hidden) continue;
    const near = [...one.points.values()].reduce((best, point) => (Math.abs(point[0] - time) < Math.abs((best?.[0] ?? Infinity) - time) ? point : best), null);
    if (near && near[1] !== null && Math.abs(near[0] - time) <= Math.max(one.slide, 2 * (one.step ?? 0))) rows.push({ ...one, point: near });
  }
  return rows.sort((a, b) => b.point[1] - a.point[1]);
}

/** Marks under the pointer, and alerts that fired at that time; the newest of them. */
export function marksAt(notes, time, pixelAt) {
  const x = pixelAt(time);
  const fires = ({ time: from, until, tone }) => tone === "bad" && from <= time && time <= (until ?? Infinity);
  const near = notes.filter((note) => fires(note) || Math.abs(pixelAt(note.time) - x) <= MARK_REACH_PX);
  return near.sort((a, b) => b.time - a.time).slice(0, MOST_MARKS);
}

export class HoverCard {
  constructor() {
    this.element = make("div", "hover-card");
    this.element.hidden = true;
  }

  get shown() {
    return !this.element.hidden;
  }

  hide() {
    this.element.hidden = true;
  }

  /** `x` is where the crosshair stands in a plot of that `width`: the card is on the side that has room. */
  show({ time, rows, marks, x, width }) {
    this.element.hidden = false;
    this.element.replaceChildren(...contents(time, rows, marks));
    const left = x > width / 2;
    this.element.style.left = left ? "" : `${x + 14}px`;
    this.element.style.right = left ? `${width - x + 14}px` : "";
  }
}

function contents(time, rows, marks) {
  const final = rows.every(({ point }) => point[2]);
  const head = rows.length ? `${clock(rows[0].point[0], { seconds: true })} · ${final ? "final" : "provisional"}` : clock(time, { seconds: true });
  const more = rows.length > MOST_ROWS ? [make("div", "tip-head", `${rows.length - MOST_ROWS} more`)] : [];
  const why = final ? [] : [make("div", "tip-why", "Late events may still change it.")];
  return [make("div", "tip-head", head), ...rows.slice(0, MOST_ROWS).map(valueRow), ...more, ...why, ...marks.map(markRow)];
}

function valueRow({ label, style, point, format }) {
  const key = make("i", "key-line");
  key.style.cssText = `height:${style.width + 0.5}px;background:${style.colour}`;
  return make("div", "tip-row", key, make("span", "clip", label), make("b", "", (point[2] ? "" : "≈ ") + format.text(point[1])));
}

const markRow = ({ time, text, tone }) => make("div", `tip-mark${tone ? ` is-${tone}` : ""}`, `${clock(time, { seconds: true })} ${text}`);
