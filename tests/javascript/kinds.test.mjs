import assert from "node:assert/strict";
import { test } from "node:test";
import { barPoints, barStep } from "../../static/js/live/kinds/bar.js";
import { gaugeEnds, ringParts } from "../../static/js/live/kinds/gauge.js";
import { columns, columnStep } from "../../static/js/live/kinds/heat.js";
import { changeOf, heldFor } from "../../static/js/live/kinds/number.js";
import { aligned } from "../../static/js/live/kinds/stacked.js";
import { moves, shortened } from "../../static/js/live/kinds/top.js";
import { stackedValues } from "../../static/js/live/linechart.js";

const MINUTE = 60_000;
const series = (...all) => ({ points: new Map(all.map((point) => [point[0], point])) });

test("bars stand as far apart as the window is long, and there are never too many or too few of them", () => {
  assert.equal(barStep(MINUTE, 5_000, 15 * MINUTE), MINUTE);
  assert.equal(barStep(1_000, 1_000, 15 * MINUTE), 16_000);
  assert.equal(barStep(60 * MINUTE, 10_000, 15 * MINUTE), 30_000);
});

test("bars are windows that do not overlap, drawn in the middle", () => {
  const every5s = Array.from({ length: 60 }, (_, at) => [(at + 1) * 5_000, at, true]);
  const drawn = barPoints(series(...every5s).points, { range: MINUTE, slide: 5_000 }, { from: 0, until: 5 * MINUTE });
  assert.deepEqual(drawn.map(({ x, end }) => [x, end]), [1, 2, 3, 4, 5].map((at) => [at * MINUTE - 30_000, at * MINUTE]));
});

test("over a long range a bar shows the newest of its windows, be they few or thinned", () => {
  const hours = { from: 0, until: 6 * 60 * MINUTE };
  const tumbling = Array.from({ length: 5 }, (_, at) => [(at + 1) * MINUTE, at, true]);
  assert.deepEqual(barPoints(series(...tumbling).points, { range: MINUTE, slide: MINUTE }, hours), [{ x: 4 * MINUTE, y: 4, final: true, end: 5 * MINUTE }]);
  const thinned = [[7_000, 1, true], [4 * MINUTE + 3_000, 2, true], [8 * MINUTE + 1_000, 3, false]];
  const drawn = barPoints(series(...thinned).points, { range: MINUTE, slide: 1_000 }, hours);
  assert.deepEqual(drawn.map(({ x, y, final }) => [x, y, final]), [[4 * MINUTE, 2, true], [12 * MINUTE, 3, false]]);
});

test("a gauge goes from 0 to a round value above all, unless its ends are set", () => {
  const one = series([1, 40, true], [2, 90, true]);
  assert.deepEqual(gaugeEnds(one, { least: 10, greatest: 200 }), [10, 200]);
  const [low, high] = gaugeEnds(one, { least: null, greatest: null });
  assert.equal(low, 0);
  assert.ok(high > 90);
});

test("the ring of a gauge has a part for every threshold within its ends", () => {
  const steps = [{ value: null, colour: "ok" }, { value: 50, colour: "warn" }, { value: 400, colour: "bad" }];
  assert.deepEqual(ringParts(steps, [0, 200]), [{ share: 0.25, colour: "ok" }, { share: 0.75, colour: "warn" }]);
});

test("columns of a heat map are wide enough to be seen, and hold the newest of their windows", () => {
  assert.equal(columnStep(1_000, 15 * MINUTE, 450), 10_000);
  assert.equal(columnStep(15_000, 15 * MINUTE, 700), 15_000);
  const cells = columns(series([5_000, 1, true], [10_000, 2, true], [20_000, 3, true]).points, 10_000, { from: 0, until: MINUTE });
  assert.deepEqual([...cells].map(([start, [, value]]) => [start, value]), [[0, 2], [10_000, 3]]);
});

test("a number is compared with the final value so long before, and says how long that was", () => {
  const one = series([0, 100, true], [5 * MINUTE, 200, true], [15 * MINUTE, 110, true], [16 * MINUTE, 999, false]);
  assert.deepEqual(changeOf(one, 15 * MINUTE), { share: 110 / 100 - 1, difference: 10, ago: 15 * MINUTE });
  assert.equal(changeOf(one, 5 * MINUTE).difference, -90);
  assert.equal(changeOf(series([0, 1, true]), 5 * MINUTE), null);
  assert.equal(changeOf(series([0, 1, true], [MINUTE, 2, true]), 15 * MINUTE), null, "too little of the past");
});

test("how long a threshold has been held counts back to where it was reached", () => {
  const steps = [{ value: 5, colour: "warn" }];
  assert.equal(heldFor(series([0, 6, true], [10, 1, true], [20, 7, true], [50, 8, true]), steps), 30);
});

test("groups move by the places that they had a minute before", () => {
  const at = (id, then, now) => ({ id, ...series([0, then, true], [MINUTE, now, true]) });
  const moved = moves([at("a", 1, 9), at("b", 5, 8), at("c", 3, 2)]);
  assert.deepEqual([...moved], [["a", 2], ["b", -1], ["c", -1]]);
});

test("of a long name the middle is left out", () => {
  assert.equal(shortened("/api/checkout"), "/api/checkout");
  assert.equal(shortened("/api/products/by-id/details", 11), "/api/…tails");
});

test("what is stacked reaches as high as its sum, without what is hidden", () => {
  const data = (...ys) => ys.map((y, at) => ({ x: at, y }));
  const sets = [{ data: data(1, 2) }, { data: data(10, null) }, { data: data(100, 100), hidden: true }];
  assert.deepEqual(stackedValues(sets, { from: 0 }), [11, 2]);
});

test("in a stack what is missing adds nothing, and nobody else loses the ground under it", () => {
  const [a, b] = aligned([[{ x: 1, y: 5 }, { x: 2, y: 6 }, { x: 3, y: 7 }], [{ x: 1, y: 1 }, { x: 2, y: null }, { x: 3, y: 2 }]]);
  assert.deepEqual(a.map(({ y }) => y), [5, 6, 7]);
  assert.deepEqual(b.map(({ y }) => y), [1, 0, 2]);
});
