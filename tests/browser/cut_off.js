// What can be worked with, and what is said in large: outside of the screen, or cut by what it stands in.
() => {
  const whole = (box) => box.width > 0 && box.height > 0;
  const cutBy = (element) => {
    const box = element.getBoundingClientRect();
    if (!whole(box)) return null;
    if (box.right > innerWidth + 1 || box.left < -1) return "the screen";
    for (let place = element.parentElement; place && place !== document.body; place = place.parentElement) {
      const { overflowX, overflowY } = getComputedStyle(place);
      const around = place.getBoundingClientRect();
      if (overflowX === "auto" || overflowX === "scroll") return null;
      if (overflowX !== "visible" && (box.right > around.right + 1 || box.left < around.left - 1)) return place.className || place.tagName;
      if (overflowY === "hidden" && box.bottom > around.bottom + 1) return place.className || place.tagName;
    }
    return null;
  };
  const named = (element) => (element.getAttribute("aria-label") || element.innerText || element.name || element.className).trim().slice(0, 40);
  const looked = ".topbar a, .topbar button, .topbar input, .topbar select, .panel-head button, .panel-head a, .panel-head select, .list-tools *, .plan-hero h2, .plan-fact > *, .cost-cards b, .cost-cards span, .plan-tree-facts span, th, .health b";
  const found = [...document.querySelectorAll(looked)]
    .filter((element) => !element.closest("[hidden], details:not([open]) .menu-card, dialog, .visually-hidden, .skip-link") && element.checkVisibility({ visibilityProperty: true, opacityProperty: true }))
    .map((element) => [named(element), cutBy(element)])
    .filter(([, cut]) => cut !== null)
    .map(([name, cut]) => `${name} by ${cut}`);
  for (const pick of document.querySelectorAll(".panel-head .pick")) if (pick.scrollWidth > pick.clientWidth + 1) found.push(`the switch ${named(pick)}`);
  for (const part of document.querySelectorAll(".panel-head > *")) {
    const [box, around] = [part.getBoundingClientRect(), part.closest(".panel").getBoundingClientRect()];
    if (whole(box) && part.checkVisibility() && box.right > around.right + 1) found.push(`${named(part)} by its panel`);
  }
  const wide = document.documentElement.scrollWidth - innerWidth;
  return [...new Set(found), ...(wide > 1 ? [`the page is ${wide} px too wide`] : [])];
}
