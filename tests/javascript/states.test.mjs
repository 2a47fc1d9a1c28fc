import assert from "node:assert/strict";
import { test } from "node:test";
import { QuerySeries } from "../../static/js/live/series.js";
import { panelState } from "../../static/js/live/states.js";

const SECOND = 1_000;
const MINUTE = 60 * SECOND;
const NOW = 1_000 * MINUTE;
const RUNNING = { caught_up: true, broker: { state: "reachable", since: 0 }, job: { state: "running", since: 0 } };
const SOURCE = { state: "running", idle_since: null, max_event_time: NOW };

function query({ windows, points = [] }) {
  const known = new QuerySeries("hot");
  const series = windows.map(({ range, slide }, at) => ({ id: `${range}/${slide}|`, range, slide, group: [], whole: true, points: points[at] ?? [] }));
  known.take({ type: "snapshot", sequence: 1, query: "hot", source: "s", topic: "t", source_address: "/s/", group_by: [], lateness: 10 * SECOND, windows, groups: 0, series }, NOW);
  return known;
}

const said = (about, more = {}) => panelState({ query: query(about), connected: true, state: RUNNING, source: SOURCE, now: NOW, delay: 0, ...more });

test("a window that joined the plan says how long its first whole one takes", () => {
  const state = said({ windows: [{ range: 5 * MINUTE, slide: 10 * SECOND, joined: NOW - 65 * SECOND }] });
  assert.equal(state.bold, "Warming up, 5\u202fmin left."); // it starts at the next 10 s, and lateness comes on top
  assert.equal(state.rest, "The window holds 1 of its 5 minutes.");
  assert.equal(state.share, 0.2, "a bar shows how much of it");
});

test("a window that has not begun yet holds nothing, and less than nothing never", () => {
  const windows = [{ range: 60 * MINUTE, slide: 60 * MINUTE, joined: NOW - SECOND }]; // full hours
  const hour = Math.ceil(NOW / (60 * MINUTE)) * 60 * MINUTE;
  const state = said({ windows });
  assert.equal(state.rest, `The window starts in ${(hour - NOW) / MINUTE}\u202fmin.`);
  assert.equal(state.share, 0);
});

test("while its past is read back from Kafka, it says how much of it has been read", () => {
  const windows = [{ range: 5 * MINUTE, slide: 10 * SECOND, joined: NOW - 5 * SECOND }];
  const state = said({ windows }, { source: { ...SOURCE, recalled: 0.428 } });
  assert.equal(state.bold, "Reading the past, 42\u202f% done.");
  assert.equal(state.share, 0.428);
  const done = said({ windows, points: [[[NOW - MINUTE, 3, true]]] }, { source: { ...SOURCE, recalled: 0.5 } });
  assert.doesNotMatch(done?.bold ?? "", /past/);
});

test("once it has provisional results, their ends tell", () => {
  const points = [[[NOW + 20 * SECOND, 1, false], [NOW + 30 * SECOND, 1, false]]];
  const state = said({ windows: [{ range: 5 * MINUTE, slide: 10 * SECOND, joined: NOW - 65 * SECOND }], points });
  assert.equal(state.bold, "Warming up, 30\u202fs left.");
});

test("the slowest window of a family speaks for it", () => {
  const windows = [{ range: MINUTE, slide: MINUTE, joined: null }, { range: 10 * MINUTE, slide: MINUTE, joined: NOW - MINUTE }];
  assert.match(said({ windows, points: [[[NOW - MINUTE, 3, true]]] }).rest, /^The 10\u202fm window/);
});

test("lost messages are told while results go on", () => {
  const about = { windows: [{ range: MINUTE, slide: MINUTE, joined: null }], points: [[[NOW - MINUTE, 3, true]]] };
  const state = said(about, { source: { ...SOURCE, error: "Kafka removed 7 messages of “t” before they were read." } });
  assert.equal(state.bold, "Kafka removed 7 messages of “t” before they were read.");
  assert.equal(state.tone, "is-warn");
});

test("what a query leaves out is told unless something is worse", () => {
  const about = { windows: [{ range: MINUTE, slide: MINUTE, joined: null }], points: [[[NOW - MINUTE, 3, true]]] };
  const warning = "3 values left out: could not convert 'n/a' to a number.";
  const state = said(about, { warning });
  assert.deepEqual([state.bold, state.tone, state.badge], [warning, "is-warn", "is-warn"]);
  assert.match(said(about, { warning, source: { ...SOURCE, error: "Kafka removed 7 messages." } }).bold, /^Kafka/);
  assert.equal(said(about, { warning: undefined }), null);
});

test("with a final result of every window nothing is said", () => {
  const windows = [{ range: MINUTE, slide: MINUTE, joined: NOW - 3 * MINUTE }];
  assert.equal(said({ windows, points: [[[NOW - MINUTE, 3, true]]] }), null);
});

test("without a clue no time is promised", () => {
  assert.equal(said({ windows: [{ range: MINUTE, slide: MINUTE, joined: null }] }).bold, "Warming up.");
});

test("a broker that is away is the cause, whatever else is wrong", () => {
  const state = { caught_up: true, broker: { state: "down", since: NOW - MINUTE }, job: { state: "stopped", since: NOW } };
  assert.match(said({ windows: [{ range: MINUTE, slide: MINUTE, joined: null }] }, { state }).bold, /the Kafka broker does not answer/);
});

test("while the past is being read, its old signs of life do not make the job look stopped", () => {
  const windows = [{ range: MINUTE, slide: MINUTE, joined: null }];
  const stopped = { ...RUNNING, job: { state: "stopped", since: NOW - MINUTE } };
  const points = [[[NOW - MINUTE, 3, true]]];
  assert.match(said({ windows, points }, { state: stopped }).bold, /job stopped/);
  assert.equal(said({ windows, points }, { state: { ...stopped, caught_up: false } }), null);
});

test("a job that stopped and a source that fails lead to the page of the source", () => {
  const about = { windows: [{ range: MINUTE, slide: MINUTE, joined: null }], points: [[[NOW - MINUTE, 3, true]]] };
  const action = { text: "See source", address: "/s/" };
  assert.deepEqual(said(about, { state: { ...RUNNING, job: { state: "stopped", since: NOW - MINUTE } } }).action, action);
  const failing = said(about, { source: { ...SOURCE, state: "failing", since: NOW - MINUTE, error: "No topic “t”." } });
  assert.match(failing.bold, /^Failing since .*: No topic “t”\.$/);
  assert.deepEqual(failing.action, action);
});

test("a job that has only just come back is not asked for the cause of its silence", () => {
  const points = [[[NOW - 5 * MINUTE, 3, true]]];
  const about = { windows: [{ range: SECOND, slide: SECOND, joined: null }], points };
  const late = { delay: 5 * MINUTE, now: NOW + 5 * MINUTE };
  assert.match(said(about, late).bold, /^Stale since/);
  assert.equal(said(about, { ...late, source: { ...SOURCE, state: "starting" } }).bold, "The job is taking up this source.");
});

test("a paused query says who paused it and when, whatever the job does", () => {
  const paused = query({ windows: [{ range: MINUTE, slide: MINUTE }] });
  paused.paused = { by: "Ana", at: Date.now(), address: "/queries/hot/" };
  const state = panelState({ query: paused, connected: true, state: { ...RUNNING, job: { state: "stopped", since: 0 } }, source: SOURCE, now: NOW, delay: 0 });
  assert.match(state.bold, /^Paused by Ana at \d\d:\d\d\.$/);
  assert.equal(state.rest, "Results up to then are kept.");
  assert.deepEqual(state.action, { text: "Resume", address: "/queries/hot/" });
});
