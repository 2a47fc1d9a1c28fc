// The one socket of a page: says what the page watches, notices silence, comes back by itself.
const SILENCE_MS = 10_000; // the server speaks every two seconds
const TICK_MS = 1_000;
const SLEPT_MS = 15_000; // between two ticks: this machine was asleep
const FIRST_RETRY_MS = 500;
const LONGEST_RETRY_MS = 15_000;
const SIGNED_OUT = 4401; // as the server closes a socket whose session has ended
const LINK_ENDED = 4410; // … whose link has expired or was revoked
const TOO_MANY = 4429; // … that is one more than its person or address may have
const ASK_EVERY = 3; // attempts
const MANY_ATTEMPTS = 6; // after which it waits as long as it ever does

export class LiveSocket extends EventTarget {
  #socket = null;
  #wanted = null;
  #attempts = 0;
  #silence = null;
  #retry = null;
  #offset = 0;

  /** `link` is the token of a link, for a page that is shown without signing in. */
  constructor(link = "") {
    super();
    this.link = link;
    this.connected = false;
    this.lostAt = null;
    this.#noticeSleep();
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

  /** Timers stand still while a machine sleeps, and its connections may be dead without a word. */
  #noticeSleep() {
    let before = Date.now();
    setInterval(() => {
      const slept = Date.now() - before > SLEPT_MS;
      before = Date.now();
      if (!slept || !this.#wanted) return;
      this.#socket?.close();
      this.#lost();
      this.#attempts = 0;
      this.#retryNow();
    }, TICK_MS);
  }

  #open() {
    const scheme = location.protocol === "https:" ? "wss" : "ws";
    const socket = (this.#socket = new WebSocket(`${scheme}://${location.host}/ws/live/${this.link && `?share=${encodeURIComponent(this.link)}`}`));
    socket.addEventListener("open", () => {
      this.connected = true;
      this.#attempts = 0;
      this.#listen();
      this.#send(this.#wanted);
      this.dispatchEvent(new Event("connected"));
    });
    socket.addEventListener("message", (event) => socket === this.#socket && this.#receive(JSON.parse(event.data)));
    socket.addEventListener("close", ({ code }) => {
      if (code === SIGNED_OUT || code === LINK_ENDED) location.reload(); // what is shown must not stay: the new page says why
      else if (socket === this.#socket) this.#lost(code);
    });
  }

  /** A frame is a list of messages; the last one's count acknowledges all. */
  #receive(messages) {
    this.#listen();
    for (const message of messages) {
      if (message.clock) this.#offset = message.clock - Date.now();
      this.dispatchEvent(new CustomEvent("message", { detail: message }));
      this.dispatchEvent(new CustomEvent(message.type, { detail: message }));
    }
    this.#send({ type: "ack", count: messages.at(-1).count });
  }

  #listen() {
    clearTimeout(this.#silence);
    this.#silence = setTimeout(() => {
      this.#socket?.close();
      this.#lost(); // a dead connection may take minutes to say that it closed
    }, SILENCE_MS);
  }

  #lost(code) {
    clearTimeout(this.#silence);
    if (code === TOO_MANY) {
      this.#attempts = MANY_ATTEMPTS;
      this.dispatchEvent(new Event("too-many"));
    }
    this.#socket = null;
    if (this.connected) this.lostAt = this.now();
    this.connected = false;
    this.#attempts += 1;
    const wait = Math.min(LONGEST_RETRY_MS, FIRST_RETRY_MS * 2 ** (this.#attempts - 1));
    clearTimeout(this.#retry);
    this.#retry = setTimeout(() => this.#open(), wait * (0.5 + Math.random() / 2));
    if (this.#attempts % ASK_EVERY === 0) this.#askWhetherItEnded();
    this.dispatchEvent(new Event("lost"));
  }

  #retryNow() {
    if (this.#socket || !this.#wanted) return;
    clearTimeout(this.#retry);
    this.#open();
  }

  /** The session or the link: who is refused a connection is not told why. */
  async #askWhetherItEnded() {
    try {
      const answer = await fetch(location.href, { method: "HEAD", redirect: "manual" });
      if (this.link && answer.status === 404) location.reload();
      if (answer.type === "opaqueredirect") this.dispatchEvent(new Event("signed-out"));
    } catch {
      // the server is away: that is what reconnecting is for
    }
  }

  #send(message) {
    if (this.#socket?.readyState === WebSocket.OPEN) this.#socket.send(JSON.stringify(message));
  }
}
