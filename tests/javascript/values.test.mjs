import assert from "node:assert/strict";
import { test } from "node:test";
import { nextAddress } from "../../static/js/boards/kiosk-round.js";
import { valueAxis } from "../../static/js/live/axes.js";
import { wishes, withDefaults } from "../../static/js/live/settings.js";
import { fittingAxis, logTicks } from "../../static/js/live/ticks.js";
import { axisFormats, goodWay, stepOf, valueFormat, writtenIn } from "../../static/js/live/values.js";
import { isSafe } from "../../static/js/markdown.js";

const plain = (text) => text.replaceAll("\u202f", " ");

test("values have the panel's unit and decimals", () => {
  assert.equal(plain(valueFormat({ unit: "ms" }).text(238.4)), "238 ms");
  assert.equal(plain(valueFormat({ unit: "ms", decimals: 2 }).text(238.4)), "238.40 ms");
  assert.equal(plain(valueFormat({ unit: "B" }).text(38_200)), "38.2 kB");
  assert.equal(plain(valueFormat({ unit: "/ min" }).text(1_450_000)), "1.45 M / min");
  assert.equal(valueFormat({ unit: "ms" }).text(null), "–");
});

test("percents of a share are a hundred times the value; percents as they are stay", () => {
  assert.equal(plain(valueFormat({ unit: "%" }).text(0.019)), "1.90 %");
  assert.equal(plain(valueFormat({ unit: "%", decimals: 1 }).text(0.019)), "1.9 %");
  assert.equal(plain(valueFormat({ unit: "% (0–100)", decimals: 1 }).text(-0.84)), "−0.8 %");
  assert.deepEqual([writtenIn("%"), writtenIn("ms")], [{ sign: "%", times: 100 }, { sign: "ms", times: 1 }]);
});

test("an axis in percents says so", () => {
  globalThis.document = { documentElement: { dataset: {} }, body: {} };
  globalThis.getComputedStyle = () => ({ getPropertyValue: () => "#000" });
  const words = (unit) => {
    const built = {};
    const axis = valueAxis([0, 0.5, 1], { unit });
    axis.afterBuildTicks(built);
    return built.ticks.map(({ value }) => plain(axis.ticks.callback(value)));
  };
  assert.deepEqual(words("%").slice(-1), ["100 %"]);
  assert.deepEqual(words("% (0–100)").slice(-1), ["1.00 %"]);
});

test("what is on the right axis has a unit and decimals of its own, and never those of the left", () => {
  const { y, right } = axisFormats(withDefaults({ unit: "ms", decimals: 1, right_unit: "req" }));
  assert.deepEqual([y.text(212), right.text(1_204)].map(plain), ["212.0 ms", "1,204 req"]);
  assert.equal(plain(axisFormats(withDefaults({ unit: "ms" })).right.text(1_204)), "1,204");
});

test("a value has the colour of the last threshold that it has reached", () => {
  const steps = [{ value: 10, colour: "warn" }, { value: 20, colour: "bad" }];
  assert.equal(stepOf(9.9, steps), null);
  assert.equal(stepOf(10, steps).colour, "warn");
  assert.equal(stepOf(99, steps).colour, "bad");
  assert.equal(stepOf(-5, [{ value: null, colour: "ok" }, ...steps]).colour, "ok");
  assert.equal(stepOf(null, steps), null);
});

test("thresholds say which way is good, or nothing", () => {
  assert.equal(goodWay([{ value: 10, colour: "warn" }, { value: 20, colour: "bad" }]), -1);
  assert.equal(goodWay([{ value: null, colour: "bad" }, { value: 99, colour: "ok" }]), 1);
  assert.equal(goodWay([]), 0);
});

test("a logarithmic axis has powers of ten, and a few between where there are few", () => {
  assert.deepEqual(logTicks(3, 40_000), { min: 2, max: 50_000, ticks: [10, 100, 1_000, 10_000] });
  assert.deepEqual(logTicks(12, 80), { min: 10, max: 100, ticks: [10, 20, 50, 100] });
});

test("ends of an axis that are set are kept", () => {
  const { min, max, ticks } = fittingAxis(3, 7, { least: 0, greatest: 400 });
  assert.deepEqual([min, max, ticks], [0, 400, [0, 100, 200, 300, 400]]);
});

test("a page asks for the most groups and all windows that its panels want of a query", () => {
  const panel = (settings) => ({ settings: withDefaults(settings) });
  const asked = wishes([
    panel({ shows: [{ query: "a" }] }),
    panel({ shows: [{ query: "a", windows: ["5m every 10s"] }, { query: "b" }], groups: 20 }),
  ]);
  assert.deepEqual(asked, { a: { groups: 20, windows: ["", "5m every 10s"] }, b: { groups: 20, windows: [""] } });
});

test("links of texts lead to pages, letters and this server, and never run anything", () => {
  for (const good of ["https://a.example/x", "http://a.example", "mailto:a@b.example", "/queries/", "#top"]) assert.ok(isSafe(good), good);
  for (const bad of ["javascript:alert(1)", "JaVaScRiPt:1", "data:text/html,x", "//evil.example", "/\\evil.example", "vbscript:x", " javascript:1"]) assert.ok(!isSafe(bad), bad);
});

test("a kiosk goes round, and stays where there is nowhere to go", () => {
  assert.equal(nextAddress(["/a/", "/b/"], "/a/"), "/b/");
  assert.equal(nextAddress(["/a/", "/b/"], "/b/"), "/a/");
  assert.equal(nextAddress(["/a/", "/b/"], "/other/"), "/a/");
  assert.equal(nextAddress(["/a/"], "/a/"), null);
  assert.equal(nextAddress([], "/a/"), null);
});
