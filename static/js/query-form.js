// The query form: fixes offered beside a problem, the drawing of its windows, and a draft of what is typed.
import { keepDraft } from "./draft.js";
import "./window-drawing.js";

/** Replace the word that the filter got wrong by the field that was meant. */
function useSuggestion(button) {
  const filter = document.getElementById("where");
  const wrong = /No field “(.+?)”/.exec(button.parentElement.textContent)?.[1];
  if (!wrong) return;
  const at = filter.value.indexOf(wrong);
  if (at < 0) return;
  filter.setRangeText(button.dataset.suggestion, at, at + wrong.length, "end");
  filter.dispatchEvent(new Event("input", { bubbles: true }));
  filter.focus();
}

/** Controls say for themselves whether the note under them is a problem. */
function markInvalid(form) {
  for (const control of form.querySelectorAll("[aria-describedby]")) {
    const isWrong = document.getElementById(control.getAttribute("aria-describedby"))?.querySelector(".problem");
    if (isWrong) control.setAttribute("aria-invalid", "true");
    else control.removeAttribute("aria-invalid");
  }
}

const form = document.getElementById("query-form");
if (form) {
  new MutationObserver(() => markInvalid(form)).observe(form, { childList: true, subtree: true });
  // Not before: what a restored draft costs is asked for by htmx, which starts then.
  addEventListener("DOMContentLoaded", () => keepDraft(form, document.getElementById("draft-note")));
}
document.addEventListener("click", ({ target }) => {
  const button = target.closest("[data-suggestion]");
  if (button) useSuggestion(button);
});
