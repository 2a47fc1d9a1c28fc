import assert from "node:assert/strict";
import { test } from "node:test";
import { drawable, lineDatasets, scaleValues, shownFrom } from "../../static/js/live/linechart.js";

const MINUTE = 60_000;
const series = (...all) => ({ slide: 10, points: new Map(all.map((point) => [point[0], point])) });

test("a window that still fills does not set the scale", () => {
  const data = drawable(series([10, 100, true], [20, 104, false], [30, 12, false]), 25);
  assert.deepEqual(scaleValues([{ data }], { from: 0, heard: 22 }), [100, 104]);
});

test("while nothing else is known, the window that fills sets the scale", () => {
  const data = drawable(series([30, 12, false]), 25);
  assert.deepEqual(scaleValues([{ data }], { from: 0, heard: 22 }), [12]);
});

test("hidden series and values out of sight do not set the scale", () => {
  const shown = { data: drawable(series([10, 1, true], [20, 2, true]), 30) };
  const hidden = { data: drawable(series([20, 900, true]), 30), hidden: true };
  assert.deepEqual(scaleValues([shown, hidden], { from: 15, heard: 30 }), [2]);
});

test("a gap in the results stays a gap", () => {
  const data = drawable(series([10, 1, true], [40, 2, true]), 50);
  assert.deepEqual(data.map(({ y }) => y), [1, null, 2]);
});

test("the time axis grows with the results, from three minutes to a quarter of an hour", () => {
  const now = 100 * MINUTE;
  assert.equal(shownFrom(Infinity, now), 97 * MINUTE);
  assert.equal(shownFrom(99 * MINUTE, now), 97 * MINUTE);
  assert.equal(shownFrom(92 * MINUTE, now), 92 * MINUTE);
  assert.equal(shownFrom(10 * MINUTE, now), 85 * MINUTE);
});

test("what is not final yet is a line of its own that begins where the final one ends", () => {
  const style = { colour: "#3657f2", width: 2, dash: [] };
  const drawn = (...all) => lineDatasets({ id: "a", style, data: drawable(series(...all), 100) });
  const ends = (datasets) => datasets.map(({ data, segment }) => [data.map(({ end }) => end), segment !== undefined]);
  assert.deepEqual(ends(drawn([10, 1, true], [20, 2, true], [30, 3, false])), [[[10, 20], false], [[20, 30], true]]);
  assert.deepEqual(ends(drawn([10, 1, true], [20, 2, true])), [[[10, 20], false]]);
  assert.deepEqual(ends(drawn([10, 1, false], [20, 2, false])), [[[10, 20], true]]);
});
