// Alerts on every page: the count in the side bar, a toast when one begins to fire, and lists that follow.
import { say } from "../toast.js";
import { setText } from "./dom.js";

const TOGETHER = 3; // toasts at most; more alerts at once become one line

export class Bells {
  #newest = null; // by alert, when its newest group fired; null until the first word

  take({ firing, alerts }) {
    for (const count of document.querySelectorAll("[data-live-alarm]")) setText(count, firing ? `${firing} firing` : "");
    this.#toast(Object.entries(alerts).filter(([, { state }]) => state === "firing"));
    this.#follow();
  }

  #toast(firing) {
    const fresh = firing.filter(([key, { newest }]) => this.#newest && newest > (this.#newest.get(key) ?? 0));
    this.#newest = new Map(firing.map(([key, { newest }]) => [key, newest]));
    if (fresh.length > TOGETHER) return this.#say(`${fresh.length} alerts fire.`, "/alerts/");
    for (const [, { name, firing: groups, address }] of fresh) {
      this.#say(`“${name}” fires${groups > 1 ? `: ${groups} groups` : ""}.`, address);
    }
  }

  #say(text, address) {
    if (location.pathname === address) return;
    say(text, { kind: "error", action: { label: "See alert", run: () => location.assign(address) } });
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
