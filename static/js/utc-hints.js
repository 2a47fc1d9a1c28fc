// Sentences of live parts name times in the browser's zone; on hover, and for screen readers on focus, also in UTC.
const TOLD_LIVE = ".strip-line, .job-card, .health-line, .mark, .query-state, .live-line, .over-plot, .panel-table td";
const TIME = /(?:\b(\d{4})-(\d\d)-(\d\d) )?\b(\d\d):(\d\d)(?::(\d\d))?\b/g;
const two = (number) => String(number).padStart(2, "0");

/** “14:02 is 13:02 UTC” for every time in a text; a time without a day is of today. Empty: there is none. */
export function utcWords(text, today = new Date()) {
  const told = new Map();
  for (const [written, year, month, day, hour, minute, second] of text.matchAll(TIME)) {
    const date = year ? [year, month - 1, day] : [today.getFullYear(), today.getMonth(), today.getDate()];
    const at = new Date(...date, hour, minute, second ?? 0);
    const time = `${two(at.getUTCHours())}:${two(at.getUTCMinutes())}` + (second ? `:${two(at.getUTCSeconds())}` : "");
    const sameDay = at.getDate() === at.getUTCDate();
    told.set(written, `${written} is ${sameDay ? "" : `${at.toISOString().slice(0, 10)} `}${time} UTC`);
  }
  return [...told.values()].join(", ");
}

export function hintUtc() {
  const hint = ({ target }) => {
    const element = target.closest?.(TOLD_LIVE);
    if (!element || (element.title && element.title !== element.dataset.utc)) return;
    const words = utcWords(element.innerText); // as it is seen: parts that are hidden, or follow on another line, are none of a time
    if (words) element.title = element.dataset.utc = words;
    else element.removeAttribute("title");
  };
  document.addEventListener("pointerover", hint);
  document.addEventListener("focusin", hint);
}
