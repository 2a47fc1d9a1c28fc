// The line over a picture that says what state it is in, and what can be done about it.
import { icon, make } from "./dom.js";

export class StateStrip {
  #text = null;
  #icon = null;

  constructor() {
    this.element = make("div", "strip-line");
    this.element.setAttribute("role", "status");
    this.element.hidden = true;
    this.progress = make("div", "strip-progress", make("i"));
    this.progress.hidden = true;
  }

  /** `said` is a state of states.js, or null for nothing to say. */
  show(said) {
    this.#showProgress(said?.share ?? null);
    const text = said ? `${said.bold} ${said.rest}` : "";
    if (text === this.#text) return;
    this.#text = text;
    // A state announces itself once; that its numbers move is not worth another word.
    this.element.setAttribute("aria-live", said && said.icon === this.#icon ? "off" : "polite");
    this.#icon = said?.icon ?? null;
    this.element.hidden = !said;
    if (!said) return this.element.replaceChildren();
    this.element.className = `strip-line ${said.tone}`;
    this.element.replaceChildren(icon(said.icon), make("b", "", said.bold), make("p", "not-on-phone", said.rest), ...wayOut(said.action), this.progress);
  }

  /** The words beside it say the same. */
  #showProgress(share) {
    this.progress.hidden = share === null;
    if (share !== null) this.progress.firstChild.style.width = `${Math.round(Math.min(1, Math.max(0, share)) * 100)}%`;
  }
}

/** What can be done about a state. Who came by a link has no account: other pages are closed to them. */
function wayOut(action) {
  if (!action || (action.address && !("signedIn" in document.body.dataset))) return [];
  const element = make(action.run ? "button" : "a", "btn btn-small", action.text);
  if (action.run) element.addEventListener("click", action.run);
  else element.href = action.address;
  return [element];
}
