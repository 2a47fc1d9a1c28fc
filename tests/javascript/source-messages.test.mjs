import assert from "node:assert/strict";
import { test } from "node:test";
import { jsonPieces } from "../../static/js/source-json.js";
import { MOST_ROWS, TailRate, WaitingRows, tailLine } from "../../static/js/source-tail.js";

const line = (about) => tailLine({ arrived: 0, shown: 0, lookedAt: 0, seconds: 1, searching: false, ...about }).replaceAll("\u202f", " ");

test("a sample is said to be one", () => {
  assert.equal(line({ arrived: 603, shown: 15 }), "1 in 40 shown, 603 messages/s");
  assert.equal(line({ arrived: 12, shown: 12 }), "12 messages/s");
  assert.equal(line({}), "waiting for messages");
});

test("a search says how much of what arrives it looks at", () => {
  assert.equal(line({ arrived: 800, lookedAt: 400, searching: true }), "1 in 2 searched, 800 messages/s");
  assert.equal(line({ arrived: 40, lookedAt: 40, shown: 1, searching: true }), "all searched, 40 messages/s");
  assert.equal(line({ arrived: 40, lookedAt: 0, searching: true }), "1 in 40 searched, 40 messages/s");
});

test("the rate is that of the last few seconds", () => {
  const rate = new TailRate();
  for (const arrived of [9_000, 100, 100, 100, 100, 100]) rate.take({ arrived, shown: 20, looked_at: 20, seconds: 1 });
  assert.equal(rate.line(false), "1 in 5 shown, 100 messages/s");
});

test("rows that wait are bounded and come newest first", () => {
  const waiting = new WaitingRows();
  waiting.add(["b", "a"]);
  waiting.add(["d", "c"]);
  assert.deepEqual([waiting.count, ...waiting.take(), waiting.count], [4, "d", "c", "b", "a", 0]);
  waiting.add([...Array(MOST_ROWS + 50).keys()]);
  assert.equal(waiting.count, MOST_ROWS);
});

test("JSON is cut into names, values and what is between, and nothing is lost", () => {
  const text = '{\n  "a\\"b": "x: 1",\n  "n": -1.5e3,\n  "t": [true, null]\n}';
  const pieces = jsonPieces(text);
  assert.equal(pieces.map(([, part]) => part).join(""), text);
  const of = (kind) => pieces.filter(([found]) => found === kind).map(([, part]) => part);
  assert.deepEqual(of("name"), ['"a\\"b"', '"n"', '"t"']);
  assert.deepEqual([of("text"), of("number"), of("word")], [['"x: 1"'], ["-1.5e3"], ["true", "null"]]);
});

test("a text that is huge is left as it is", () => {
  assert.equal(jsonPieces(`"${"x".repeat(100_000)}"`).length, 1);
});
