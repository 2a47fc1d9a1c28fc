import assert from "node:assert/strict";
import { test } from "node:test";
import { utcWords } from "../../static/js/utc-hints.js";

process.env.TZ = "Asia/Kolkata"; // five and a half hours ahead
const today = new Date("2026-11-17T12:00:00Z");

test("times of a sentence are told in UTC", () => {
  assert.equal(utcWords("Stale since 14:02: job stopped.", today), "14:02 is 08:32 UTC");
  assert.equal(utcWords("Shown up to 14:02:09.", today), "14:02:09 is 08:32:09 UTC");
  assert.equal(utcWords("peak 12 since 14:02, idle since 15:00, again 14:02", today), "14:02 is 08:32 UTC, 15:00 is 09:30 UTC");
});

test("a time of another day, and one whose day in UTC is another, say so", () => {
  assert.equal(utcWords("since 2026-11-16 14:02", today), "2026-11-16 14:02 is 08:32 UTC");
  assert.equal(utcWords("since 03:00", today), "03:00 is 2026-11-16 21:30 UTC");
});

test("what is no time stays as it is", () => {
  assert.equal(utcWords("2026-11-17T14:02:00Z, 12 of 4, 1:2, port 127.0.0.1:19092", today), "");
});
