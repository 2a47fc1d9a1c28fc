// Of which alerts a page says something, and when: as mails do, one word for all groups, and not too many of them.

export class Ringing {
  #known = null; // by alert, what fires that is not silenced; null until the first word
  #news = new Set(); // alerts of which something was not told yet
  #toldAt = new Map();

  /** What fires when a page opens is no news; what fires, or is no longer silenced, after that is. */
  hear(alerts) {
    const audible = Object.entries(alerts).filter(([, { audible }]) => audible > 0);
    for (const [key, { audible: groups, newest }] of this.#known ? audible : []) {
      const before = this.#known.get(key);
      if (!before || groups > before.audible || newest > before.newest) this.#news.add(key);
    }
    this.#known = new Map(audible);
    for (const key of this.#news) if (!this.#known.has(key)) this.#news.delete(key);
  }

  /** The alerts to be told of at this time (ms); the next word about each waits for its interval. */
  due(now) {
    const due = [...this.#news].filter((key) => now - (this.#toldAt.get(key) ?? -Infinity) >= this.#known.get(key).interval);
    for (const key of due) {
      this.#news.delete(key);
      this.#toldAt.set(key, now);
    }
    return due;
  }
}
