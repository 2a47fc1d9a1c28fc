import assert from "node:assert/strict";
import { test } from "node:test";
import { byNewestValue, summary } from "../../static/js/live/series.js";

const series = (id, ...points) => ({ id, points: new Map(points.map((point) => [point[0], point])) });

test("series are ordered by their newest final value, whatever is provisional", () => {
  const ordered = byNewestValue([series("a", [10, 1, true], [20, 9, false]), series("b", [10, 3, true]), series("c", [20, 7, false])]);
  assert.deepEqual(ordered.map(({ id }) => id), ["b", "a", "c"]);
});

test("the extent covers final values in sight alone", () => {
  const { points } = series("a", [10, 1, true], [20, 5, true], [30, 2, true], [40, 90, false]);
  assert.deepEqual(summary(points, 15, 50), { last: 2, min: 2, max: 5 });
});
