// The one socket of a page: says what the page watches, notices silence, comes back by itself.
const SILENCE_MS = 10_000; // the server speaks every two seconds
const FIRST_RETRY_MS = 500;
const LONGEST_RETRY_MS = 15_000;
const SIGNED_OUT = 4401; // as the server closes a socket whose session has ended

export class LiveSocket extends EventTarget {
  #socket = null;
  #wanted = null;
  #attempts = 0;
  #silence = null;
  #retry = null;
  #offset = 0;

  constructor() {
    super();
    this.connected = false;
    this.lostAt = null;
    addEventListener("online", () => this.#retryNow());
    document.addEventListener("visibilitychange", () => document.hidden || this.connected || this.#retryNow());
  }

  /** The server's wall clock: charts and delays must not depend on this machine's. */
  now() {
    return Date.now() + this.#offset;
  }

  watch(wanted) {
    this.#wanted = { type: "watch", ...wanted };
    if (this.connected) this.#send(this.#wanted);
    else if (!this.#socket) this.#open();
  }

  /** Ask for everything again: after a gap in a query's numbers. */
  rewatch() {
    if (this.connected) this.#send(this.#wanted);
  }

  #open() {
    const scheme = location.protocol === "https:" ? "wss" : "ws";
    const socket = (this.#socket = new WebSocket(`${scheme}://${location.host}/ws/live/`));
    socket.addEventListener("open", () => {
      this.connected = true;
      this.#attempts = 0;
      this.#listen();
      this.#send(this.#wanted);
      this.dispatchEvent(new Event("connected"));
    });
    socket.addEventListener("message", (event) => this.#receive(JSON.parse(event.data)));
    socket.addEventListener("close", ({ code }) => {
      if (code === SIGNED_OUT) location.reload(); // the session was ended: what is shown must not stay
      else if (socket === this.#socket) this.#lost();
    });
  }

  #receive(message) {
    this.#listen();
    if (message.clock) this.#offset = message.clock - Date.now();
    this.#send({ type: "ack", count: message.count });
    this.dispatchEvent(new CustomEvent("message", { detail: message }));
    this.dispatchEvent(new CustomEvent(message.type, { detail: message }));
  }

  #listen() {
    clearTimeout(this.#silence);
    this.#silence = setTimeout(() => {
      this.#socket?.close();
      this.#lost(); // a dead connection may take minutes to say that it closed
    }, SILENCE_MS);
  }

  #lost() {
    clearTimeout(this.#silence);
    this.#socket = null;
    if (this.connected) this.lostAt = this.now();
    this.connected = false;
    this.#attempts += 1;
    const wait = Math.min(LONGEST_RETRY_MS, FIRST_RETRY_MS * 2 ** (this.#attempts - 1));
    clearTimeout(this.#retry);
    this.#retry = setTimeout(() => this.#open(), wait * (0.5 + Math.random() / 2));
    if (this.#attempts === 3) this.#askWhetherSignedOut();
    this.dispatchEvent(new Event("lost"));
  }

  #retryNow() {
    if (this.#socket || !this.#wanted) return;
    clearTimeout(this.#retry);
    this.#open();
  }

  async #askWhetherSignedOut() {
    try {
      const answer = await fetch(location.href, { method: "HEAD", redirect: "manual" });
      if (answer.type === "opaqueredirect") this.dispatchEvent(new Event("signed-out"));
    } catch {
      // the server is away: that is what reconnecting is for
    }
  }

  #send(message) {
    if (this.#socket?.readyState === WebSocket.OPEN) this.#socket.send(JSON.stringify(message));
  }
}
