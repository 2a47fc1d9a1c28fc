// What may not be seen any more, or not from the start: taken off the page, with the words for it.
import { icon, make } from "./dom.js";

/** The state in the place of all that a panel showed, its title included. */
export function showRefused(element, { bold, rest, kind, key }) {
  const form = document.getElementById("ask-for-access").content.cloneNode(true);
  form.querySelector("[name=kind]").value = kind;
  form.querySelector("[name=key]").value = key;
  const middle = make("div", "middle", icon("lock"), make("b", "", bold), make("p", "", rest), form);
  middle.setAttribute("role", "status");
  for (const name of ["aria-labelledby", "data-live-query", "data-panel"]) element.removeAttribute(name);
  element.dataset.unseenQuery = key;
  element.classList.remove("is-loading", "is-grouped");
  element.replaceChildren(make("div", "panel-head", make("h2", "", "No rights")), middle);
}

/** The bell's count, on every bell of the page. */
export function showWaiting(count) {
  for (const bell of document.querySelectorAll("[data-notices]")) {
    bell.dataset.notices = count;
    const shown = bell.querySelector(".bell-count");
    shown.textContent = count;
    shown.hidden = !count;
  }
}
