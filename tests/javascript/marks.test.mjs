import assert from "node:assert/strict";
import { test } from "node:test";
import { alertNotes } from "../../static/js/live/annotations.js";
import { mergedNotes, notesWithin } from "../../static/js/live/marks.js";
import { Ringing } from "../../static/js/live/ringing.js";

const at = (time) => time; // a pixel each
const fires = (time, until, text = "Too hot fires") => ({ alert: "hot", what: "fires", time, until, text });
const recovers = (time) => ({ alert: "hot", what: "recovers", time, until: time, text: "Too hot recovers" });

test("alerts are marked once: what the socket tells of the same moment replaces what was asked for", () => {
  const notes = alertNotes([fires(100, null), fires(10, 20)], [fires(100, 400, "Too hot fires: 2 groups"), recovers(400)]);
  assert.deepEqual(notes, [
    { time: 100, until: 400, text: "Too hot fires: 2 groups", tone: "bad" },
    { time: 10, until: 20, text: "Too hot fires", tone: "bad" },
    { time: 400, until: 400, text: "Too hot recovers", tone: "ok" },
  ]);
  assert.deepEqual(alertNotes(undefined, undefined), []);
});

test("marks near each other become one, but that an alert recovers does not count beside that it fired", () => {
  const far = alertNotes([fires(100, 400), recovers(400)]);
  assert.deepEqual(mergedNotes(far, at).map(({ text }) => text), ["Too hot fires", "Too hot recovers"]);
  const near = alertNotes([fires(100, 110), recovers(110)]);
  assert.deepEqual(mergedNotes(near, at), [{ x: 100, text: "Too hot fires", tone: "bad" }]);
  const three = [...near, { time: 120, text: "Plan 4" }, { time: 130, text: "Ana: filter changed" }];
  assert.deepEqual(mergedNotes(three, at), [{ x: 100, text: "3 changes", tone: "bad" }]);
});

test("only what lies in the range has words", () => {
  const notes = alertNotes([fires(100, 400), recovers(400)]);
  assert.deepEqual(notesWithin(notes, at, 200, 500).map(({ text }) => text), ["Too hot recovers"]);
});

const INTERVAL = 300_000;
const loud = (audible, newest, more = {}) => ({ hot: { audible, newest, interval: INTERVAL, ...more } });

test("what fires when a page opens is no news, and what begins after that is told at once", () => {
  const ringing = new Ringing();
  ringing.hear(loud(1, 10));
  assert.deepEqual(ringing.due(0), []);
  ringing.hear({ ...loud(1, 10), cold: { audible: 1, newest: 20, interval: INTERVAL } });
  assert.deepEqual(ringing.due(0), ["cold"]);
  assert.deepEqual(ringing.due(1), []);
});

test("groups that fire one after another are told together, once an interval", () => {
  const ringing = new Ringing();
  ringing.hear({});
  ringing.hear(loud(1, 10));
  assert.deepEqual(ringing.due(0), ["hot"]);
  for (let groups = 2; groups < 9; groups += 1) {
    ringing.hear(loud(groups, 10 * groups));
    assert.deepEqual(ringing.due(groups * 1_000), []);
  }
  assert.deepEqual(ringing.due(INTERVAL - 1), []);
  assert.deepEqual(ringing.due(INTERVAL), ["hot"]);
  ringing.hear(loud(3, 80));
  assert.deepEqual(ringing.due(9 * INTERVAL), [], "that groups recover is no news");
});

test("of what is silenced nothing is said until the silence ends, and nothing of what recovered meanwhile", () => {
  const ringing = new Ringing();
  ringing.hear({});
  ringing.hear(loud(0, 0));
  assert.deepEqual(ringing.due(0), []);
  ringing.hear(loud(2, 10));
  assert.deepEqual(ringing.due(1), ["hot"]);
  ringing.hear(loud(3, 20));
  ringing.hear({});
  assert.deepEqual(ringing.due(9 * INTERVAL), []);
});
