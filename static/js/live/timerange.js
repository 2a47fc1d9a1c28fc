// Ranges of time as people type them: now-15m, now-1d/d, 14:00, yesterday, 2026-11-16 09:30, from to.
import { durationParts, wholeParts } from "../durations.js";
import { clock } from "./format.js";

const MINUTE = 60_000;
const DAY = 24 * 60 * MINUTE;
const UNITS = { s: 1_000, m: MINUTE, h: 60 * MINUTE, d: DAY, w: 7 * DAY };
const NAMES = { s: "second", m: "minute", h: "hour", d: "day", w: "week", M: "month" };
const HINT = "Try now-15m, 14:00, yesterday or 2026-11-16 09:30.";
const INSTANT = /^(now(?:[+-]\d+[smhdwM])*(?:\/[smhdwM])?|today|yesterday|\d{4}-\d\d-\d\d(?:[ T]\d\d?:\d\d(?::\d\d)?)?|\d\d?:\d\d(?::\d\d)?|\d{12,14})(?=\s|$)/;
const COUNTED = String.raw`[\d.]+\s*[a-z]+(?:\s+and\s+|\s*)`; // of a duration
const LENGTH = /^(?:last\s+|past\s+)?(\d.*)$/i;
const AGO = new RegExp(`((?:${COUNTED})+?)\\s*\\bago\\b`, "gi");
const BEFORE_NOW = new RegExp(`\\bnow\\s*([+-])\\s*((?:${COUNTED})+)`, "gi");

export const DEFAULT_RANGE = { from: "now-15m", to: "now" };
export const PRESETS = ["now-5m", "now-15m", "now-1h", "now-6h", "now-24h", "now-2d", "now-7d", "now-30d", "today", "yesterday"];

/** Thrown with a sentence for whoever typed it. */
export class RangeProblem extends Error {}

const two = (number) => String(number).padStart(2, "0");

/** The start of the unit in which an instant lies, in the browser's zone; weeks begin on Monday. */
function startOf(time, unit) {
  const date = new Date(time);
  if (unit === "s") return date.setMilliseconds(0);
  if (unit === "m") return date.setSeconds(0, 0);
  if (unit === "h") return date.setMinutes(0, 0, 0);
  date.setHours(0, 0, 0, 0);
  if (unit === "w") date.setDate(date.getDate() - ((date.getDay() + 6) % 7));
  if (unit === "M") date.setDate(1);
  return date.getTime();
}

/** So many units later; days and longer follow the calendar, whatever the clock does in spring. */
function moved(time, count, unit) {
  const date = new Date(time);
  if (unit === "M") {
    const day = date.getDate();
    date.setMonth(date.getMonth() + count, 1);
    return date.setDate(Math.min(day, new Date(date.getFullYear(), date.getMonth() + 1, 0).getDate())); // shorter months end sooner
  }
  if (unit === "w" || unit === "d") return date.setDate(date.getDate() + count * (unit === "w" ? 7 : 1));
  return time + count * UNITS[unit];
}

function relative(text, now, atEnd) {
  let time = now;
  for (const [, sign, count, unit] of text.matchAll(/([+-])(\d+)([smhdwM])/g)) time = moved(time, Number(sign + count), unit);
  const round = text.match(/\/([smhdwM])$/)?.[1];
  if (!round) return time;
  return atEnd ? moved(startOf(time, round), 1, round) : startOf(time, round);
}

function ofDay(text, now, atEnd) {
  const [year, month, day, hour, minute, second] = text.split(/[- T:]/).map(Number);
  const whole = new Date(year, month - 1, day, hour ?? 0, minute ?? 0, second ?? 0);
  const fits = whole.getMonth() === month - 1 && whole.getDate() === day && (hour ?? 0) < 24 && (minute ?? 0) < 60 && (second ?? 0) < 60;
  if (!fits) throw new RangeProblem(`There is no time “${text}”.`);
  return atEnd && hour === undefined ? moved(whole.getTime(), 1, "d") : whole.getTime();
}

function ofClock(text, now) {
  const [hour, minute, second = 0] = text.split(":").map(Number);
  if (hour > 23 || minute > 59 || second > 59) throw new RangeProblem(`There is no time “${text}”.`);
  const today = new Date(now).setHours(hour, minute, second, 0);
  return today > now ? moved(today, -1, "d") : today; // the last time the clock showed it
}

/** Milliseconds of an instant; as the end of a range a day or a rounded unit counts to its end. */
export function instant(text, now, { atEnd = false } = {}) {
  if (text.match(INSTANT)?.[0] !== text) throw new RangeProblem(`No time “${text}”. ${HINT}`);
  if (text.startsWith("now")) return relative(text, now, atEnd);
  if (text === "today" || text === "yesterday") return relative(text === "today" ? "now/d" : "now-1d/d", now, atEnd);
  if (/^\d+$/.test(text)) return Number(text);
  return text.includes("-") ? ofDay(text, now, atEnd) : ofClock(text, now);
}

/** A duration before or after now in the units of ranges, "now-1h-30m"; empty where it is none. */
function fromNow(sign, text) {
  const parts = wholeParts(durationParts(text?.trim() ?? "") ?? []) ?? [];
  return parts.length && parts.every(([, unit]) => NAMES[unit]) ? `now${parts.map(([count, unit]) => `${sign}${count}${unit}`).join("")}` : "";
}

/** The text with "5 minutes ago" and "now - 1 hour" in the units of ranges. */
function short(text) {
  const past = text.replace(AGO, (whole, length) => fromNow("-", length) || whole);
  return past.replace(BEFORE_NOW, (whole, sign, length) => (fromNow(sign, length) ? `${fromNow(sign, length)}${/\s$/.test(whole) ? " " : ""}` : whole));
}

/** A typed range as `{from, to}` texts; throws a RangeProblem with what is wrong. */
export function parseRange(typed, now) {
  const text = short(typed.trim().replace(/\s+/g, " "));
  if (!text) throw new RangeProblem(`Type a time. ${HINT}`);
  const length = fromNow("-", text.match(LENGTH)?.[1]);
  if (length) return checked({ from: length, to: "now" }, now);
  const from = text.match(INSTANT)?.[0];
  if (!from) throw new RangeProblem(`No time “${text.split(" ")[0]}”. ${HINT}`);
  const rest = text.slice(from.length).trim().replace(/^(?:to|until|–|-)\s+/, "");
  return checked({ from, to: rest || defaultEnd(from) }, now);
}

const defaultEnd = (from) => (from === "yesterday" || /^\d{4}-\d\d-\d\d$/.test(from) ? from : "now");

function checked(range, now) {
  const from = instant(range.from, now);
  const until = instant(range.to, now, { atEnd: true });
  if (from >= until) throw new RangeProblem(from > now ? "The range begins in the future." : "The range ends before it begins.");
  return range;
}

/** From when to when, in milliseconds, and whether it goes on with the clock. */
export function resolve({ from, to }, now) {
  const live = to === "now";
  return { from: instant(from, now), until: live ? now : instant(to, now, { atEnd: true }), live };
}

/** How a range is called on its button. */
export function rangeWords(range, now) {
  const past = range.to === "now" && range.from.match(/^now-(\d+)([smhdwM])$/);
  if (past) return `Last ${past[1]} ${NAMES[past[2]]}${past[1] === "1" ? "" : "s"}`;
  if (range.from === "today" && range.to === "now") return "Today";
  if (range.from === "yesterday" && range.to === "yesterday") return "Yesterday";
  const { from, until, live } = resolve(range, now);
  const seconds = !live && until - from < 10 * MINUTE;
  const end = live ? "now" : clock(until, { seconds });
  const sameDay = !live && new Date(from).toDateString() === new Date(until).toDateString();
  return `${clock(from, { seconds })} to ${sameDay ? end.slice(seconds ? -8 : -5) : end}`;
}

/** What stands beside the words: the text that makes the range, where it is short. */
export const rangeCode = ({ from, to }) => (to === "now" && from.startsWith("now") ? from : "");

/** An instant as a text that can be typed and sent to others: to the second, in the browser's zone. */
export function written(time) {
  const at = new Date(time);
  if (at.getMilliseconds()) return String(Math.round(time));
  return `${at.getFullYear()}-${two(at.getMonth() + 1)}-${two(at.getDate())} ${two(at.getHours())}:${two(at.getMinutes())}:${two(at.getSeconds())}`;
}

/** A range between two instants; whole seconds, as nobody aims at less. */
export function between(from, until) {
  const [low, high] = [Math.floor(Math.min(from, until) / 1000), Math.ceil(Math.max(from, until) / 1000)];
  return { from: written(low * 1000), to: written(Math.max(high, low + 1) * 1000) };
}
