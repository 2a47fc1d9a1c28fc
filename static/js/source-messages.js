// The messages tab: where to read from, the live tail with its pause, and the inspector.
import { Inspector } from "./source-inspector.js";
import { MOST_ROWS, TailRate, WaitingRows } from "./source-tail.js";

const RETRY_MS = 3_000;
const FIELD_OF = { offset: "from-offset", time: "since" }; // that a choice asks for
const ASKED_BY = { offset: "offset", since: "time", zone: "time" }; // the choice that a part of the form belongs to

/** Follows a topic over a socket of its own, and puts rows on top of the table once a second at most. */
class Tail {
  #socket = null;
  #rate = new TailRate();
  #waiting = new WaitingRows();
  #pointed = false;

  constructor(bar, onRows) {
    this.bar = bar;
    this.onRows = onRows;
    this.pause = document.getElementById("tail-pause");
    this.paused = false;
    this.pause.addEventListener("click", () => this.#toggle());
    const page = document.getElementById("message-page");
    page.addEventListener("pointerover", (event) => (this.#pointed = Boolean(event.target.closest("tbody"))));
    page.addEventListener("pointerleave", () => (this.#pointed = false));
    setInterval(() => this.#flush(), 500);
  }

  /** Start over from the places that the page on screen goes up to. */
  begin(after) {
    this.stop();
    this.after = after;
    this.#rate = new TailRate();
    this.#waiting = new WaitingRows();
    if (!this.paused) this.#connect();
  }

  stop() {
    const socket = this.#socket;
    this.#socket = null;
    socket?.close();
  }

  get #lines() {
    return document.getElementById("message-lines");
  }

  #connect() {
    const form = new FormData(this.bar);
    const asked = new URLSearchParams({ seek: "live", after: this.after, q: form.get("q"), partition: form.get("partition"), aborted: form.get("aborted") ?? "" });
    const socket = new WebSocket(`${location.protocol === "https:" ? "wss" : "ws"}://${location.host}${this.bar.dataset.tail}?${asked}`);
    this.#socket = socket;
    socket.addEventListener("message", ({ data }) => socket === this.#socket && this.#hear(socket, JSON.parse(data)));
    socket.addEventListener("close", () => socket === this.#socket && this.#lost());
  }

  #hear(socket, message) {
    socket.send("{}"); // heard: a slow page gets fewer rows
    if (message.type === "problem") return this.#problem(message.sentence);
    this.after = message.after;
    this.#rate.take(message);
    const body = document.createElement("tbody");
    body.innerHTML = message.html; // rendered and escaped by the server, as the rest of the table
    this.#waiting.add([...body.children]);
    this.#flush();
  }

  #problem(sentence) {
    this.#socket = null;
    this.#say(`${sentence} Trying again.`);
    setTimeout(() => this.#retry(), RETRY_MS);
  }

  #lost() {
    this.#socket = null;
    this.#say("Reconnecting.");
    setTimeout(() => this.#retry(), RETRY_MS);
  }

  #retry() {
    if (!this.#socket && !this.paused && document.querySelector("[data-seek=live]")) this.#connect();
  }

  #isHeld() {
    const chosen = getSelection();
    const selecting = !chosen.isCollapsed && this.#lines?.contains(chosen.anchorNode);
    return this.#pointed || selecting || this.#lines?.contains(document.activeElement);
  }

  #flush() {
    if (!this.#socket || !this.#lines) return;
    const line = this.#rate.line(Boolean(this.bar.elements.q.value.trim()));
    if (this.#isHeld()) return this.#say(this.#waiting.count ? `${this.#waiting.count} new wait while you look, ${line}` : line);
    const rows = this.#waiting.take();
    if (rows.length) {
      this.#lines.prepend(...rows);
      while (this.#lines.rows.length > MOST_ROWS) this.#lines.lastElementChild.remove();
      document.getElementById("no-messages")?.remove();
      document.getElementById("message-pages")?.remove(); // its places are no longer those of the table's edge
      this.onRows();
    }
    this.#say(line);
  }

  #toggle() {
    this.paused = !this.paused;
    this.pause.setAttribute("aria-pressed", String(this.paused));
    this.pause.querySelector("span").textContent = this.paused ? "Resume" : "Pause";
    this.pause.querySelector("i").className = `ti ti-player-${this.paused ? "play" : "pause"}`;
    if (this.paused) {
      this.stop();
      this.#say(`paused at ${new Date().toLocaleTimeString([], { hourCycle: "h23" })}`);
    } else this.#connect();
  }

  #say(words) {
    const line = document.getElementById("tail-line");
    if (line && line.textContent !== words) line.textContent = words;
  }
}

/** Keep the choice in the address, so that a page can be sent to somebody. */
function remember(bar) {
  const seek = bar.elements.seek.value;
  const chosen = [...new FormData(bar)].filter(([name, value]) => value && (ASKED_BY[name] ?? seek) === seek);
  history.replaceState(null, "", `?${new URLSearchParams([["tab", "messages"], ...chosen])}`);
}

function offerPartitions(select, numbers) {
  const chosen = select.value;
  const options = numbers.map((number) => new Option(`Partition ${number}`, number, false, number === chosen));
  select.replaceChildren(new Option("All partitions", "", false, !chosen), ...options);
}

const inspector = new Inspector(document.getElementById("inspector"));
const bar = document.getElementById("message-bar");
if (bar) {
  const tail = new Tail(bar, () => inspector.mark());
  bar.addEventListener("change", ({ target }) => document.getElementById(FIELD_OF[target.value])?.focus());
  bar.addEventListener("htmx:beforeRequest", () => {
    tail.stop();
    remember(bar);
  });
  document.getElementById("message-page").addEventListener("click", ({ target }) => {
    const mended = target.closest("[data-search-for]");
    if (!mended) return;
    bar.elements.q.value = mended.dataset.searchFor;
    bar.elements.q.focus();
    bar.requestSubmit();
  });
  document.getElementById("message-page").addEventListener("htmx:afterSwap", () => {
    const head = document.querySelector(".message-head");
    inspector.mark();
    if (!head) return tail.stop();
    offerPartitions(bar.elements.partition, head.dataset.partitions.split(" "));
    if (head.dataset.seek === "live") tail.begin(head.dataset.after);
    else tail.stop();
  });
}
