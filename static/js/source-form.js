// The add-source form: topics chosen by a click, and what the chosen event time means for the newest message.
const PER_MILLISECOND = { s: 0.001, ms: 1, us: 1_000, ns: 1_000_000 };
const topic = document.getElementById("id_topic");
const test = document.getElementById("test-connection");

function instantOf(example, unit) {
  if (unit !== "iso") return new Date(Number(example) / PER_MILLISECOND[unit]);
  const hasZone = /(Z|[+-]\d\d:?\d\d)$/i.test(example);
  return new Date(hasZone ? example : `${example}Z`); // without a zone it is read as UTC
}

function sentence(option, unit) {
  const instant = instantOf(option.dataset.example, unit);
  if (Number.isNaN(instant.getTime())) return `“${option.dataset.example}” cannot be read this way: choose how it is written.`;
  return `The newest message happened at ${instant.toLocaleString([], { dateStyle: "medium", timeStyle: "medium" })} (${instant.toISOString()}).`;
}

function showEventTime() {
  const field = document.getElementById("id_event_time");
  if (!field) return;
  const unit = document.getElementById("id_time_unit");
  const option = field.selectedOptions[0];
  const isTimestamp = option.dataset.type === "timestamp";
  unit.disabled = isTimestamp;
  document.getElementById("event-time-check").textContent = sentence(option, isTimestamp ? "iso" : unit.value);
}

function guessUnit() {
  const option = document.getElementById("id_event_time").selectedOptions[0];
  const guess = option.dataset.unit || (option.dataset.type === "text" ? "iso" : "ms");
  document.getElementById("id_time_unit").value = guess;
}

document.addEventListener("change", ({ target }) => {
  if (target.id === "id_event_time") guessUnit();
  if (target.id === "id_event_time" || target.id === "id_time_unit") showEventTime();
});
document.addEventListener("click", ({ target }) => {
  const chosen = target.closest("[data-topic]");
  if (!chosen) return;
  topic.value = chosen.dataset.topic;
  test.click();
});
// Return in a connection field tests it; there is nothing to save before that.
for (const input of [topic, document.getElementById("id_bootstrap_servers")]) {
  input.addEventListener("keydown", (event) => {
    if (event.key !== "Enter") return;
    event.preventDefault();
    test.click();
  });
}
new MutationObserver(showEventTime).observe(document.getElementById("found"), { childList: true });
showEventTime();
