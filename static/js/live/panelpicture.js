// A panel as a PNG: its title, its picture, and its legend or its words.
import { token } from "./palette.js";
import { summary } from "./series.js";

const PAD = 16;
const LINE = 20;
const font = (size, weight = 400) => `${weight} ${size}px "Inter Variable", system-ui, sans-serif`;

/** The lines under the picture: of a chart its series with their newest values, else what the panel says. */
function lines(panel) {
  if (!panel.canvas || panel.kind.lines) return (panel.kind.lines?.() ?? []).map((text) => ({ text }));
  return panel.drawnSeries().filter(({ hidden }) => !hidden).map(({ label, points, style, format }) => ({ text: `${label}: ${format.text(summary(points, -Infinity, Infinity).last)}`, colour: style.colour }));
}

function paint(panel) {
  const ratio = 2;
  const chart = panel.canvas;
  const width = Math.max(360, panel.element.clientWidth);
  const tall = chart ? chart.clientHeight : 0;
  const under = lines(panel);
  const canvas = document.createElement("canvas");
  Object.assign(canvas, { width: width * ratio, height: (PAD * 2 + 30 + tall + under.length * LINE) * ratio });
  const context = canvas.getContext("2d");
  context.scale(ratio, ratio);
  context.fillStyle = token("surface");
  context.fillRect(0, 0, canvas.width, canvas.height);
  context.fillStyle = token("ink");
  context.font = font(15, 620);
  context.fillText(panel.element.querySelector("h2")?.textContent ?? "", PAD, PAD + 12);
  context.fillStyle = token("ink-3");
  context.font = font(11);
  context.textAlign = "right";
  context.fillText(new Date().toISOString().slice(0, 19).replace("T", " ") + " UTC", width - PAD, PAD + 12);
  context.textAlign = "left";
  if (chart) context.drawImage(chart, PAD, PAD + 26, width - 2 * PAD, tall);
  under.forEach(({ text, colour }, at) => {
    const y = PAD + 30 + tall + at * LINE + 14;
    context.fillStyle = colour ?? token("ink-2");
    if (colour) context.fillRect(PAD, y - 5, 16, 2.5);
    context.fillStyle = token("ink-2");
    context.font = font(12);
    context.fillText(text, PAD + (colour ? 24 : 0), y);
  });
  return canvas;
}

export function savePicture(panel) {
  paint(panel).toBlob((blob) => {
    const link = document.createElement("a");
    const title = panel.element.querySelector("h2")?.textContent ?? "panel";
    link.download = `${title.toLowerCase().replace(/[^\p{L}\p{N}]+/gu, "-").replace(/^-|-$/g, "") || "panel"}.png`;
    link.href = URL.createObjectURL(blob);
    link.click();
    setTimeout(() => URL.revokeObjectURL(link.href), 10_000);
  }, "image/png");
}
