// The query form: fixes offered beside a problem, and the drawing of its windows.
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

document.addEventListener("click", ({ target }) => {
  const button = target.closest("[data-suggestion]");
  if (button) useSuggestion(button);
});
