// Toasts: one line, one action, 10 s; errors stay; at most three.
const LIFETIME_MS = 10_000;
const AT_MOST = 3;
const stays = (toast) => ["error", "warning"].includes(toast.dataset.toast);

/** Start the clock of a toast; it stands still while the pointer or the focus is on it. */
function countDown(toast) {
  let left = LIFETIME_MS;
  let timer = null;
  let since = 0;
  const run = () => {
    if (timer !== null || toast.matches(":hover, :focus-within")) return;
    since = performance.now();
    timer = setTimeout(() => toast.remove(), left);
  };
  const hold = () => {
    if (timer === null) return;
    clearTimeout(timer);
    timer = null;
    left -= performance.now() - since;
  };
  toast.addEventListener("pointerenter", hold);
  toast.addEventListener("pointerleave", run);
  toast.addEventListener("focusin", hold);
  toast.addEventListener("focusout", run);
  run();
}

function adopt(toast) {
  toast.querySelector("[data-toast-close]").addEventListener("click", () => toast.remove());
  if (!stays(toast)) countDown(toast);
  const all = [...toast.parentElement.children];
  all.slice(0, Math.max(0, all.length - AT_MOST)).forEach((old) => old.remove());
}

/** Say something in a toast, which is returned: `kind` is "info", "warning" or "error"; `action` is `{label, run}`. */
export function say(text, { kind = "info", action = null } = {}) {
  const toast = document.createElement("div");
  toast.className = "toast-line";
  toast.dataset.toast = kind;
  toast.setAttribute("role", kind === "error" ? "alert" : "status");
  const words = document.createElement("span");
  words.textContent = text;
  toast.append(words);
  if (action) {
    const button = Object.assign(document.createElement("button"), {
      type: "button",
      className: "btn btn-small",
      textContent: action.label,
    });
    button.addEventListener("click", () => {
      toast.remove();
      action.run();
    });
    toast.append(button);
  }
  const close = Object.assign(document.createElement("button"), { type: "button", className: "icon-button" });
  close.dataset.toastClose = "";
  close.setAttribute("aria-label", "Close this message");
  close.innerHTML = '<i class="ti ti-x" aria-hidden="true"></i>';
  toast.append(close);
  document.getElementById("toasts").append(toast);
  adopt(toast);
  return toast;
}

export function adoptToasts() {
  for (const toast of document.querySelectorAll("[data-toast]")) adopt(toast);
}
