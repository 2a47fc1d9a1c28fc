// Alerts on every page: the count in the side bar, a toast when one begins to fire, and lists that follow.
import { say } from "../toast.js";
import { setText } from "./dom.js";
import { Ringing } from "./ringing.js";

const TOGETHER = 3; // toasts at most; more alerts at once become one line

export class Bells {
  #ringing = new Ringing();
  #alerts = {};
  #toasts = new Map(); // by alert; it may have been closed

  take({ firing, alerts }) {
    this.#alerts = alerts;
    for (const count of document.querySelectorAll("[data-live-alarm]")) setText(count, firing ? `${firing} firing` : "");
    this.#countOnPanels();
    this.#ringing.hear(alerts);
    for (const [key, toast] of this.#toasts) this.#reword(key, toast);
    this.speak();
    this.#follow();
  }

  /** Say what has waited long enough since the last word about the same alert. */
  speak() {
    const due = this.#ringing.due(performance.now());
    for (const key of due) this.#toasts.get(key)?.remove();
    if (due.length > TOGETHER) return this.#say(`${due.length} alerts fire.`, "/alerts/");
    for (const key of due) this.#toasts.set(key, this.#say(this.#words(key), this.#alerts[key].address));
  }

  #words(key) {
    const { name, audible } = this.#alerts[key];
    return `“${name}” fires${audible > 1 ? ` for ${audible} groups` : ""}.`;
  }

  /** A toast that stands goes on telling how many groups fire, without being read out anew. */
  #reword(key, toast) {
    if (!toast?.isConnected || !this.#alerts[key]?.audible) return;
    toast.setAttribute("aria-live", "off");
    setText(toast.querySelector("span"), this.#words(key));
  }

  #say(text, address) {
    if (location.pathname === address) return null;
    return say(text, { kind: "error", action: { label: "See alert", run: () => location.assign(address) } });
  }

  /** In the menu of each panel, how many alerts on its query fire. */
  #countOnPanels() {
    const firing = Object.values(this.#alerts).filter(({ state }) => state === "firing");
    for (const count of document.querySelectorAll("[data-alerts-of]")) {
      const own = firing.filter(({ query }) => query === count.dataset.alertsOf).length;
      setText(count, own ? `${own} firing` : "");
    }
  }

  /** Parts of an alert's page are fetched again, unless somebody is at work in them. */
  async #follow() {
    const parts = [...document.querySelectorAll("[data-follows-alerts]")];
    if (!parts.length) return;
    const answer = await fetch(location.href, { headers: { Accept: "text/html" } });
    if (!answer.ok || answer.redirected) return;
    const fresh = new DOMParser().parseFromString(await answer.text(), "text/html");
    for (const part of parts) {
      const other = fresh.getElementById(part.id);
      if (other && part !== document.activeElement && !part.contains(document.activeElement)) part.replaceChildren(...other.children);
    }
  }
}
