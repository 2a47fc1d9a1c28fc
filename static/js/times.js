// Times are sent in UTC and shown in the browser's zone; the exact instant stays on hover.
const SECONDS = { hour: "2-digit", minute: "2-digit", second: "2-digit", hourCycle: "h23" };
const sameDay = (a, b) => a.toDateString() === b.toDateString();

/** An instant as the browser's clock has it, with its day where that is not today. */
export function localWords(instant, exact, today = new Date()) {
  const clock = instant.toLocaleTimeString([], exact ? { ...SECONDS, fractionalSecondDigits: 3 } : SECONDS);
  if (sameDay(instant, today)) return clock;
  return `${instant.getFullYear()}-${String(instant.getMonth() + 1).padStart(2, "0")}-${String(instant.getDate()).padStart(2, "0")} ${clock}`;
}

function show(element) {
  const instant = new Date(element.dateTime);
  if (Number.isNaN(instant.getTime())) return;
  element.title = `${instant.toISOString()} (UTC)`;
  if (element.dataset.of) element.title += `, of the ${element.dataset.of}: no event time could be read`;
  element.textContent = localWords(instant, element.dataset.exact !== undefined);
}

/** Forms with times say of which zone they are; one that came with the address stays. */
function sayZone() {
  const zone = Intl.DateTimeFormat().resolvedOptions().timeZone;
  for (const input of document.querySelectorAll("input[data-own-zone]")) input.value ||= zone;
}

/** Rewrite every `<time datetime>` of the page, now and whenever part of it is swapped in. */
export function showLocalTimes() {
  const all = (root) => {
    if (root.matches?.("time[datetime]")) show(root);
    root.querySelectorAll?.("time[datetime]").forEach(show);
  };
  all(document);
  sayZone();
  new MutationObserver((changes) => {
    for (const change of changes) for (const node of change.addedNodes) all(node);
  }).observe(document.body, { childList: true, subtree: true });
}
