import assert from "node:assert/strict";
import { test } from "node:test";
import { heights, layout, lines, ribbon } from "../../static/js/live/flow-layout.js";
import { rowsOf } from "../../static/js/live/slices.js";

const sum = (values) => values.reduce((total, value) => total + value, 0);
const queries = (count) => Array.from({ length: count }, (_, at) => ({ label: `Query ${at}`, count: 1 }));
const tree = (id, cost, count = 2) => ({ id: String(id), cost, count, node: 1, queries: queries(count) });

test("bands share the room by their cost", () => {
  const found = heights([30, 10, 60], 200);
  assert.deepEqual(found.map(Math.round), [60, 20, 120]);
});

test("a band that costs next to nothing can be seen and the others give it the room", () => {
  const found = heights([1_000, 1, 1], 200);
  assert.ok(found.every((height) => height >= 8));
  assert.ok(Math.abs(sum(found) - 200) < 0.01);
});

test("without any cost all are alike", () => {
  assert.deepEqual(heights([0, 0], 100), [50, 50]);
  assert.deepEqual(heights([], 100), []);
});

test("as many queries are named as there is room for", () => {
  assert.deepEqual(lines(queries(2), 60).map(({ text }) => text), ["Query 0", "Query 1"]);
  assert.deepEqual(lines(queries(9), 60).map(({ text }) => text), ["Query 0", "Query 1", "7 more"]);
  assert.deepEqual(lines(queries(9), 4).map(({ text, more }) => text + more), ["Query 0, 8 more"]);
  assert.deepEqual(lines([], 40), []);
});

test("bands do not overlap, and each leaves its source within it", () => {
  const sources = [
    { key: "a", trees: [tree(1, 5), tree(2, 0.01), tree(3, 2)] },
    { key: "b", trees: [tree(1, 1)] },
  ];
  const { bands, posts, bottom } = layout(sources, 42, 260);
  for (let at = 1; at < bands.length; at += 1) assert.ok(bands[at].y >= bands[at - 1].y + bands[at - 1].height + 8 - 1e-9);
  for (const band of bands) {
    const post = posts[band.source];
    assert.ok(band.from >= post.y - 1e-9 && band.from + band.height <= post.y + post.height + 1e-9);
  }
  assert.ok(bottom > bands.at(-1).y);
});

test("low bands are far enough apart for their text", () => {
  const { bands } = layout([{ key: "a", trees: Array.from({ length: 17 }, (_, at) => tree(at, 0.001)) }], 42, 200);
  for (let at = 1; at < bands.length; at += 1) assert.ok(bands[at].y - bands[at - 1].y >= 16);
});

test("a ribbon is one closed shape", () => {
  assert.match(ribbon(0, 10, 100, 20, 5), /^M0 10C.*Z$/);
});

test("a tree of many queries is drawn in few rows that close where all of them do", () => {
  const many = Array.from({ length: 40 }, (_, at) => ({ name: `q${at}`, aggregate: "max", range: 60_000, slide: 10_000 * (1 + (at % 3)), end: 0 }));
  const rows = rowsOf(many);
  assert.equal(rows.length, 10);
  assert.equal(rows.at(-1).name, "31 more");
  assert.deepEqual(rows.at(-1).closes.map(([slide]) => slide).sort(), [10_000, 20_000, 30_000]);
  assert.equal(rowsOf(many.slice(0, 3)).length, 3);
});
