// Light or dark: the person's choice if there is one, else the system's. Runs before the first paint.
(() => {
  const system = matchMedia("(prefers-color-scheme: dark)");
  const root = document.documentElement;
  const chosen = () => {
    try {
      return localStorage.getItem("millrace.theme");
    } catch {
      return null; // storage switched off: follow the system
    }
  };
  const apply = () => {
    root.dataset.bsTheme = chosen() ?? (system.matches ? "dark" : "light");
    dispatchEvent(new CustomEvent("millrace:theme", { detail: root.dataset.bsTheme }));
  };
  apply();
  system.addEventListener("change", apply);
  addEventListener("storage", apply);
  addEventListener("click", (event) => {
    if (!event.target.closest?.("[data-theme-switch]")) return;
    const next = root.dataset.bsTheme === "dark" ? "light" : "dark";
    try {
      // Choosing what the system has means following it again.
      if (next === (system.matches ? "dark" : "light")) localStorage.removeItem("millrace.theme");
      else localStorage.setItem("millrace.theme", next);
    } catch {
      root.dataset.bsTheme = next;
      return;
    }
    apply();
  });
})();
