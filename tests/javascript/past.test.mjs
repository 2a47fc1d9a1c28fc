import assert from "node:assert/strict";
import { test } from "node:test";
import { drawable } from "../../static/js/live/linechart.js";
import { PastLoader } from "../../static/js/live/past.js";
import { QuerySeries, thinned } from "../../static/js/live/series.js";
import { outOfRange } from "../../static/js/live/states.js";

const SECOND = 1_000;
const MINUTE = 60 * SECOND;
const HOUR = 60 * MINUTE;
const NOW = 500_000 * HOUR;
const SLIDE = 10 * SECOND;

const results = (from, until, value = () => 1) => {
  const points = [];
  for (let end = from; end < until; end += SLIDE) points.push([end, value(end), true]);
  return points;
};

function told(points, { sequence = 1, whole = sequence === 1, type = sequence === 1 ? "snapshot" : "update" } = {}) {
  const series = [{ id: "1m", range: MINUTE, slide: SLIDE, computation: "count", group: [], whole, points }];
  return { type, sequence, query: "q", source: "s", group_by: [], windows: [], computations: ["count"], lateness: 0, groups: 0, series };
}

function answer(points, { from, to, step = 0 }) {
  const ends = points.map(([end], at) => (at ? end - points[at - 1][0] : end));
  const series = [{ id: "1m", range: MINUTE, slide: SLIDE, computation: "count", group: [], step, ends, values: points.map(([, value]) => value) }];
  return { from, to, series, groups: 0, first: from, last: points.at(-1)?.[0] ?? null };
}

const ends = (query) => [...query.all()[0].points.keys()];

test("thinning keeps the least and the greatest of every span, and all of what is recent or provisional", () => {
  const points = [[10, 5, true], [20, 1, true], [30, 9, true], [40, 4, true], [110, 3, true], [210, 7, true], [220, 8, false]];
  assert.deepEqual(thinned(points, 100, 200), [[20, 1, true], [30, 9, true], [110, 3, true], [210, 7, true], [220, 8, false]]);
  assert.deepEqual(thinned(points, 0, 200), points);
});

test("the kept past joins what the socket told: no hole, nothing twice", () => {
  const query = new QuerySeries("q");
  query.take(told(results(NOW - 15 * MINUTE, NOW)), NOW);
  query.takePast(answer(results(NOW - HOUR, NOW - 5 * MINUTE), { from: NOW - HOUR, to: NOW }));
  assert.deepEqual(ends(query), results(NOW - HOUR, NOW).map(([end]) => end));
});

test("a revision that the socket told is not undone by an older past", () => {
  const query = new QuerySeries("q");
  query.take(told([[NOW - MINUTE, 7, true]]), NOW);
  query.takePast(answer(results(NOW - HOUR, NOW), { from: NOW - HOUR, to: NOW }));
  assert.equal(query.all()[0].points.get(NOW - MINUTE)[1], 7);
});

test("after a sleep the hole is asked for, and then it is gone", () => {
  const query = new QuerySeries("q");
  query.take(told(results(NOW - 15 * MINUTE, NOW)), NOW);
  query.lacking.clear();
  const woke = NOW + 5 * HOUR;
  query.take(told(results(woke - 15 * MINUTE, woke), { type: "snapshot" }), woke);
  assert.deepEqual([...query.lacking], ["1m"]);
  query.takePast(answer(results(woke - 6 * HOUR, woke), { from: woke - 6 * HOUR, to: woke }));
  assert.deepEqual(ends(query), results(woke - 6 * HOUR, woke).map(([end]) => end));
});

test("a wall screen does not grow: a day of updates leaves what the range can show", () => {
  const query = new QuerySeries("q");
  query.take(told(results(NOW - 15 * MINUTE, NOW)), NOW);
  query.takePast(answer([[NOW - 6 * HOUR, 1, true]], { from: NOW - 6 * HOUR, to: NOW, step: MINUTE }));
  let [sequence, most] = [1, 0];
  for (let now = NOW; now < NOW + 24 * HOUR; now += SLIDE) {
    query.take(told([[now, Math.sin(now), true]], { sequence: (sequence += 1) }), now);
    most = Math.max(most, ends(query).length);
  }
  assert.ok(most <= 2 * 360 + 90 + 2, `${most} points`);
  assert.ok(ends(query)[0] > NOW + 24 * HOUR - 6 * HOUR - 2 * MINUTE);
});

test("a range of the past shows what was kept, revised by what came since", () => {
  const query = new QuerySeries("q");
  const view = { from: NOW - HOUR, until: NOW - 5 * MINUTE, live: false };
  query.take(told([[NOW - 6 * MINUTE, 42, true], [NOW, 1, true]]), NOW);
  query.takeRange(answer(results(view.from, view.until), { from: view.from, to: view.until }));
  const [{ points }] = query.shown(view);
  assert.equal(points.get(NOW - 6 * MINUTE)[1], 42);
  assert.ok(!points.has(NOW));
  assert.equal(points.size, (55 * MINUTE) / SLIDE);
  assert.equal(query.shown({ ...view, live: true })[0].points.size, 2);
});

test("in the thinned past two points of neighbouring spans are one line, and a lost span is a gap", () => {
  const points = new Map([[0, 1], [110_000, 2], [300_000, 3]].map(([end, value]) => [end, [end, value, true]]));
  const drawn = drawable({ points, slide: SLIDE, step: MINUTE, detailFrom: Infinity }, 400_000);
  assert.deepEqual(drawn.map(({ y }) => y), [1, 2, null, 3]);
  const inDetail = drawable({ points, slide: SLIDE, step: MINUTE, detailFrom: 0 }, 400_000);
  assert.deepEqual(inDetail.map(({ y }) => y), [1, null, 2, null, 3]);
});

test("no data in a range is said when there are results elsewhere", () => {
  const query = new QuerySeries("q");
  query.take(told([]), NOW);
  const view = { from: NOW - HOUR, until: NOW };
  assert.equal(outOfRange(query, [], view), false);
  query.take(told([[NOW - 2 * HOUR, 1, true]], { type: "snapshot" }), NOW);
  assert.equal(outOfRange(query, query.all(), view), true);
  assert.equal(outOfRange(query, query.all(), { from: NOW - 3 * HOUR, until: NOW }), false);
});

test("a past that came before the socket told anything is there with its first word", () => {
  const query = new QuerySeries("q");
  query.takeEarly(answer(results(NOW - HOUR, NOW - 5 * MINUTE), { from: NOW - HOUR, to: NOW }));
  assert.equal(query.known, false);
  query.take(told(results(NOW - 15 * MINUTE, NOW)), NOW);
  assert.deepEqual(ends(query), results(NOW - HOUR, NOW).map(([end]) => end));
  assert.equal(query.lacking.size, 0);
});

test("a shorter range in full detail drops what was thinned", () => {
  const query = new QuerySeries("q");
  query.take(told(results(NOW - 10 * MINUTE, NOW)), NOW);
  query.takePast(answer(thinned(results(NOW - 6 * HOUR, NOW), MINUTE, NOW), { from: NOW - 6 * HOUR, to: NOW, step: MINUTE }));
  assert.ok(ends(query)[0] < NOW - 5 * HOUR);
  query.keep(15 * MINUTE);
  assert.equal(ends(query)[0], NOW - 10 * MINUTE);
});

test("panels that ask in the same moment ask once, and each gets its own", async () => {
  const asked = [];
  globalThis.location = { href: "http://here/dashboards/hall/" };
  globalThis.fetch = async (address) => {
    asked.push(address.href);
    return { ok: true, json: async () => ({ a: { from: 1 }, b: { from: 2 } }) };
  };
  const taken = {};
  const loaders = ["a", "b", "gone"].map((key) => {
    const loader = new PastLoader({ key, lacking: new Set(), takeRange: (answer) => (taken[key] = answer) }, "/history/");
    loader.need({ from: 10, until: 20, key: "10-20", live: false });
    return loader;
  });
  await new Promise((done) => setTimeout(done, 20));
  assert.equal(asked.length, 1);
  assert.match(asked[0], /^http:\/\/here\/history\/\?from=10&to=20&top=8&windows=.*&queries=a%2Cb%2Cgone$/);
  assert.deepEqual(taken, { a: { from: 1 }, b: { from: 2 } });
  assert.deepEqual(loaders.map(({ problem, loading }) => [problem, loading]), [["", false], ["", false], ["The server does not know it.", false]]);
});
