// A small filled line to the edges of its box: solid where final, dotted where provisional, with its gaps.
import { isGap } from "./gaps.js";
import { faded } from "./palette.js";

const SVG = "http://www.w3.org/2000/svg";
const [WIDTH, HEIGHT] = [100, 40]; // of the view box, which is stretched

/** `style` is of properties: the policy of our pages takes none as text. */
export function svg(tag, { style = {}, ...attributes }) {
  const element = document.createElementNS(SVG, tag);
  for (const [name, value] of Object.entries(attributes)) element.setAttribute(name, value);
  for (const [name, value] of Object.entries(style)) element.style.setProperty(name, value);
  return element;
}

/** The points of a series as [x, y, final] in the view box, in unbroken runs. */
export function runs(series, { from, until }) {
  const seen = [...series.points.values()].filter(([end]) => end >= from && end <= until);
  const values = seen.map(([, value]) => value).filter((value) => value !== null);
  const [low, high] = [Math.min(...values), Math.max(...values)];
  const y = (value) => (high === low ? HEIGHT / 2 : HEIGHT - 2 - ((value - low) / (high - low)) * (HEIGHT - 6));
  const found = [];
  let [run, before] = [null, null];
  for (const [end, value, final] of seen) {
    if (value === null || (before !== null && isGap(before, end, series))) run = null;
    before = end;
    if (value === null) continue;
    if (run === null) found.push((run = []));
    run.push([((end - from) / (until - from)) * WIDTH, y(value), final]);
  }
  return found;
}

/** A line through the points; of one alone a dot, where its ends are round. */
function path(points) {
  const line = points.map(([x, y], at) => `${at ? "L" : "M"}${x.toFixed(2)} ${y.toFixed(2)}`).join("");
  return points.length === 1 ? `${line}h0` : line;
}

export function areaPaths(series, { from, until, colour }) {
  return runs(series, { from, until }).flatMap((run) => {
    const border = run.findIndex(([, , final]) => !final);
    const solid = border === -1 ? run : run.slice(0, border);
    const dotted = border === -1 ? [] : run.slice(Math.max(0, border - 1));
    const ground = `${path(run)}L${run.at(-1)[0].toFixed(2)} ${HEIGHT}L${run[0][0].toFixed(2)} ${HEIGHT}Z`;
    const stroke = { fill: "none", "vector-effect": "non-scaling-stroke", "stroke-linejoin": "round", "stroke-linecap": run.length === 1 ? "round" : "butt" };
    return [
      svg("path", { d: ground, style: { fill: faded(colour, 0.1) } }),
      svg("path", { ...stroke, d: path(solid), style: { stroke: colour, "stroke-width": 1.5 } }),
      svg("path", { ...stroke, d: path(dotted), style: { stroke: faded(colour, 0.6), "stroke-width": 1.5, "stroke-dasharray": "3 3" } }),
    ];
  });
}
