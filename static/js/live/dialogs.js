// Dialogs and menus; the browser's own elements do the work. Dialogs trap the focus and give it back.
const MENU = "details.panel-menu[open]";

export function watchDialogs() {
  document.addEventListener("click", (event) => {
    const opener = event.target.closest("[data-opens]");
    if (opener) document.getElementById(opener.dataset.opens).showModal();
    const renamer = event.target.closest("[data-rename]");
    if (renamer) openRename(renamer);
    if (event.target.closest("[data-closes]")) event.target.closest("dialog").close();
    for (const menu of document.querySelectorAll(MENU)) {
      if (!menu.contains(event.target) || renamer) menu.open = false;
    }
  });
  document.addEventListener("keydown", (event) => {
    const menu = event.key === "Escape" && event.target.closest?.(MENU);
    if (!menu) return;
    menu.open = false;
    menu.querySelector("summary").focus();
  });
  document.addEventListener("focusout", ({ target, relatedTarget }) => {
    const menu = target.closest?.(MENU);
    if (menu && relatedTarget && !menu.contains(relatedTarget)) menu.open = false;
  });
  document.addEventListener("change", (event) => {
    if (event.target.matches("dialog [name=kind]")) askForQuery(event.target);
    if (event.target.matches("[data-submits]")) event.target.form.requestSubmit();
  });
  document.querySelector("dialog[data-open-now]")?.showModal(); // it was sent and refused
}

/** A kind of panel that shows no query asks for none. */
function askForQuery(kind) {
  for (const part of kind.form.querySelectorAll("[data-for-query]")) part.hidden = "noQuery" in kind.dataset;
}

function openRename(button) {
  const dialog = document.getElementById("rename-panel");
  dialog.querySelector("form").action = button.dataset.rename;
  dialog.querySelector("input[name=title]").value = button.dataset.title;
  button.closest("details").querySelector("summary").focus(); // where the focus goes back to: the menu is closed then
  dialog.showModal();
}
