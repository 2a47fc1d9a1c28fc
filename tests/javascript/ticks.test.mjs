import assert from "node:assert/strict";
import { test } from "node:test";
import { roundTicks } from "../../static/js/live/ticks.js";

test("an axis of values that are never negative does not go below zero", () => {
  assert.deepEqual(roundTicks(7, 20_010), [0, 10_000, 20_000, 30_000]);
  assert.equal(roundTicks(0, 0.3)[0], 0);
  assert.deepEqual(roundTicks(0, 0), [0, 0.25, 0.5, 0.75, 1]);
});

test("the axis hugs values far from zero", () => {
  assert.deepEqual(roundTicks(22.05, 22.5), [22, 22.25, 22.5]);
  assert.deepEqual(roundTicks(19.2, 25.8), [18, 20, 22, 24, 26]);
});

test("values that hardly differ are not blown up", () => {
  const ticks = roundTicks(19_990, 20_010, { whole: true });
  assert.ok(ticks.at(-1) - ticks[0] >= 200);
});

test("counts get no fractions", () => {
  assert.deepEqual(roundTicks(0, 1, { whole: true }), [0, 1, 2]);
  assert.deepEqual(roundTicks(3, 3, { whole: true }), [2, 3, 4]);
});

test("there are three to five ticks around any values", () => {
  for (let exponent = -6; exponent < 12; exponent += 0.37) {
    for (const [low, high] of [[-1, 2.3], [-7, -6.9], [0.11, 0.97], [3, 3.001]]) {
      const [from, to] = [low * 10 ** exponent, high * 10 ** exponent];
      const ticks = roundTicks(from, to);
      assert.ok(ticks.length >= 3 && ticks.length <= 5, `${ticks}`);
      assert.ok(ticks[0] <= from && ticks.at(-1) >= to, `${ticks} around ${from} to ${to}`);
    }
  }
});
