import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { test } from "node:test";
import { durationParts, wholeParts } from "../../static/js/durations.js";
import { between, instant, parseRange, rangeWords, RangeProblem, resolve, written } from "../../static/js/live/timerange.js";

const NOW = new Date(2026, 10, 17, 14, 12, 30).getTime(); // a Tuesday
const at = (...parts) => new Date(...parts).getTime();
const span = (text) => {
  const { from, until, live } = resolve(parseRange(text, NOW), NOW);
  return [from, until, live];
};

test("a time relative to now reaches to now and goes on with the clock", () => {
  assert.deepEqual(span("now-15m"), [NOW - 15 * 60_000, NOW, true]);
  assert.deepEqual(span("  15m "), span("now-15m"));
  assert.deepEqual(span("last 6h"), span("now-6h"));
});

test("units are seconds to months, and months are the calendar's", () => {
  assert.equal(instant("now-30s", NOW), NOW - 30_000);
  assert.equal(instant("now-1w", NOW), at(2026, 10, 10, 14, 12, 30));
  assert.equal(instant("now-2M", NOW), at(2026, 8, 17, 14, 12, 30));
  assert.equal(instant("now-1d+2h", NOW), at(2026, 10, 16, 16, 12, 30));
});

const TOLD = JSON.parse(readFileSync(new URL("../durations.json", import.meta.url))); // the server's tests read it, too
const MS = { w: 604_800_000, d: 86_400_000, h: 3_600_000, m: 60_000, s: 1_000, ms: 1 };

test("durations read as people write them, as on the server", () => {
  const length = (text) => wholeParts(durationParts(text)).reduce((sum, [count, unit]) => sum + count * MS[unit], 0);
  for (const [text, milliseconds] of TOLD.durations) assert.equal(length(text), milliseconds, text);
  for (const text of TOLD.no_durations) assert.equal(durationParts(text), null, text);
  for (const [text, ago] of TOLD.ago) assert.deepEqual(span(text), [NOW - ago, NOW, true], text);
  for (const text of TOLD.no_times) assert.throws(() => parseRange(text, NOW), RangeProblem, text);
  assert.deepEqual(span("10 minutes ago to 5 minutes ago"), [NOW - 600_000, NOW - 300_000, false]);
});

test("M is a month in a range, which ends with the month where that is shorter", () => {
  const noon = at(2026, 4, 31, 12);
  const earlier = { 1: [2026, 3, 30], 2: [2026, 2, 31], 3: [2026, 1, 28], 6: [2025, 10, 30] };
  for (const [text, months] of TOLD.months) assert.equal(resolve(parseRange(text, noon), noon).from, at(...earlier[months], 12), text);
});

test("a slash rounds: down where a range begins, up where it ends", () => {
  assert.equal(instant("now-1d/d", NOW), at(2026, 10, 16));
  assert.equal(instant("now-1d/d", NOW, { atEnd: true }), at(2026, 10, 17));
  assert.equal(instant("now/w", NOW), at(2026, 10, 16));
  assert.equal(instant("now/M", NOW), at(2026, 10, 1));
  assert.deepEqual(span("now-1d/d"), [at(2026, 10, 16), NOW, true]);
  assert.deepEqual(span("now-1d/d now-1d/d"), [at(2026, 10, 16), at(2026, 10, 17), false]);
});

test("a clock time is the last time the clock showed it", () => {
  assert.equal(instant("14:00", NOW), at(2026, 10, 17, 14));
  assert.equal(instant("14:12:31", NOW), at(2026, 10, 16, 14, 12, 31));
  assert.deepEqual(span("13:00 to 13:30"), [at(2026, 10, 17, 13), at(2026, 10, 17, 13, 30), false]);
  assert.deepEqual(span("13:00 13:30"), span("13:00 to 13:30"));
});

test("days are whole days", () => {
  assert.deepEqual(span("yesterday"), [at(2026, 10, 16), at(2026, 10, 17), false]);
  assert.deepEqual(span("today"), [at(2026, 10, 17), NOW, true]);
  assert.deepEqual(span("2026-11-03"), [at(2026, 10, 3), at(2026, 10, 4), false]);
  assert.deepEqual(span("2026-11-16 09:30"), [at(2026, 10, 16, 9, 30), NOW, true]);
  assert.deepEqual(span("2026-11-16 09:30 2026-11-16 10:00"), [at(2026, 10, 16, 9, 30), at(2026, 10, 16, 10), false]);
});

test("what makes no sense is said in a sentence", () => {
  const problem = (text) => {
    try {
      parseRange(text, NOW);
    } catch (error) {
      assert.ok(error instanceof RangeProblem);
      return error.message;
    }
    return assert.fail(`“${text}” was taken`);
  };
  assert.match(problem("tomorrw"), /^No time “tomorrw”\. Try now-15m/);
  assert.match(problem(""), /^Type a time\./);
  assert.equal(problem("13:30 to 13:00"), "The range ends before it begins.");
  assert.equal(problem("now+1h"), "The range begins in the future.");
  assert.equal(problem("25:00"), "There is no time “25:00”.");
  assert.equal(problem("2026-02-30"), "There is no time “2026-02-30”.");
  assert.match(problem("now-15x"), /^No time “now-15x”/);
  assert.match(problem("now-1h to soon"), /^No time “soon”/);
});

test("a range between two instants can be typed again", () => {
  const range = between(NOW - 90_400, NOW - 30_200);
  assert.deepEqual(parseRange(`${range.from} to ${range.to}`, NOW), range);
  const { from, until } = resolve(range, NOW);
  assert.ok(from <= NOW - 90_400 && until >= NOW - 30_200 && from % 1000 === 0 && until % 1000 === 0);
  assert.equal(instant(written(NOW), NOW), NOW);
  assert.equal(instant(written(NOW + 1), NOW), NOW + 1);
});

test("ranges are called what people call them", () => {
  assert.equal(rangeWords(parseRange("now-15m", NOW), NOW), "Last 15 minutes");
  assert.equal(rangeWords(parseRange("now-1h", NOW), NOW), "Last 1 hour");
  assert.equal(rangeWords(parseRange("yesterday", NOW), NOW), "Yesterday");
  assert.match(rangeWords(parseRange("2026-11-16 09:30 to 2026-11-16 10:30", NOW), NOW), /09:30 to 10:30$/);
});
