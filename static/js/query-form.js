// The query form: its lines of computations, presets of windows, slips marked in place, and a draft of what is typed.
import { keepDraft } from "./draft.js";
import "./query-expression.js";
import { followPreview } from "./query-preview.js";
import "./window-drawing.js";

const KINDS = { count: /\bevents?\b/i, session: /\bgap\b/i };
const form = document.getElementById("query-form");

const changed = () => form.dispatchEvent(new Event("input", { bubbles: true }));
const rows = () => [...form.querySelectorAll(".computation-row")];

function addRow() {
  const blank = form.querySelector("#computation template").content.cloneNode(true);
  form.querySelector("[data-rows]").append(blank);
  showRemovals();
  return rows().at(-1);
}

/** One line cannot be removed: a query computes something. */
function showRemovals() {
  const all = rows();
  for (const row of all) row.querySelector("[data-remove-row]").hidden = all.length === 1;
}

/** A percentile takes its fraction and top_k its k: beside the others there is nothing to fill in. */
function showGiven() {
  const known = form.querySelector("[data-rows]")?.dataset;
  for (const row of rows()) {
    const [given, select] = [row.querySelector(".given"), row.querySelector("select")];
    const taken = known.hasOwnProperty(select.value) ? known[select.value].split(" ") : null;
    given.hidden = !taken;
    if (!taken) continue;
    given.ariaLabel = taken[0][0].toUpperCase() + taken[0].slice(1);
    given.placeholder = taken[1];
  }
}

function removeRow(row) {
  const next = row.nextElementSibling ?? row.previousElementSibling;
  row.remove();
  showRemovals();
  next?.querySelector("select").focus();
  changed();
}

function showWindowKind() {
  const windows = form.querySelector("#windows");
  if (!windows) return;
  const kind = Object.keys(KINDS).find((name) => KINDS[name].test(windows.value)) ?? "time";
  for (const button of form.querySelectorAll("[data-window-kind]")) button.setAttribute("aria-pressed", button.dataset.windowKind === kind);
  for (const row of form.querySelectorAll("[data-presets]")) row.hidden = row.dataset.presets !== kind;
}

function setWindows(text) {
  form.querySelector("#windows").value = text;
  showWindowKind();
  changed();
}

/** Where a slip is: the expression that a note speaks of. */
function expressionOf(note) {
  if (note.dataset.slip === "computation") return rows()[Number(note.dataset.row)]?.querySelector("expression-input");
  return form.querySelector(`expression-input[data-kind="${note.dataset.slip}"]`);
}

/** Controls say for themselves whether a note under them is a problem; slips are underlined in place. */
function showProblems() {
  for (const control of form.querySelectorAll("[aria-describedby]")) {
    const note = document.getElementById(control.getAttribute("aria-describedby"));
    const row = control.closest(".computation-row");
    const isWrong = row ? note?.querySelector(`[data-row="${rows().indexOf(row)}"] .problem`) : note?.querySelector(".problem");
    if (isWrong && !control.matches(".computation-row select")) control.setAttribute("aria-invalid", "true");
    else control.removeAttribute("aria-invalid");
  }
  const slips = new Map([...form.querySelectorAll("[data-slip][data-start]")].map((note) => [expressionOf(note), note]));
  for (const expression of form.querySelectorAll("expression-input")) {
    const note = slips.get(expression);
    expression.mark?.(note ? [Number(note.dataset.start), Number(note.dataset.end)] : null);
  }
}

function clicked({ target }) {
  const on = (selector) => target.closest(selector);
  const suggestion = on("[data-suggestion]");
  if (suggestion) expressionOf(suggestion.closest("[data-slip]"))?.mend(suggestion.dataset.suggestion);
  else if (on("[data-add-row]")) addRow().querySelector("select").focus();
  else if (on("[data-remove-row]")) removeRow(on(".computation-row"));
  else if (on("[data-preset]")) setWindows(on("[data-preset]").dataset.preset);
  else if (on("[data-window-kind]")) {
    const kind = on("[data-window-kind]").dataset.windowKind;
    setWindows(form.querySelector(`[data-presets="${kind}"] [data-preset]`).dataset.preset);
  }
}

/** A kept draft may have been written as a text, or have more lines than the page came with. */
function makeRoom({ detail }) {
  const kept = Object.fromEntries(detail);
  if (kept.view && kept.view !== "form") {
    const values = { ...kept, to: kept.view, csrfmiddlewaretoken: form.elements.csrfmiddlewaretoken.value };
    window.htmx.ajax("POST", form.querySelector("[data-view]").getAttribute("hx-post"), { target: "#query-body", values });
    return;
  }
  const wanted = detail.filter(([name]) => name === "aggregate").length;
  while (rows().length && rows().length < wanted) addRow();
}

if (form) {
  // What an expression paints is its own; all else may be a note that came or went.
  const notes = new MutationObserver((changes) => {
    if (changes.some(({ target }) => !target.closest("expression-input"))) showProblems();
  });
  notes.observe(form, { childList: true, subtree: true });
  form.addEventListener("click", clicked);
  form.addEventListener("draft:restoring", makeRoom);
  form.addEventListener("input", showWindowKind);
  form.addEventListener("input", showGiven);
  form.addEventListener("input", () => form.querySelector(".stays")?.remove());
  document.addEventListener("htmx:afterSwap", ({ target }) => {
    showWindowKind();
    showGiven();
    showRemovals();
    if (target.id !== "query-body") return;
    showProblems();
    form.querySelector('.form-views [aria-pressed="true"]').focus();
    form.dispatchEvent(new Event("query:shown"));
  });
  showWindowKind();
  showGiven();
  showRemovals();
  showProblems();
  followPreview(form, document.getElementById("preview"));
  // Not before: what a restored draft costs is asked for by htmx, which starts then.
  addEventListener("DOMContentLoaded", () => keepDraft(form, document.getElementById("draft-note")));
}
