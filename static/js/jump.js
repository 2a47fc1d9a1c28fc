// Search or jump to: the dialog of `/`. htmx fetches what matches; the arrow keys move through it.
const dialog = document.getElementById("jump");
const field = dialog?.querySelector("input");
const list = dialog?.querySelector("[role=listbox]");

const options = () => [...list.querySelectorAll("[role=option]")];
const chosen = () => list.querySelector("[aria-selected=true]");

export function openJump() {
  if (!dialog || dialog.open) return;
  field.value = "";
  dialog.showModal();
  htmx.trigger(field, "jump");
}

function choose(option) {
  for (const one of options()) one.setAttribute("aria-selected", String(one === option));
  if (option) field.setAttribute("aria-activedescendant", option.id);
  else field.removeAttribute("aria-activedescendant");
  option?.scrollIntoView({ block: "nearest" });
}

function move(steps) {
  const all = options();
  if (all.length) choose(all[(all.indexOf(chosen()) + steps + all.length) % all.length]);
}

function press(event) {
  const steps = { ArrowDown: 1, ArrowUp: -1 }[event.key];
  if (steps) {
    event.preventDefault();
    move(steps);
  }
}

export function watchJump() {
  if (!dialog) return;
  for (const opener of document.querySelectorAll("[data-jump]")) {
    opener.addEventListener("click", (event) => {
      event.preventDefault();
      openJump();
    });
  }
  field.addEventListener("keydown", press);
  field.form.addEventListener("submit", (event) => {
    event.preventDefault();
    if (chosen()) location.assign(chosen().href);
  });
  list.addEventListener("htmx:afterSwap", () => choose(options()[0]));
  list.addEventListener("pointermove", ({ target }) => target.closest("[role=option]") && choose(target.closest("[role=option]")));
  dialog.addEventListener("click", ({ target }) => target === dialog && dialog.close());
}
