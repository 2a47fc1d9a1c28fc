import assert from "node:assert/strict";
import { test } from "node:test";
import { byNewestValue, QuerySeries, summary } from "../../static/js/live/series.js";

const series = (id, ...points) => ({ id, points: new Map(points.map((point) => [point[0], point])) });

test("series are ordered by their newest final value, whatever is provisional", () => {
  const ordered = byNewestValue([series("a", [10, 1, true], [20, 9, false]), series("b", [10, 3, true]), series("c", [20, 7, false])]);
  assert.deepEqual(ordered.map(({ id }) => id), ["b", "a", "c"]);
});

test("the extent covers final values in sight alone", () => {
  const { points } = series("a", [10, 1, true], [20, 5, true], [30, 2, true], [40, 90, false]);
  assert.deepEqual(summary(points, 15, 50), { last: 2, min: 2, max: 5 });
});

test("what a pause kept from becoming final goes when later results are final", () => {
  const query = new QuerySeries("q");
  const told = (type, sequence, ...points) => query.take({ type, sequence, groups: 0, windows: [], group_by: [], series: [{ id: "a", range: 10, slide: 10, group: [], points }] }, 0);
  told("snapshot", 1, [10, 1, true], [20, 2, false], [30, 3, false]);
  assert.deepEqual([...query.series.get("a").points.keys()], [10, 20, 30]);
  told("update", 2, [40, 4, true], [50, 5, false]);
  assert.deepEqual([...query.series.get("a").points.keys()], [10, 40, 50]);
});
