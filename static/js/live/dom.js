// Small helpers to build elements from text, never from markup.
export function make(tag, className = "", ...children) {
  const element = document.createElement(tag);
  if (className) element.className = className;
  element.append(...children.filter((child) => child !== null));
  return element;
}

export function icon(name) {
  const element = make("i", `ti ti-${name}`);
  element.setAttribute("aria-hidden", "true");
  return element;
}

/** Set the text only where it differs: nothing that did not change is touched. */
export function setText(element, text) {
  if (element.textContent !== text) element.textContent = text;
}

const KIOSK_ZOOM = 1.25; // as in boards.css

/** Pixels of the screen in one of a canvas: a zoomed page would else show it blurred. */
export function pixelRatio() {
  return devicePixelRatio * (document.documentElement.classList.contains("is-kiosk") ? KIOSK_ZOOM : 1);
}

/** The round, diamond, square or ring mark of a state. */
export function dot(kind) {
  return make("span", `dot ${kind}`.trim());
}
