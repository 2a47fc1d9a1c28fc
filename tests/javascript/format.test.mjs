import assert from "node:assert/strict";
import { test } from "node:test";
import { duration, number, spanWords, tickFormat } from "../../static/js/live/format.js";

const written = (ticks) => ticks.map(tickFormat(ticks));

test("ticks are written with as many digits as their step needs", () => {
  assert.deepEqual(written([17.5, 20, 22.5]), ["17.5", "20.0", "22.5"]);
  assert.deepEqual(written([22, 22.25, 22.5]), ["22.00", "22.25", "22.50"]);
  assert.deepEqual(written([0, 250, 500]), ["0", "250", "500"]);
  assert.deepEqual(written([0, 2_500, 5_000]), ["0", "2,500", "5,000"]);
  assert.deepEqual(written([0, 10_000, 20_000]), ["0", "10\u202fk", "20\u202fk"]);
  assert.deepEqual(written([10_000, 12_500]), ["10.0\u202fk", "12.5\u202fk"]);
});

test("a value among fractions keeps its digits, a count has none", () => {
  assert.equal(number(51), "51");
  assert.equal(number(51, false), "51.0");
  assert.equal(number(0, false), "0");
  assert.equal(number(38_240), "38.2\u202fk");
  assert.equal(number(-6.1), "−6.10");
});

test("durations are short", () => {
  assert.equal(duration(1_400), "1.4\u202fs");
  assert.equal(duration(9_000, { tenths: false }), "9\u202fs");
  assert.equal(duration(5_400_000), "1\u202fh 30\u202fmin");
});

test("a span of time is told in one unit", () => {
  assert.equal(spanWords(900_000), "15 minutes");
  assert.equal(spanWords(6 * 3_600_000), "6 hours");
  assert.equal(spanWords(86_400_000), "24 hours");
  assert.equal(spanWords(30 * 86_400_000), "30 days");
  assert.equal(spanWords(1_000), "1 second");
});
