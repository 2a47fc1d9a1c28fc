// A half circle from the least to the greatest value; thresholds are a thin ring around it.
import { make, setText } from "../dom.js";
import { token } from "../palette.js";
import { fittingAxis } from "../ticks.js";
import { newest, stepOf } from "../values.js";
import { chartLibrary } from "../vendor.js";

/** The ends of the gauge: as set, else 0 and a round value above all that was seen. */
export function gaugeEnds(series, { least, greatest }) {
  const values = [...series.points.values()].map(([, value]) => value).filter((value) => value !== null);
  const low = least ?? Math.min(0, ...values);
  return [low, greatest ?? fittingAxis(low, Math.max(low + 1, ...values)).ticks.at(-1) * 1.25];
}

/** The parts of the ring of thresholds: share of the half circle, and colour. */
export function ringParts(thresholds, [low, high]) {
  const share = (value) => Math.min(1, Math.max(0, (value - low) / (high - low)));
  const starts = [{ from: low, colour: null }, ...thresholds.map(({ value: from, colour }) => ({ from: from ?? low, colour }))];
  return starts.map(({ from, colour }, at) => ({ share: (starts[at + 1] ? share(starts[at + 1].from) : 1) - share(from), colour })).filter((part) => part.share > 0);
}

export class Kind {
  static words = "gauge";
  #chart = null;

  constructor(place) {
    this.place = place;
    place.classList.add("gauge");
    this.canvas = make("canvas");
    this.figure = make("span");
    this.unit = make("small");
    this.ends = [make("span"), make("span")];
    place.append(this.canvas, make("div", "big-number gauge-value", this.figure, this.unit), make("div", "gauge-ends", ...this.ends));
    chartLibrary().then((Chart) => {
      this.#chart = new Chart(this.canvas, { type: "doughnut", data: { datasets: [] }, options: { rotation: -90, circumference: 180, cutout: "72%", borderWidth: 0, layout: { padding: { top: 2, bottom: 2 } } } });
    });
  }

  draw({ series, settings, format }) {
    const one = series.find(({ hidden }) => !hidden);
    if (!this.#chart || !one) return;
    const last = newest(one);
    const value = last?.[1] ?? null;
    const [low, high] = gaugeEnds(one, settings);
    const share = value === null ? 0 : Math.min(1, Math.max(0, (value - low) / (high - low)));
    const step = stepOf(value, settings.thresholds);
    const parts = ringParts(settings.thresholds, [low, high]);
    const rest = token("sunken");
    this.#chart.data.datasets = [
      ...(settings.thresholds.length ? [{ data: parts.map((part) => part.share), backgroundColor: parts.map(({ colour }) => (colour ? token(colour) : token("line-2"))), weight: 0.22 }] : []),
      { data: [share, 1 - share], backgroundColor: [step ? token(step.colour) : one.style.colour, rest], weight: 1 },
    ];
    this.#chart.update("none");
    setText(this.figure, (last && !last[2] ? "≈ " : "") + format.figure(value));
    setText(this.unit, format.unitOf(value));
    this.figure.className = step ? `ink-${step.colour}` : "";
    [low, high].forEach((end, at) => setText(this.ends[at], format.text(end)));
  }

  lines() {
    return [`${this.figure.textContent} ${this.unit.textContent}`.trim()];
  }

  destroy() {
    this.#chart?.destroy();
    this.place.replaceChildren();
    this.place.classList.remove("gauge");
  }
}
