import assert from "node:assert/strict";
import { test } from "node:test";
import { mergedNotes } from "../../static/js/live/marks.js";
import { rateWords, rowState, shareWords } from "../../static/js/live/queryrow.js";
import { computationChoices } from "../../static/js/live/switch.js";

const STATE = { caught_up: true, broker: { state: "reachable", since: 0 }, job: { state: "running", since: 0 } };
const at = (now, more = {}) => ({ now, connected: true, state: STATE, ...more });
const running = { state: "running", error: null, paused: null, due: null, recalled: null };

test("a query that warms up says how long yet, never too little", () => {
  assert.deepEqual(rowState({ ...running, due: 61_000 }, at(0)), ["is-off", "Warming up", "2\u202fmin left"]);
  assert.deepEqual(rowState({ ...running, due: 40_500 }, at(0)), ["is-off", "Warming up", "41\u202fs left"]);
  assert.deepEqual(rowState({ ...running, recalled: 0.256 }, at(0)), ["is-off", "Warming up", "reading the past, 25\u202f% done"]);
  assert.deepEqual(rowState({ ...running, due: 10 }, at(20)), ["", "Running", ""]);
});

test("a failing source's queries say why", () => {
  assert.deepEqual(rowState({ ...running, state: "failing", error: "no field “temp”" }, at(0)), ["is-bad", "Failing", "no field “temp”"]);
});

test("no query runs while nothing can be heard, or no job runs; who is paused stays so", () => {
  const outages = [
    [{ connected: false }, "Reconnecting"],
    [{ state: { ...STATE, broker: { state: "down", since: 0 } } }, "Broker not reachable"],
    [{ state: { ...STATE, job: { state: "stopped", since: 0 } } }, "Job stopped"],
  ];
  for (const [outage, word] of outages) {
    for (const told of [running, { ...running, due: 10 }, { ...running, state: "failing" }]) assert.equal(rowState(told, at(0, outage))[1], word);
    assert.equal(rowState({ ...running, state: "paused", paused: { by: "Ana", at: 0 } }, at(0, outage))[1], "Paused");
  }
});

test("what a query leaves out is told beside what it does, and not of one that does not run", () => {
  const warning = "3 values left out in the last 15 min.";
  const warned = { ...running, warning };
  assert.deepEqual(rowState(warned, at(0)), ["is-warn", "Running", warning]);
  assert.deepEqual(rowState({ ...warned, due: 40_000 }, at(0)), ["is-warn", "Warming up", `40\u202fs left. ${warning}`]);
  assert.deepEqual(rowState({ ...warned, error: "Kafka removed 7 messages." }, at(0)), ["is-warn", "Running", `Kafka removed 7 messages. ${warning}`]);
  assert.equal(rowState({ ...warned, paused: { by: "Ana", at: 0 }, state: "paused" }, at(0))[2].includes(warning), false);
});

test("a query whose source the job has not picked up is starting", () => {
  assert.deepEqual(rowState({ ...running, state: "absent" }, at(0)), ["is-off", "Starting", "waiting for the job to pick up the source"]);
});

test("few results are told per minute", () => {
  assert.deepEqual([null, 0, 0.1, 2.5, 1_204].map(rateWords), ["–", "0/s", "6/min", "2.50/s", "1,204/s"]);
});

test("computations of one field are told apart by their aggregates", () => {
  assert.deepEqual(computationChoices(["max of temp", "p95 of temp"]), [["max of temp", "max"], ["p95 of temp", "p95"]]);
  assert.deepEqual(computationChoices(["max of temp", "count"]), [["max of temp", "max of temp"], ["count", "count"]]);
});

test("a small share of the cost is not none", () => {
  assert.deepEqual([0, 0.0001, 0.0123, 0.42].map(shareWords), ["0\u202f%", "<0.1\u202f%", "1.2\u202f%", "42\u202f%"]);
});

test("notes that are too near to each other become one", () => {
  const same = (time) => time;
  const notes = [[10, "a"], [30, "b"], [65, "c"], [200, "Ana: filter changed"]].map(([time, text]) => ({ time, text }));
  assert.deepEqual(mergedNotes(notes, same), [{ x: 10, text: "3 changes" }, { x: 200, text: "Ana: filter changed" }]);
});
