// Drag on a chart zooms all panels, Shift-drag moves them, double click goes back; Shift-arrows move by keyboard.
import { make } from "./dom.js";

const LEAST_PX = 6; // a shorter drag is a click
const KEY_STEP = 0.25; // of the range

/** `plot` holds the canvas; `chart` tells times of places (`timeAt`, `pixelAt`, `range`). */
export function watchZoom(plot, canvas, chart, control) {
  if (!control.element) return;
  const box = make("div", "zoom-box");
  box.hidden = true;
  plot.append(box);
  let drag = null;

  const place = (event) => event.clientX - canvas.getBoundingClientRect().left;
  const clamped = (x) => {
    const [from, until] = chart.range;
    return Math.min(chart.pixelAt(until), Math.max(chart.pixelAt(from), x));
  };

  canvas.addEventListener("pointerdown", (event) => {
    if (event.button !== 0 || !event.isPrimary || event.pointerType === "touch") return; // a finger scrolls the page
    drag = { began: clamped(place(event)), pans: event.shiftKey, range: chart.range };
    canvas.setPointerCapture(event.pointerId);
  });
  canvas.addEventListener("pointermove", (event) => {
    if (!drag) return;
    const [low, high] = [drag.began, clamped(place(event))].sort((a, b) => a - b);
    box.hidden = high - low < LEAST_PX;
    box.className = drag.pans ? "zoom-box is-pan" : "zoom-box";
    Object.assign(box.style, { left: `${low}px`, width: `${high - low}px` });
  });
  const end = (event) => {
    if (!drag) return;
    const { began, pans, range } = drag;
    drag = null;
    box.hidden = true;
    const ended = clamped(place(event));
    if (event.type === "pointercancel" || Math.abs(ended - began) < LEAST_PX) return;
    const [from, until] = range;
    const perPixel = (until - from) / (chart.pixelAt(until) - chart.pixelAt(from));
    const at = (x) => from + (x - chart.pixelAt(from)) * perPixel;
    if (pans) control.pan((at(began) - at(ended)) / (until - from));
    else control.between(at(began), at(ended));
  };
  canvas.addEventListener("pointerup", end);
  canvas.addEventListener("pointercancel", end);
  canvas.addEventListener("dblclick", () => control.back());
  canvas.addEventListener("keydown", (event) => {
    const direction = { ArrowLeft: -1, ArrowRight: 1 }[event.key];
    if (!direction || !event.shiftKey) return;
    event.preventDefault();
    control.pan(direction * KEY_STEP);
  });
}
