// The state of a panel in words: what is wrong, since when, what happens next. Worst cause first.
import { clock, duration, percent, windowLength } from "./format.js";
import { slowestToWarm } from "./warmth.js";

const BATCH_MS = 1_000;

/** Up to this delay a query is fresh. */
export const freshLimit = (slide) => 2 * slide + BATCH_MS;

const since = (time) => (time ? ` since ${clock(time)}` : "");
/** `from`: since when nothing new can have come; the chart is hatched from there. */
const bad = (bold, rest, from, icon = "plug-connected-x") => ({ tone: "is-bad", badge: "is-bad", icon, bold, rest, from });
/** `share`: how much of the waiting is over. */
const warm = (bold, rest, share = null) => ({ tone: "is-warm", badge: "is-off", icon: "hourglass-low", bold, rest, word: "warming up", share });
const seeSource = ({ sourceAddress }) => ({ text: "See source", address: sourceAddress });

function ofConnection({ connected, query, state }) {
  if (!connected) {
    const shown = query.empty ? "Nothing has been shown yet." : `Shown up to ${clock(query.updatedAt ?? query.newestEnd(), { seconds: true })}.`;
    return { tone: "is-warn", badge: "is-warn", icon: "wifi-off", bold: "Reconnecting.", rest: shown };
  }
  if (state?.broker.state === "down") {
    const word = query.empty ? "Nothing to show" : "Stale";
    return bad(`${word}${since(state.broker.since)}: the Kafka broker does not answer.`, "Millrace keeps trying.", state.broker.since);
  }
  return null;
}

function ofPause({ query }) {
  if (!query.paused) return null;
  const { by, at, address, why } = query.paused;
  return {
    tone: "", badge: "is-off", icon: "player-pause", word: "paused",
    bold: `Paused by ${by} at ${clock(at)}.`,
    rest: why || "Results up to then are kept.",
    action: { text: "Resume", address },
  };
}

/** Whether no job runs; before the past has been read, its signs of life are old and tell nothing. */
export const jobIsDown = (state) => Boolean(state?.caught_up) && ["stopped", "unknown"].includes(state.job.state);

function ofJob({ state, source, query }) {
  const job = state?.job;
  if (!job || !state.caught_up) return null;
  if (job.state === "stopped") return { ...bad(`Stale${since(job.since)}: job stopped.`, "It will resume where it stopped.", job.since), action: seeSource(query) };
  if (job.state === "unknown") return bad("No job is running.", "Start it with ./millrace up, or runjob on its own.", query.newestEnd());
  if (source?.state === "failing") {
    const error = (source.error ?? "unknown cause").replace(/\.$/, "");
    return { ...bad(`Failing${since(source.since)}: ${error}.`, "Other sources are not affected.", source.since, "alert-circle"), action: seeSource(query) };
  }
  if (job.state === "starting") return warm("The job is starting.", "Results go on in a moment.");
  if (source?.state === "starting") return warm("The job is taking up this source.", "Results go on in a moment.");
  return null;
}

function ofSource({ query, source }) {
  if (source?.idle_since) {
    return {
      tone: "", badge: "is-off", icon: "zzz", word: "idle",
      bold: `Source idle since ${clock(source.idle_since)}.`,
      rest: `No messages in ${query.topic}.`,
      action: seeSource(query),
    };
  }
  if (query.empty && source?.state === "absent") return warm("Warming up.", "The job is taking up this query’s source.");
  return null;
}

function ofWarmth({ query, source, now }) {
  const slowest = slowestToWarm(query);
  if (slowest === null) return null;
  const recalled = source?.recalled ?? null;
  if (recalled !== null) return warm(`Reading the past, ${percent(Math.floor(100 * recalled) / 100)} done.`, "Windows that reach back follow at once.", recalled);
  if (slowest.due === null) return warm("Warming up.", "The first result comes with the first events.");
  if (slowest.due <= now) return warm("Warming up.", "The first whole window is due any moment.");
  const [left, held] = [roundedUp(slowest.due - now), Math.min(slowest.range, now - slowest.start)];
  const which = query.windows.length > 1 ? `The ${windowLength(slowest.range)} window` : "The window";
  const bold = `Warming up, ${duration(left, { tenths: false })} left.`;
  if (held < 0) return warm(bold, `${which} starts in ${duration(roundedUp(-held), { tenths: false })}.`, 0);
  return warm(bold, `${which} holds ${partWords(held, slowest.range)}.`, held / slowest.range);
}

/** “58 of its 60 minutes”: in the largest unit of which the whole has some. */
function partWords(part, whole) {
  const [name, size] = [["hours", 3_600_000], ["minutes", 60_000], ["seconds", 1_000]].find(([, least]) => whole >= 3 * least) ?? ["ms", 1];
  return `${Math.floor(part / size)} of its ${Math.round(whole / size)} ${name}`;
}

/** Up to whole seconds under a minute, to whole minutes above: the time left never reads as less than it is. */
function roundedUp(milliseconds) {
  const unit = milliseconds < 60_000 ? 1_000 : 60_000;
  return Math.ceil(milliseconds / unit) * unit;
}

function ofResults({ query, now, delay }) {
  const limit = 5 * freshLimit(query.shortestSlide());
  if (delay > limit && now - query.updatedAt > limit) {
    return {
      ...bad(`Stale${since(query.newestEnd())}.`, `No result for ${duration(now - query.updatedAt)}; looking for the cause.`, query.newestEnd()),
      action: seeSource(query),
    };
  }
  return null;
}

/** What the job has to say of a source that it reads: messages are lost, so some windows are incomplete. */
function ofLoss({ source }) {
  if (source?.state !== "running" || !source.error) return null;
  return { tone: "is-warn", badge: "is-warn", icon: "alert-circle", bold: source.error, rest: "Results go on." };
}

/** What the query leaves out, as the server says it. */
function ofWarning({ warning }) {
  return warning ? { tone: "is-warn", badge: "is-warn", icon: "alert-triangle", bold: warning, rest: "" } : null;
}

/** Why a panel that has not been sent anything yet may have to wait, or null. */
export const waitingState = (facts) => ofConnection(facts);

/** The panel's state, or null when all is well. */
export function panelState(facts) {
  return ofPause(facts) ?? ofConnection(facts) ?? ofJob(facts) ?? ofSource(facts) ?? ofWarmth(facts) ?? ofResults(facts) ?? ofLoss(facts) ?? ofWarning(facts);
}

/** No result lies in what is shown, but there are others; series are those of the view. */
export function outOfRange(query, series, { from, until }) {
  if (query.empty && query.last === null) return false;
  return !series.some(({ points }) => [...points.keys()].some((end) => end >= from && end <= until));
}

/** How far the newest result is behind the clock. */
export function delayOf(query, source, now) {
  if (query.empty) return null;
  const heard = source?.max_event_time ?? query.newestEnd();
  return Math.max(0, now - Math.min(query.newestEnd(), heard));
}
