// Chart.js plug-in: provisional band, stale hatch, notes and the crosshair, all placed by time.
import { faded, token } from "./palette.js";

const FONT = '500 11px "Inter Variable", system-ui, sans-serif';
const HATCH_GAP = 7;

function vertical(ctx, area, x, { colour, dash = [] }) {
  const at = Math.round(x) + 0.5;
  ctx.strokeStyle = colour;
  ctx.lineWidth = 1;
  ctx.setLineDash(dash);
  ctx.beginPath();
  ctx.moveTo(at, area.top);
  ctx.lineTo(at, area.bottom);
  ctx.stroke();
  ctx.setLineDash([]);
}

/** From `left` to the edge; it clips the context. */
export function hatch(ctx, area, left) {
  const height = area.bottom - area.top;
  ctx.beginPath();
  ctx.rect(left, area.top, area.right - left, height);
  ctx.clip();
  ctx.strokeStyle = faded(token("bad"), 0.22);
  ctx.lineWidth = 1;
  ctx.beginPath();
  for (let x = left - height; x < area.right; x += HATCH_GAP) {
    ctx.moveTo(x, area.bottom);
    ctx.lineTo(x + height, area.top);
  }
  ctx.stroke();
}

/** Thresholds: a line where each begins, and the faintest band of its colour up to the next. */
function levels(ctx, area, scale, steps) {
  steps.forEach(({ value: from, colour }, at) => {
    const y = (height) => Math.min(area.bottom, Math.max(area.top, scale.getPixelForValue(height)));
    const [low, high] = [from === null ? area.bottom : y(from), steps[at + 1] ? y(steps[at + 1].value) : area.top];
    ctx.fillStyle = faded(token(colour), 0.05);
    ctx.fillRect(area.left, high, area.right - area.left, low - high);
    if (from === null || low <= area.top || low >= area.bottom) return;
    ctx.strokeStyle = faded(token(colour), 0.7);
    ctx.lineWidth = 1;
    ctx.setLineDash([4, 3]);
    ctx.beginPath();
    ctx.moveTo(area.left, Math.round(low) + 0.5);
    ctx.lineTo(area.right, Math.round(low) + 0.5);
    ctx.stroke();
    ctx.setLineDash([]);
  });
}

function drawn(chart, draw) {
  const { ctx, chartArea: area, scales } = chart;
  if (!scales.x || !area) return;
  const at = (time) => Math.min(area.right, Math.max(area.left, scales.x.getPixelForValue(time)));
  ctx.save();
  draw(ctx, area, at);
  ctx.restore();
}

/** A mark with its words, unless those before leave no room for them; where the words end. */
function note(ctx, area, x, text, tone, taken) {
  vertical(ctx, area, x, { colour: faded(token(tone ?? "accent"), 0.8), dash: [3, 3] });
  ctx.fillStyle = token(tone ?? "accent-ink");
  ctx.beginPath();
  ctx.moveTo(x - 4, area.top - 1);
  ctx.lineTo(x + 4, area.top - 1);
  ctx.lineTo(x, area.top + 5);
  ctx.fill();
  const width = ctx.measureText(text).width;
  const left = x + 7 + width > area.right ? x - 7 - width : x + 7;
  if (left < taken) return taken;
  ctx.textAlign = "left";
  ctx.fillText(text, left, area.top - 6);
  return left + width + 8;
}

const NEAR_PX = 40;
const LONGEST = 40; // characters; the card under the pointer has all of them
const BAR_PX = 3;
const LABEL_ROOM_PX = 190; // for “provisional” and the words of a note before it

/** Of marks that became one, an alert that fires is seen. */
const worse = (one, other) => (one === "bad" || other === "bad" ? "bad" : one === other ? one : undefined);

/** That an alert recovers is no news beside that it fired: the bar says until when. */
const isOver = (last, one) => last.tone === "bad" && one.tone === "ok";

/** Notes as they are drawn, from left to right: those too near to each other to be read become one. */
export function mergedNotes(notes, at) {
  const placed = notes.map(({ time, text, tone }) => ({ x: at(time), text, tone, count: 1 })).sort((a, b) => a.x - b.x);
  const merged = [];
  for (const one of placed) {
    const last = merged.at(-1);
    if (!last || one.x - last.to >= NEAR_PX) merged.push({ ...one, to: one.x });
    else Object.assign(last, { count: last.count + (isOver(last, one) ? 0 : 1), to: one.x, tone: worse(last.tone, one.tone) });
  }
  return merged.map(({ x, text, tone, count }) => ({ x, text: count > 1 ? `${count} changes` : text, ...(tone ? { tone } : {}) }));
}

/** The notes between two times, placed. */
export const notesWithin = (notes, at, from, until) => mergedNotes(notes.filter(({ time }) => time >= from && time <= until), at);

/** Placed notes with their words, and along the top how long alerts fired: those that began earlier, too. */
export function drawNotes(ctx, area, at, notes, placed) {
  ctx.font = FONT;
  ctx.fillStyle = faded(token("bad"), 0.7);
  for (const { time, until, tone } of notes) {
    if (tone === "bad") ctx.fillRect(at(time), area.top, at(until ?? Infinity) - at(time), BAR_PX);
  }
  let taken = -Infinity;
  for (const { x, text, tone } of placed) taken = note(ctx, area, x, text.length > LONGEST ? `${text.slice(0, LONGEST - 1)}…` : text, tone, taken);
}

export const timeMarks = {
  id: "timeMarks",
  beforeDatasetsDraw(chart, _, options) {
    drawn(chart, (ctx, area, at) => {
      const { provisional, stale } = options;
      levels(ctx, area, chart.scales.y, options.levels ?? []);
      if (provisional && !stale) {
        ctx.fillStyle = faded(token("ink-3"), 0.08);
        ctx.fillRect(at(provisional), area.top, area.right - at(provisional), area.bottom - area.top);
      }
      if (stale) {
        vertical(ctx, area, at(stale), { colour: token("bad") });
        hatch(ctx, area, at(stale));
      }
    });
  },
  afterDatasetsDraw(chart, _, options) {
    drawn(chart, (ctx, area, at) => {
      ctx.font = FONT;
      const { provisional, stale, label, notes = [], crosshair } = options;
      const placed = notesWithin(notes, at, chart.scales.x.min, chart.scales.x.max);
      if (provisional && !stale && at(provisional) < area.right) {
        vertical(ctx, area, at(provisional), { colour: faded(token("ink-3"), 0.7), dash: [1, 2] });
        if (label && placed.every(({ x }) => area.right - x > LABEL_ROOM_PX)) {
          ctx.fillStyle = token("ink-3");
          ctx.textAlign = "right";
          ctx.fillText("provisional", area.right, area.top - 6);
        }
      }
      drawNotes(ctx, area, at, notes, placed);
      if (crosshair) vertical(ctx, area, at(crosshair), { colour: faded(token("ink"), 0.45) });
      for (const bead of options.beads ?? []) {
        ctx.fillStyle = token("surface");
        ctx.strokeStyle = bead.colour;
        ctx.lineWidth = 2;
        ctx.beginPath();
        ctx.arc(at(bead.time), (chart.scales[bead.axis] ?? chart.scales.y).getPixelForValue(bead.value), 3.5, 0, 2 * Math.PI);
        ctx.fill();
        ctx.stroke();
      }
    });
  },
};
