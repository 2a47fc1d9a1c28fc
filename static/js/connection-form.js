// The fields of a connection: only those that its protocol uses are shown, and the one at fault is marked.
import { forgetDraft, hasDraft, keepDraft } from "./draft.js";

const IN_WIZARD = "connection.wizard";
const kept = new WeakSet(); // forms whose drafts are kept

function showUsed(form) {
  const protocol = form.elements.protocol?.value;
  for (const part of form.querySelectorAll("[data-used-by]")) {
    part.hidden = !part.dataset.usedBy.split(" ").includes(protocol);
  }
}

/** After a test: the field that the sentence speaks of. */
function markFault(answer) {
  const form = answer.closest("form");
  if (!form) return;
  for (const marked of form.querySelectorAll("[data-marked]")) {
    marked.removeAttribute("aria-invalid");
    marked.removeAttribute("aria-describedby");
    delete marked.dataset.marked;
  }
  const fault = answer.querySelector("[data-fault]")?.dataset.fault;
  const control = fault && form.elements[fault];
  if (!control) return;
  control.setAttribute("aria-invalid", "true");
  control.setAttribute("aria-describedby", answer.id);
  control.dataset.marked = "";
  const folded = control.closest("details");
  if (folded) folded.open = true;
}

/** What is typed and never sent back stays while the server's answer takes the form's place. */
const secrets = new Map();
const secretsOf = (form) => form?.querySelectorAll("input[type=password], [data-secret]") ?? [];
document.addEventListener("htmx:beforeSwap", ({ target }) => {
  for (const control of secretsOf(target.querySelector?.(".connection-form"))) secrets.set(control.name, control.value);
});
document.addEventListener("htmx:afterSwap", ({ target }) => {
  for (const control of secretsOf(target.querySelector?.(".connection-form"))) control.value ||= secrets.get(control.name) ?? "";
  secrets.clear();
});

/** What is typed for a new connection is a draft until it is saved, all but its secrets. */
function keepDrafts() {
  for (const form of document.querySelectorAll(".connection-form[data-draft]")) {
    if (!kept.has(form)) keepDraft(form, form.querySelector("[data-draft-note]"));
    kept.add(form);
  }
  showAll(); // a draft may have another protocol
}

const showAll = () => document.querySelectorAll(".connection-form").forEach(showUsed);
document.addEventListener("change", ({ target }) => target.name === "protocol" && showUsed(target.form));
document.addEventListener("htmx:afterSwap", ({ target }) => {
  showAll();
  if (target.id === "tested") markFault(target);
  if (target.id !== "connection-step") return;
  if (target.querySelector(".connection-form")) keepDrafts();
  else forgetDraft(IN_WIZARD); // it was saved
});
showAll();
addEventListener("DOMContentLoaded", () => {
  keepDrafts();
  if (hasDraft(IN_WIZARD)) document.querySelector("[data-new-connection]")?.click();
});
