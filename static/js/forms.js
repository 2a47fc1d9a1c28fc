// Forms: Ctrl/Cmd-Enter saves, a double click sends once, and focus goes to the first problem.

function sendOnce(event) {
  const form = event.target;
  if (event.defaultPrevented || form.method !== "post") return;
  if (form.dataset.sent) event.preventDefault();
  form.dataset.sent = "yes";
}

function saveByKey(event) {
  if (event.key !== "Enter" || !(event.ctrlKey || event.metaKey)) return;
  const form = event.target.form;
  if (!form?.dataset.saveByKey) return;
  event.preventDefault();
  form.requestSubmit();
}

export function watchForms() {
  document.addEventListener("submit", sendOnce);
  document.addEventListener("keydown", saveByKey);
  // Back from the cache of the browser: the form may be sent again.
  addEventListener("pageshow", () => document.querySelectorAll("form[data-sent]").forEach((form) => delete form.dataset.sent));
  document.querySelector("[aria-invalid=true]")?.focus();
}
