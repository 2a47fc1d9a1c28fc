// What a live tail shows and when: rows wait while somebody points at them or has selected something.
import { number } from "./live/format.js";

export const MOST_ROWS = 200;

/** “1 in 40 shown, 603 messages/s”: how much of what arrives can be seen. */
export function tailLine({ arrived, shown, lookedAt, seconds, searching }) {
  const rate = `${number(Math.round(arrived / Math.max(seconds, 0.001)))} messages/s`;
  if (!arrived) return "waiting for messages";
  if (searching) return lookedAt < arrived ? `1 in ${number(Math.round(arrived / Math.max(1, lookedAt)))} searched, ${rate}` : `all searched, ${rate}`;
  return shown < arrived ? `1 in ${number(Math.round(arrived / Math.max(1, shown)))} shown, ${rate}` : rate;
}

/** The figures of the last few messages of the socket together: one second alone is jumpy. */
export class TailRate {
  #told = [];

  take({ arrived, shown, looked_at, seconds }) {
    this.#told = [...this.#told, { arrived, shown, lookedAt: looked_at, seconds }].slice(-5);
  }

  line(searching) {
    const total = (key) => this.#told.reduce((sum, one) => sum + one[key], 0);
    return tailLine({ arrived: total("arrived"), shown: total("shown"), lookedAt: total("lookedAt"), seconds: total("seconds"), searching });
  }
}

/** Rows that have come and not been shown: newest first, no more than a table holds. */
export class WaitingRows {
  #rows = [];

  add(rows) {
    this.#rows = [...rows, ...this.#rows].slice(0, MOST_ROWS);
  }

  take() {
    const rows = this.#rows;
    this.#rows = [];
    return rows;
  }

  get count() {
    return this.#rows.length;
  }
}
