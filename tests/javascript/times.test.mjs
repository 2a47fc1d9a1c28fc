import assert from "node:assert/strict";
import { test } from "node:test";
import { localWords, showLocalTimes } from "../../static/js/times.js";

process.env.TZ = "Asia/Kolkata"; // five and a half hours ahead
const today = new Date("2026-11-17T12:00:00Z");

test("an instant of today is a time of the browser's clock", () => {
  assert.equal(localWords(new Date("2026-11-17T08:32:09.250Z"), false, today), "14:02:09");
  assert.equal(localWords(new Date("2026-11-17T08:32:09.250Z"), true, today), "14:02:09.250");
  assert.equal(localWords(new Date("2026-11-16T18:30:00Z"), false, today), "00:00:00"); // yesterday in UTC
});

test("an instant of another day has its day, as it is here", () => {
  assert.equal(localWords(new Date("2026-11-16T18:29:59Z"), false, today), "2026-11-16 23:59:59");
  assert.equal(localWords(new Date("2026-01-01T20:00:00Z"), true, today), "2026-01-02 01:30:00.000");
});

test("elements show local time, and say it in UTC on hover", () => {
  const time = (dateTime, dataset = {}) => ({ dateTime, dataset, textContent: "as sent" });
  const [plain, unread, broken] = [time("2026-01-01T20:00:00Z"), time("2026-01-01T20:00:00Z", { of: "message" }), time("soon")];
  globalThis.document = { body: {}, querySelectorAll: (selector) => (selector === "time[datetime]" ? [plain, unread, broken] : []) };
  globalThis.MutationObserver = class {
    observe() {}
  };
  showLocalTimes();
  assert.deepEqual([plain.textContent, plain.title], ["2026-01-02 01:30:00", "2026-01-01T20:00:00.000Z (UTC)"]);
  assert.equal(unread.title, "2026-01-01T20:00:00.000Z (UTC), of the message: no event time could be read");
  assert.deepEqual([broken.textContent, broken.title], ["as sent", undefined]);
});
