// What a page is looked at with; walk.py calls these inside it, beside axe-core.
window.walk = {
  /** What axe-core finds, each fault of each element. */
  async faults([within, options]) {
    await new Promise((drawn) => requestAnimationFrame(() => requestAnimationFrame(drawn)));
    const { violations } = await axe.run(within ?? document, { resultTypes: ["violations"], preload: false, ...options });
    return violations.flatMap(({ id, impact, nodes }) =>
      nodes.map(({ target, failureSummary }) => ({ id, impact, target: target.join(" "), why: failureSummary })),
    );
  },

  /** What makes the page wider than the window, or null. */
  sticksOut() {
    const { scrollWidth } = document.scrollingElement;
    if (scrollWidth <= innerWidth) return null;
    const out = [...document.body.querySelectorAll("*")].filter((one) => {
      const { width, right } = one.getBoundingClientRect();
      return width && right > innerWidth + 0.5 && !one.closest(".scrolls");
    });
    return `${scrollWidth} px wide, by ${out.slice(0, 3).map(opening).join(" and ")}`;
  },

  /**
   * Elements that can have the focus and do not show it. Once a key was pressed, focus that a script sets is
   * shown as if Tab had set it. A control that is itself invisible lets its neighbour show it.
   */
  withoutRing() {
    const before = document.activeElement;
    const missing = [...document.querySelectorAll("a[href], button, input, select, textarea, summary, [tabindex]")]
      .filter((one) => one.tabIndex >= 0 && !one.disabled && one.checkVisibility({ visibilityProperty: true }))
      .filter((one) => {
        one.focus({ preventScroll: true });
        return document.activeElement === one && !hasRing(one) && !hasRing(one.nextElementSibling);
      });
    before?.focus?.({ preventScroll: true });
    return missing.map(opening);
  },

  /** Controls that are marked as wrong while nothing that describes them says why. */
  withoutReason() {
    const words = (id) => document.getElementById(id)?.textContent.trim();
    return [...document.querySelectorAll("[aria-invalid=true]")]
      .filter((one) => !(one.getAttribute("aria-describedby") ?? "").split(" ").some(words))
      .map(opening);
  },
};

const opening = (element) => element.outerHTML.slice(0, 120);

function hasRing(element) {
  if (!element) return false;
  const { outlineStyle, outlineWidth } = getComputedStyle(element);
  return outlineStyle !== "none" && parseFloat(outlineWidth) >= 2;
}
