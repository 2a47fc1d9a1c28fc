// A small filled line to the edges of its box: solid where final, dotted where provisional, with its gaps.
import { faded } from "./palette.js";

const SVG = "http://www.w3.org/2000/svg";
const [WIDTH, HEIGHT] = [100, 40]; // of the view box, which is stretched

export function svg(tag, attributes) {
  const element = document.createElementNS(SVG, tag);
  for (const [name, value] of Object.entries(attributes)) element.setAttribute(name, value);
  return element;
}

/** Points as [x, y, final] in the view box, in unbroken runs. */
export function runs(points, { from, until }) {
  const seen = points.filter(([end]) => end >= from && end <= until);
  const values = seen.map(([, value]) => value).filter((value) => value !== null);
  const [low, high] = [Math.min(...values), Math.max(...values)];
  const y = (value) => (high === low ? HEIGHT / 2 : HEIGHT - 2 - ((value - low) / (high - low)) * (HEIGHT - 6));
  const found = [];
  let run = null;
  for (const [end, value, final] of seen) {
    if (value === null) {
      run = null;
      continue;
    }
    if (run === null) found.push((run = []));
    run.push([((end - from) / (until - from)) * WIDTH, y(value), final]);
  }
  return found;
}

const path = (points) => points.map(([x, y], at) => `${at ? "L" : "M"}${x.toFixed(2)} ${y.toFixed(2)}`).join("");

export function areaPaths(points, { from, until, colour }) {
  return runs(points, { from, until }).flatMap((run) => {
    const border = run.findIndex(([, , final]) => !final);
    const solid = border === -1 ? run : run.slice(0, border);
    const dotted = border === -1 ? [] : run.slice(Math.max(0, border - 1));
    const ground = `${path(run)}L${run.at(-1)[0].toFixed(2)} ${HEIGHT}L${run[0][0].toFixed(2)} ${HEIGHT}Z`;
    const stroke = { fill: "none", "vector-effect": "non-scaling-stroke", "stroke-linejoin": "round" };
    return [
      svg("path", { d: ground, style: `fill:${faded(colour, 0.1)}` }),
      svg("path", { ...stroke, d: path(solid), style: `stroke:${colour};stroke-width:1.5` }),
      svg("path", { ...stroke, d: path(dotted), style: `stroke:${faded(colour, 0.6)};stroke-width:1.5;stroke-dasharray:3 3` }),
    ];
  });
}
