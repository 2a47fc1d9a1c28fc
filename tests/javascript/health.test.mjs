import assert from "node:assert/strict";
import { test } from "node:test";
import { healthCells, named, sourceState } from "../../static/js/live/health-words.js";
import { barBoxes, linePaths } from "../../static/js/live/sparkline.js";

const NOW = 1_800_000_000_000;
const MINUTE = 60_000;
const STATE = { caught_up: true, broker: { state: "reachable", since: 0 }, job: { state: "running", since: NOW - MINUTE } };
const HEALTH = {
  state: "running", error: null, rate: 24_118.4, peak: 31_400, peak_since: NOW - MINUTE, lag: 1_204, partitions: 12, active: [0, 1, 2, 3, 5, 6, 7, 8, 9, 10, 11],
  watermark: NOW - 61_000, late: 12, malformed: 0, misdated: 0, counted_since: NOW - 15 * MINUTE, idle_since: null,
};
const facts = (health = {}, more = {}) => ({ health: { ...HEALTH, ...health }, state: STATE, now: NOW, connected: true, lateness: 60_000, ...more });
const cells = (...about) => healthCells(facts(...about)).map(({ value, unit = "", line }) => [value, unit, line].map((text) => text.replaceAll("\u202f", " ")));
const stopped = { state: { ...STATE, job: { state: "stopped", since: NOW - MINUTE } } };

test("a source that runs is told in six figures with one line each", () => {
  const [rate, lag, watermark, late, malformed, idle] = cells();
  assert.match(rate.join("|"), /^24,118\|\|peak 31,400 since /);
  assert.deepEqual(lag, ["1,204", "", "0.0 s of reading"]);
  assert.deepEqual(watermark, ["61", "s behind", "60 s of it lateness"]);
  assert.deepEqual(late, ["12", "in 15 min", "kept in dead letters"]);
  assert.deepEqual(malformed, ["0", "in 15 min", "all could be read"]);
  assert.deepEqual(idle, ["1", "of 12", "partition 4, not waited for"]);
});

test("messages of aborted transactions are told beside malformed ones", () => {
  assert.deepEqual(cells({ malformed: 2, aborted: 1_300 })[4], ["2", "in 15 min", "and 1,300 aborted by transactions"]);
});

test("a stopped job has no rate, lag or idle partitions of now, and it says why", () => {
  const [rate, lag, watermark, , , idle] = cells({}, stopped);
  for (const cell of [rate, lag, idle]) assert.deepEqual(cell, ["–", "", "job stopped"]);
  assert.equal(watermark[0], "61"); // what was final stays so, and its age is known
});

test("before anything was measured, nothing is made up", () => {
  const unknown = { rate: null, peak: null, peak_since: null, lag: null, partitions: null, active: null, watermark: null, counted_since: null, late: 0, malformed: 0 };
  for (const [value] of cells(unknown)) assert.equal(value, "–");
  assert.deepEqual(cells({ ...unknown, state: "absent" })[1], ["–", "", "no query asks for it"]);
});

test("while the broker is away, or its past is still read, nothing is said of queries", () => {
  const down = { state: { ...STATE, broker: { state: "down", since: NOW } } };
  for (const health of ["absent", "running"]) assert.deepEqual(cells({ state: health }, down)[0], ["–", "", "broker not reachable"]);
  assert.deepEqual(cells({ state: "absent" }, { state: { ...STATE, caught_up: false } })[1], ["–", "", "connecting"]);
});

test("partitions are named, and counted when there are many", () => {
  assert.equal(named([4]), "partition 4");
  assert.equal(named([1, 4, 7]), "partitions 1, 4 and 7");
  assert.equal(named([0, 1, 2, 3, 4, 5]), "partitions 0, 1, 2 and 3 more");
  assert.deepEqual(cells({ active: [] })[5], ["12", "of 12", "none brings messages"]);
  assert.deepEqual(cells({ active: [...Array(12).keys()] })[5], ["0", "of 12", "all are waited for"]);
});

test("the state is the worst that is known", () => {
  const word = (...about) => sourceState(facts(...about))[1];
  assert.equal(word(), "Healthy");
  assert.equal(word({ idle_since: NOW - MINUTE }), "Idle");
  assert.equal(word({ error: "Kafka removed 3 messages." }), "Messages lost");
  assert.equal(word({ state: "failing", error: "no topic" }), "Failing");
  assert.equal(word({}, stopped), "Job stopped");
  assert.equal(word({ state: "absent" }), "Not read");
  assert.equal(word({}, { connected: false }), "Reconnecting");
  assert.equal(sourceState({ ...facts(), health: undefined })[1], "Connecting");
});

test("a line has a gap where nothing was measured, and a lone value is a dot", () => {
  assert.deepEqual(linePaths([null, null]), []);
  const paths = linePaths([1, 2, null, 3, null]);
  assert.equal(paths.length, 2);
  assert.match(paths[0], /^M[\d. ]+L[\d. ]+$/);
  assert.match(paths[1], /h0.01$/);
  assert.doesNotMatch(linePaths([5, 5, 5]).join(), /NaN/);
});

test("bars begin at zero, and one among thousands can still be seen", () => {
  const [none, one, most] = barBoxes([0, 1, 5_000]);
  assert.equal(none.height, 0);
  assert.ok(one.height >= 2 && most.height > 10);
});
