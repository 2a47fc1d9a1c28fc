// The dialog “Who may see this”: as many lines as people and groups are named.
for (const dialog of document.querySelectorAll(".access-dialog")) {
  const line = dialog.querySelector("template[data-access-line]");
  dialog.querySelector("[data-access-add]")?.addEventListener("click", () => {
    const added = line.content.cloneNode(true);
    const first = added.querySelector("select");
    dialog.querySelector("[data-access-lines]").append(added);
    first.focus();
  });
}
