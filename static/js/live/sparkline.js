// A few dozen values drawn small: a line with its gaps, or bars for counts. Colours are the style sheet's.
const SVG = "http://www.w3.org/2000/svg";
const [WIDTH, HEIGHT] = [72, 22];

function draw(tag, attributes) {
  const element = document.createElementNS(SVG, tag);
  for (const [name, value] of Object.entries(attributes)) element.setAttribute(name, value);
  return element;
}

/** The paths of a line: a new one after every gap; a lone value is a dot. */
export function linePaths(values, width = WIDTH, height = HEIGHT) {
  const known = values.filter((value) => value !== null);
  if (!known.length) return [];
  const [low, high] = [Math.min(...known), Math.max(...known)];
  const x = (at) => ((at / Math.max(1, values.length - 1)) * (width - 2) + 1).toFixed(1);
  const y = (value) => (high === low ? height / 2 : height - 2 - ((value - low) / (high - low)) * (height - 4)).toFixed(1);
  const paths = [];
  values.forEach((value, at) => {
    if (value === null) return;
    const step = at > 0 && values[at - 1] !== null ? "L" : "M";
    if (step === "M") paths.push("");
    paths[paths.length - 1] += `${step}${x(at)} ${y(value)}`;
  });
  return paths.map((path) => (path.includes("L") ? path : `${path}h0.01`));
}

/** Left edge, top and height of every bar; what is not zero can be seen. */
export function barBoxes(counts, width = WIDTH, height = HEIGHT) {
  const high = Math.max(...counts, 1);
  const step = width / counts.length;
  return counts.map((count, at) => {
    const tall = count ? Math.max(2, (count / high) * (height - 2)) : 0;
    return { x: at * step + 0.5, y: height - tall, width: step - 1.5, height: tall };
  });
}

export class Sparkline {
  #drawn = "";

  constructor(kind) {
    this.kind = kind;
    this.element = draw("svg", { class: `spark spark-${kind}`, viewBox: `0 0 ${WIDTH} ${HEIGHT}`, width: WIDTH, height: HEIGHT, "aria-hidden": "true" });
  }

  show(values) {
    const text = JSON.stringify(values);
    if (text === this.#drawn) return;
    this.#drawn = text;
    const shapes = this.kind === "bars" ? barBoxes(values).filter(({ height }) => height).map((box) => draw("rect", box)) : linePaths(values).map((d) => draw("path", { d }));
    if (this.kind === "bars") shapes.push(draw("path", { class: "spark-ground", d: `M0 ${HEIGHT - 0.5}h${WIDTH}` }));
    this.element.replaceChildren(...shapes);
  }
}
