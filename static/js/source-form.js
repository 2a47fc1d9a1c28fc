// The source wizard and a source's settings: topics chosen by a click, parts shown where they are used, what the
// chosen event time means for the newest message, and a draft of what is typed.
import { keepDraft } from "./draft.js";

const PER_MILLISECOND = { s: 0.001, ms: 1, us: 1_000, ns: 1_000_000 };
const form = document.getElementById("source-form");
const control = (name) => document.getElementById(`id_${name}`);
const uses = (words, value) => !words || words.split(" ").includes(value);

function showUsedParts() {
  const [format, source, unit] = ["format", "time_source", "time_unit"].map((name) => control(name)?.value);
  for (const part of document.querySelectorAll("[data-format], [data-time-source]")) {
    const { format: formats, timeSource, unit: units } = part.dataset;
    part.hidden = !(uses(formats, format) && uses(timeSource, source) && uses(units, unit));
  }
}

function instantOf(example, unit) {
  if (unit !== "iso") return new Date(Number(example) / PER_MILLISECOND[unit]);
  const hasZone = /(Z|[+-]\d\d:?\d\d)$/i.test(example);
  return new Date(hasZone ? example : `${example}Z`);
}

function timeSentence() {
  if (control("time_source").value !== "field") return "";
  const example = control("event_time").selectedOptions[0]?.dataset.example;
  const unit = control("time_unit").value;
  const zone = control("time_zone").value;
  if (!example) return "";
  if (unit === "pattern" || (unit === "iso" && zone !== "UTC")) return `The newest message says “${example}”.`;
  const instant = instantOf(example, unit);
  if (Number.isNaN(instant.getTime())) return `“${example}” cannot be read this way: choose how it is written.`;
  return `The newest message happened at ${instant.toLocaleString([], { dateStyle: "medium", timeStyle: "medium" })} (${instant.toISOString()}).`;
}

function showAll() {
  showUsedParts();
  const check = document.getElementById("event-time-check");
  if (check) check.textContent = timeSentence();
}

function guessUnit() {
  const { unit, type } = control("event_time").selectedOptions[0].dataset;
  control("time_unit").value = unit || (type === "text" ? "iso" : "ms");
}

document.addEventListener("change", ({ target }) => {
  if (target.id === "id_event_time") guessUnit();
  showAll();
});
document.addEventListener("htmx:afterSwap", showAll);
document.addEventListener("click", ({ target }) => {
  const chosen = target.closest("[data-topic]");
  if (!chosen) return;
  control("topic").value = chosen.dataset.topic;
  document.getElementById("read-messages").click();
});
// Return in the topic reads its messages; there is nothing to save before that.
control("topic")?.addEventListener("keydown", (event) => {
  if (event.key !== "Enter" || event.ctrlKey || event.metaKey) return;
  event.preventDefault();
  document.getElementById("read-messages").click();
});

/** What was typed into steps that come from the server comes back with them. */
function readAgain(values) {
  const data = new FormData(form);
  for (const name of new Set(values.map(([each]) => each))) data.delete(name);
  for (const [name, value] of values) data.append(name, value);
  if (data.get("topic")) htmx.ajax("POST", form.dataset.probe, { target: "#found", swap: "innerHTML", values: data });
}

if (form) {
  addEventListener("DOMContentLoaded", () => {
    const draft = keepDraft(form, document.getElementById("draft-note"));
    if (draft) readAgain(draft.values);
    showAll();
  });
}
showAll();
