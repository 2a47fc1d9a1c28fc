// Dialogs: the browser's own, which traps focus and gives it back.
for (const button of document.querySelectorAll("[data-opens]")) {
  button.addEventListener("click", () => document.getElementById(button.dataset.opens).showModal());
}
for (const dialog of document.querySelectorAll("dialog")) {
  dialog.querySelector("[data-closes]")?.addEventListener("click", () => dialog.close());
  if ("openNow" in dialog.dataset) dialog.showModal();
}
