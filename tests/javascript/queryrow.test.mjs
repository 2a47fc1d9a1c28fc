import assert from "node:assert/strict";
import { test } from "node:test";
import { mergedNotes } from "../../static/js/live/marks.js";
import { rateWords, rowState, shareWords } from "../../static/js/live/queryrow.js";
import { computationChoices } from "../../static/js/live/switch.js";

const running = { state: "running", error: null, paused: null, due: null, recalled: null };

test("a query that warms up says how long yet, never too little", () => {
  assert.deepEqual(rowState({ ...running, due: 61_000 }, 0), ["is-off", "Warming up", "2\u202fmin left"]);
  assert.deepEqual(rowState({ ...running, due: 40_500 }, 0), ["is-off", "Warming up", "41\u202fs left"]);
  assert.deepEqual(rowState({ ...running, recalled: 0.256 }, 0), ["is-off", "Warming up", "reading the past, 25\u202f% done"]);
  assert.deepEqual(rowState({ ...running, due: 10 }, 20), ["", "Running", ""]);
});

test("a failing source's queries say why", () => {
  assert.deepEqual(rowState({ ...running, state: "failing", error: "no field “temp”" }, 0), ["is-bad", "Failing", "no field “temp”"]);
});

test("few results are told per minute", () => {
  assert.deepEqual([null, 0, 0.1, 2.5, 1_204].map(rateWords), ["–", "0/s", "6/min", "2.50/s", "1,204/s"]);
});

test("computations of one field are told apart by their aggregates", () => {
  assert.deepEqual(computationChoices(["max of temp", "p95 of temp"]), [["max of temp", "max"], ["p95 of temp", "p95"]]);
  assert.deepEqual(computationChoices(["max of temp", "count"]), [["max of temp", "max of temp"], ["count", "count"]]);
});

test("a small share of the cost is not none", () => {
  assert.deepEqual([0, 0.0001, 0.0123, 0.42].map(shareWords), ["0.0\u202f%", "<0.1\u202f%", "1.2\u202f%", "42\u202f%"]);
});

test("notes that are too near to each other become one", () => {
  const at = (time) => time;
  const notes = [[10, "a"], [30, "b"], [65, "c"], [200, "Ana: filter changed"]].map(([time, text]) => ({ time, text }));
  assert.deepEqual(mergedNotes(notes, at), [{ x: 10, text: "3 changes" }, { x: 200, text: "Ana: filter changed" }]);
});
