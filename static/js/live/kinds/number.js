// Big numbers: the last final value, its change, and a small line to the panel's edges.
import { icon, make, setText } from "../dom.js";
import { duration, percent } from "../format.js";
import { token } from "../palette.js";
import { areaPaths, svg } from "../sparkarea.js";
import { finals, goodWay, newest, stepOf } from "../values.js";

const MINUTES = /^(\d+)m$/;
const MOST_TIMES = 100; // that a value has grown, told as a share
const ICONS = { warn: "alert-triangle", bad: "alert-circle" };

/** The newest final value against the one so long before it, or the oldest there is; null where that says nothing. */
export function changeOf(series, over) {
  const known = finals(series);
  const last = known.at(-1);
  if (!last || !over) return null;
  const base = known.findLast(([end]) => end <= last[0] - over) ?? known[0];
  if (base === last || last[0] - base[0] < over / 2) return null;
  const fromNothing = Math.abs(base[1]) * MOST_TIMES <= Math.abs(last[1]);
  return { share: fromNothing ? null : last[1] / base[1] - 1, difference: last[1] - base[1], ago: last[0] - base[0], from: base[1] };
}

/** “4.5 %” and “vs 8 min ago”; against nearly nothing a share would say nothing. */
export function changeWords({ share, difference, ago, from }, format) {
  const time = `${duration(ago, { tenths: false })} ago`;
  if (share !== null) return [percent(Math.abs(share)), `vs ${time}`];
  return [format.text(Math.abs(difference)), difference ? `from ${from ? "about 0" : "0"}, ${time}` : `vs ${time}`];
}

/** Since when all final values have been at the newest one's threshold, in ms. */
export function heldFor(series, thresholds) {
  const known = finals(series);
  const step = stepOf(known.at(-1)?.[1], thresholds);
  let since = known.at(-1)?.[0] ?? 0;
  for (const [end, value] of known.toReversed()) {
    if (stepOf(value, thresholds) !== step) break;
    since = end;
  }
  return (known.at(-1)?.[0] ?? 0) - since;
}

export class Kind {
  static words = "newest values";
  #blocks = new Map();

  constructor(place) {
    this.place = place;
    place.classList.add("numbers");
  }

  draw({ series, settings, format, from, until }) {
    const shown = series.filter(({ hidden }) => !hidden);
    const ids = new Set(shown.map(({ id }) => id));
    for (const [id, block] of this.#blocks) {
      if (!ids.has(id)) {
        block.element.remove();
        this.#blocks.delete(id);
      }
    }
    this.place.classList.toggle("has-several", shown.length > 1);
    for (const one of shown) this.#write(this.#block(one.id), one, { settings, format, from, until, several: shown.length > 1 });
  }

  /** What the panel says, as lines of text: for its picture and its label. */
  lines() {
    return [...this.#blocks.values()].map(({ element }) => element.innerText.replace(/\s+/g, " ").trim());
  }

  #block(id) {
    if (!this.#blocks.has(id)) {
      const block = { name: make("div", "number-name"), figure: make("span"), unit: make("small"), change: make("div", "number-change"), spark: svg("svg", { preserveAspectRatio: "none", viewBox: "0 0 100 40", class: "number-spark", "aria-hidden": "true" }) };
      block.element = make("div", "number-block", block.name, make("div", "big-number", block.figure, block.unit), block.change, block.spark);
      this.place.append(block.element);
      this.#blocks.set(id, block);
    }
    return this.#blocks.get(id);
  }

  #write(block, one, { settings, format, from, until, several }) {
    const last = newest(one);
    const step = stepOf(last?.[1], settings.thresholds);
    setText(block.name, one.label);
    block.name.hidden = !several;
    setText(block.figure, (last && !last[2] ? "≈ " : "") + format.figure(last?.[1] ?? null));
    setText(block.unit, format.unitOf(last?.[1] ?? null));
    block.figure.className = step ? `ink-${step.colour}` : "";
    block.change.replaceChildren(...this.#underneath(one, step, { settings, format }));
    const colour = step ? token(step.colour) : one.style.colour;
    block.spark.replaceChildren(...areaPaths(one, { from, until, colour }));
  }

  #underneath(one, step, { settings, format }) {
    if (step && ICONS[step.colour] && step.value !== null) {
      const held = heldFor(one, settings.thresholds);
      const words = `above ${format.text(step.value)}${held ? ` for ${duration(held, { tenths: false })}` : ""}`;
      return [make("span", `mark mark-small is-${step.colour}`, icon(ICONS[step.colour]), words)];
    }
    const change = changeOf(one, Number(MINUTES.exec(settings.change)?.[1] ?? 0) * 60_000);
    if (!change) return [];
    const [amount, against] = changeWords(change, format);
    const arrow = change.difference === 0 ? "" : change.difference > 0 ? "▲ " : "▼ ";
    const good = goodWay(settings.thresholds) * Math.sign(change.difference);
    const words = make("b", good > 0 ? "good-ink" : good < 0 ? "bad-ink" : "", arrow + amount);
    return [words, ` ${against}`];
  }

  destroy() {
    this.place.replaceChildren();
    this.place.classList.remove("numbers", "has-several");
  }
}
