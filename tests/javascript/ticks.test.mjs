import assert from "node:assert/strict";
import { test } from "node:test";
import { fittingAxis } from "../../static/js/live/ticks.js";

const ticks = (...values) => fittingAxis(...values).ticks;

test("an axis of values that are never negative does not go below zero", () => {
  assert.deepEqual(ticks(7, 20_010), [0, 5_000, 10_000, 15_000, 20_000]);
  assert.equal(fittingAxis(7, 20_010).min, 0);
  assert.equal(fittingAxis(0, 0).min, 0);
  assert.ok(fittingAxis(-1, 5).min < 0);
});

test("the axis hugs the values", () => {
  const { min, max } = fittingAxis(19.7, 24.7);
  assert.ok(min > 19 && max < 25.5, `${min} to ${max}`);
  assert.deepEqual(ticks(19.7, 24.7), [20, 22, 24]);
});

test("values that hardly differ are not blown up", () => {
  const { min, max } = fittingAxis(19_990, 20_010, { whole: true });
  assert.ok(max - min >= 200);
});

test("counts get no fractions", () => {
  assert.deepEqual(ticks(0, 1, { whole: true }), [0, 1, 2]);
  assert.deepEqual(ticks(3, 3, { whole: true }), [2, 3, 4]);
});

test("there are three to five ticks around any values", () => {
  for (let exponent = -6; exponent < 12; exponent += 0.37) {
    for (const [low, high] of [[-1, 2.3], [-7, -6.9], [0.11, 0.97], [3, 3.001], [0, 1], [-2, 0]]) {
      for (const whole of [false, true]) {
        const [from, to] = [low, high].map((value) => (whole ? Math.round : Number)(value * 10 ** exponent));
        const axis = fittingAxis(from, to, { whole });
        assert.ok(axis.ticks.length >= 3 && axis.ticks.length <= 5, `${axis.ticks} for ${from} to ${to}`);
        assert.ok(axis.min <= from && axis.max >= to, `${axis.min} to ${axis.max} for ${from} to ${to}`);
        assert.ok(axis.ticks[0] >= axis.min - 1e-6 * Math.abs(axis.min) && axis.ticks.at(-1) <= axis.max * (1 + Math.sign(axis.max) * 1e-6));
      }
    }
  }
});
