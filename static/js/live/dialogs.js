// Dialogs and menus of a dashboard; the browser's own elements do the work.
export function watchDialogs() {
  document.addEventListener("click", (event) => {
    const opener = event.target.closest("[data-opens]");
    if (opener) document.getElementById(opener.dataset.opens).showModal();
    const renamer = event.target.closest("[data-rename]");
    if (renamer) openRename(renamer);
    if (event.target.closest("[data-closes]")) event.target.closest("dialog").close();
    for (const menu of document.querySelectorAll("details.panel-menu[open]")) {
      if (!menu.contains(event.target) || renamer) menu.open = false;
    }
  });
  document.addEventListener("keydown", (event) => {
    if (event.key !== "Escape") return;
    const menu = event.target.closest?.("details.panel-menu[open]");
    if (!menu) return;
    menu.open = false;
    menu.querySelector("summary").focus();
  });
  document.addEventListener("change", (event) => {
    if (event.target.matches("dialog [name=kind]")) askForQuery(event.target);
    if (event.target.matches("[data-submits]")) event.target.form.requestSubmit();
  });
}

/** A kind of panel that shows no query asks for none. */
function askForQuery(kind) {
  for (const part of kind.form.querySelectorAll("[data-for-query]")) part.hidden = "noQuery" in kind.dataset;
}

function openRename(button) {
  const dialog = document.getElementById("rename-panel");
  dialog.querySelector("form").action = button.dataset.rename;
  dialog.querySelector("input[name=title]").value = button.dataset.title;
  dialog.showModal();
}
