import assert from "node:assert/strict";
import { test } from "node:test";
import { barPoints, barStep } from "../../static/js/live/kinds/bar.js";
import { gaugeEnds, ringParts } from "../../static/js/live/kinds/gauge.js";
import { columns, columnStep, drawnColumns, told } from "../../static/js/live/kinds/heat.js";
import { changeOf, changeWords, heldFor } from "../../static/js/live/kinds/number.js";
import { aligned, datasets } from "../../static/js/live/kinds/stacked.js";
import { moves, shortened } from "../../static/js/live/kinds/top.js";
import { drawable, inOrder, stackedValues } from "../../static/js/live/linechart.js";
import { SeriesColours } from "../../static/js/live/palette.js";
import { thinned } from "../../static/js/live/series.js";
import { valueFormat } from "../../static/js/live/values.js";
import { runs } from "../../static/js/live/sparkarea.js";

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
  assert.equal(columnStep({ slide: 1_000 }, 15 * MINUTE, 450), 10_000);
  assert.equal(columnStep({ slide: 15_000 }, 15 * MINUTE, 700), 15_000);
  const cells = columns(series([5_000, 1, true], [10_000, 2, true], [20_000, 3, true]), 10_000, { from: 0, until: MINUTE });
  assert.deepEqual([...cells].map(([start, [, value]]) => [start, value]), [[0, 2], [10_000, 3]]);
});

test("no column of a thinned past is empty, however wide the heat map is", () => {
  const view = { from: 0, until: 6 * 60 * MINUTE };
  const step = 2 * MINUTE;
  for (const value of [() => 7, (at) => (at * 7) % 13]) {
    const all = Array.from({ length: 2_160 }, (_, at) => [at * 10_000, value(at), true]);
    const one = { slide: 10_000, step, ...series(...thinned(all, step, Infinity)) };
    const length = columnStep(one, view.until, 2_400);
    const row = { length, cells: columns(one, length, view) };
    assert.equal(row.cells.size, 180);
    assert.deepEqual(drawnColumns(row, told([row])), [...row.cells.keys()]);
  }
});

test("a group that came late, was away or vanished is missing wherever others have final results", () => {
  const row = (...ends) => ({ length: 10, cells: columns(series(...ends.map(([end, final]) => [end, 1, final])), 10, { from: 0, until: 100 }) });
  const always = row([10, true], [20, true], [30, true], [40, true], [50, false]);
  const between = row([20, true], [40, false]);
  const span = told([always, between]);
  assert.deepEqual(drawnColumns(always, span), [0, 10, 20, 30, 40]);
  assert.deepEqual(drawnColumns(between, span), [10, 30, 0, 20], "where nothing is final yet, nothing is missing either");
  assert.deepEqual(drawnColumns(row(), told([row()])), []);
});

test("a number is compared with the final value so long before, and says how long that was", () => {
  const one = series([0, 100, true], [5 * MINUTE, 200, true], [15 * MINUTE, 110, true], [16 * MINUTE, 999, false]);
  assert.deepEqual(changeOf(one, 15 * MINUTE), { share: 110 / 100 - 1, difference: 10, ago: 15 * MINUTE, from: 100 });
  assert.equal(changeOf(one, 5 * MINUTE).difference, -90);
  assert.equal(changeOf(series([0, 1, true]), 5 * MINUTE), null);
  assert.equal(changeOf(series([0, 1, true], [MINUTE, 2, true]), 15 * MINUTE), null, "too little of the past");
});

test("a change against nearly nothing is no share: it says from what", () => {
  const format = valueFormat({ unit: "ms" });
  const said = (before, after) => changeWords(changeOf(series([0, before, true], [15 * MINUTE, after, true]), 15 * MINUTE), format).join(" ").replaceAll("\u202f", " ");
  assert.equal(said(100, 104.5), "4.5 % vs 15 min ago");
  assert.equal(said(0.001, 19.01), "19.0 ms from about 0, 15 min ago"); // 1,900,900 %
  assert.equal(said(0, 7), "7 ms from 0, 15 min ago");
  assert.equal(said(0, 0), "0 ms vs 15 min ago");
  assert.equal(said(8, 2), "75 % vs 15 min ago");
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

test("in a stack the parts keep their order, whatever their newest values are", () => {
  const named = (...labels) => labels.map((label) => ({ id: label, label }));
  const order = (...labels) => inOrder(named(...labels)).map(({ label }) => label);
  assert.deepEqual(order("status 500", "status 99", "Köln"), ["Köln", "status 99", "status 500"]);
  assert.deepEqual(order("Köln", "status 500", "status 99"), order("status 99", "Köln", "status 500"));
});

test("the same names have the same colours, in whichever order they come", () => {
  globalThis.document = { documentElement: { dataset: {} } };
  globalThis.getComputedStyle = () => ({ getPropertyValue: (name) => name });
  const names = Array.from({ length: 12 }, (_, at) => `device ${at}`);
  const coloured = (order) => {
    const colours = new SeriesColours();
    colours.keep(order);
    return names.map((name) => colours.style(name));
  };
  assert.deepEqual(coloured([...names].reverse()), coloured(names));
  const colours = new SeriesColours();
  colours.keep(names.slice(1));
  const before = colours.style("device 3");
  colours.keep(names);
  assert.deepEqual(colours.style("device 3"), before, "who comes later takes nobody's colour");
});

test("what is stacked reaches as high as its sum, without what is hidden", () => {
  const data = (...ys) => ys.map((y, at) => ({ x: at, y }));
  const sets = [{ data: data(1, 2) }, { data: data(10, null) }, { data: data(100, 100), hidden: true }];
  assert.deepEqual(stackedValues(sets, { from: 0 }), [11, 2]);
});

test("in a stack a part that is missing is not drawn as 0, and nobody else loses the ground under it", () => {
  const [a, b] = aligned([[{ x: 1, y: 5 }, { x: 2, y: 6 }, { x: 3, y: 7 }], [{ x: 1, y: 1 }, { x: 2, y: null }, { x: 3, y: 2 }]]);
  assert.deepEqual(a.map(({ y }) => y), [5, 6, 7]);
  assert.deepEqual(b.map(({ y }) => y), [1, null, 2]);
});

test("areas of a stack are whole, and their edges are dashed where they are not final", () => {
  const style = { colour: "#3657f2", width: 2, dash: [] };
  const one = { id: "a", slide: 10, style, ...series([10, 1, true], [20, 2, false]) };
  const [area, edge] = datasets([one], { now: 100 });
  assert.deepEqual([area.fill, area.borderWidth, area.segment], ["stack", 0, undefined]);
  assert.deepEqual([edge.fill, edge.stack, edge.segment.borderDash({ p1DataIndex: 1 })], [false, "edges", [3, 3]]);
});

test("a hole in all parts of a stack stays a hole", () => {
  const parts = aligned([1, 2].map((y) => drawable({ slide: 10, ...series([10, y, true], [20, y, true], [60, y, true]) }, 100)));
  assert.deepEqual(parts.map((data) => data.map((point) => [point.x, point.y])), [[[10, 1], [20, 1], [40, null], [60, 1]], [[10, 2], [20, 2], [40, null], [60, 2]]]);
});

test("in a stack a part with longer slides goes straight on between its results, and nowhere else", () => {
  const fast = [10, 20, 30, 40, 50].map((x) => ({ x, y: 1, final: true }));
  const [, slow] = aligned([fast, [{ x: 20, y: 4, final: true }, { x: 40, y: 8, final: false }]]);
  assert.deepEqual(slow.map(({ y }) => y), [null, 4, 6, 8, null]);
  assert.equal(slow[2].final, false, "it leads to what is not final");
});

test("the small line of a number breaks where windows are missing", () => {
  const one = { slide: 10, ...series([10, 1, true], [20, 2, true], [60, 3, true], [70, null, true], [80, 4, true]) };
  const xs = runs(one, { from: 0, until: 100 }).map((run) => run.map(([x]) => x));
  assert.deepEqual(xs, [[10, 20], [60], [80]]);
  const dense = { ...one, step: 20 };
  assert.deepEqual(runs(dense, { from: 0, until: 100 }).map((run) => run.length), [3, 1], "thinned results may lie further apart");
});
