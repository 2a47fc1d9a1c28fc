// A source's state and figures in words. Nothing is said that was not measured.
import { clock, duration, whole } from "./format.js";
import { jobIsDown } from "./states.js";

const NOT_YET = "nothing measured yet";

/** Why nothing at all can be heard, if that is so: kind of dot, word, and a line that says more. */
export function unheard({ state, connected }) {
  if (!connected) return ["is-warn", "Reconnecting", "what is shown is the last that was heard"];
  if (state?.broker.state === "down") return ["is-bad", "Broker not reachable", "Millrace’s own broker does not answer"];
  return null;
}

/** That no job reads anything, if that is so. */
export function jobStopped({ state }) {
  if (!jobIsDown(state)) return null;
  return ["is-bad", "Job stopped", state.job.since ? `since ${clock(state.job.since)}` : "start it with ./millrace up"];
}

/** The mark beside a source's name. */
export function sourceState(facts) {
  const { health, state } = facts;
  const silence = unheard(facts);
  if (silence) return silence;
  if (!health || !state?.caught_up) return ["is-off", "Connecting", ""];
  if (health.state === "absent") return ["is-off", "Not read", "no query asks for it"];
  const stopped = jobStopped(facts);
  if (stopped) return stopped;
  if (health.state === "failing") return ["is-bad", "Failing", health.error ?? "the cause is not known"];
  if (health.state === "starting") return ["is-off", "Starting", "the job takes it up"];
  if (health.error) return ["is-warn", "Messages lost", health.error];
  if (health.idle_since) return ["is-off", "Idle", `no messages since ${clock(health.idle_since)}`];
  return ["", "Healthy", "the job reads this topic"];
}

/** Whether figures of now can be told: a stopped job, an unread source and a silent broker have none. */
const isRead = ({ health, state, connected }) => connected && state?.broker.state !== "down" && !jobIsDown(state) && ["running", "starting"].includes(health.state);

function rate(facts) {
  const { health } = facts;
  const peak = health.peak === null ? NOT_YET : `peak ${whole(health.peak)} since ${clock(health.peak_since)}`;
  if (!isRead(facts) || health.rate === null) return { name: "Rate, messages/s", value: "–", line: why(facts) ?? NOT_YET };
  return { name: "Rate, messages/s", value: whole(health.rate), line: health.idle_since ? `idle since ${clock(health.idle_since)}` : peak };
}

function lag(facts) {
  const { health } = facts;
  const cell = { name: "Lag, messages", value: "–", line: why(facts) ?? NOT_YET };
  if (!isRead(facts) || health.lag === null) return cell;
  if (!health.lag) return { ...cell, value: "0", line: "all that was there is read" };
  const reading = health.rate ? `${duration((health.lag / health.rate) * 1000)} of reading` : "not read yet";
  return { ...cell, value: whole(health.lag), line: reading };
}

/** In seconds up to two minutes: that is where watermarks mostly are. */
const age = (milliseconds) => (milliseconds < 120_000 ? `${Math.floor(milliseconds / 1000)}\u202fs` : duration(milliseconds));

function watermark({ health, now, lateness }) {
  if (!health.watermark) return { name: "Watermark", value: "–", line: "no event yet" };
  const behind = now - health.watermark;
  const [value, unit] = age(behind).split("\u202f");
  const final = `final up to ${clock(health.watermark, { seconds: true })}`;
  const line = lateness && lateness <= behind ? `${age(lateness)} of it lateness` : final;
  return { name: "Watermark", value, unit: `${unit} behind`, line, title: `Results are ${final}.` };
}

const span = ({ health, now }) => {
  if (health.counted_since === null) return "";
  const minutes = Math.max(1, Math.round((now - health.counted_since) / 60_000));
  return `in ${minutes}\u202fmin`;
};

function late(facts) {
  const { health } = facts;
  if (health.counted_since === null) return { name: "Late", value: "–", line: NOT_YET };
  const misdated = health.misdated ? `and ${whole(health.misdated)} wrongly dated` : null;
  return { name: "Late", value: whole(health.late), unit: span(facts), line: misdated ?? (health.late ? "kept in dead letters" : "none came too late") };
}

function malformed(facts) {
  const { health } = facts;
  if (health.counted_since === null) return { name: "Malformed", value: "–", line: NOT_YET };
  const aborted = health.aborted ? `and ${whole(health.aborted)} aborted by transactions` : null;
  return { name: "Malformed", value: whole(health.malformed), unit: span(facts), line: aborted ?? (health.malformed ? "kept in dead letters" : "all could be read") };
}

/** “partition 4”, “partitions 1, 4 and 7”, “partitions 0, 1, 2 and 9 more”. */
export function named(partitions) {
  if (partitions.length === 1) return `partition ${partitions[0]}`;
  if (partitions.length > 4) return `partitions ${partitions.slice(0, 3).join(", ")} and ${partitions.length - 3} more`;
  return `partitions ${partitions.slice(0, -1).join(", ")} and ${partitions.at(-1)}`;
}

function idle(facts) {
  const { health } = facts;
  const name = "Idle partitions";
  if (!isRead(facts) || !health.partitions || !health.active) return { name, value: "–", line: why(facts) ?? NOT_YET };
  const active = new Set(health.active);
  const silent = [...Array(health.partitions).keys()].filter((number) => !active.has(number));
  const unit = `of ${health.partitions}`;
  if (!silent.length) return { name, value: "0", unit, line: "all are waited for" };
  if (silent.length === health.partitions) return { name, value: String(silent.length), unit, line: "none brings messages", warns: true };
  return { name, value: String(silent.length), unit, line: `${named(silent)}, not waited for`, warns: true };
}

/** Why there is no figure, where that is known. */
function why(facts) {
  const { health, state, connected } = facts;
  if (!connected) return "reconnecting";
  if (state?.broker.state === "down") return "broker not reachable";
  if (!state?.caught_up) return "connecting";
  if (health.state === "absent") return "no query asks for it";
  if (jobIsDown(state)) return "job stopped";
  return health.state === "failing" ? "the source is failing" : null;
}

/** The six figures of the strip, in order. */
export const healthCells = (facts) => [rate(facts), lag(facts), watermark(facts), late(facts), malformed(facts), idle(facts)];
