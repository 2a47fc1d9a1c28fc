// Asks for the kept past of a query, when a view reaches further back than the socket tells.
const TOLD_MS = 15 * 60_000; // how far back the socket tells everything
const SLACK_MS = 60_000;
const AGAIN_MS = 5_000; // groups may come and go every second: their past is not asked for as often

const waiting = new Map(); // address without queries → key of a query → how its question is settled

/** The past of a query. Questions of the same moment that differ in their query alone are one request. */
function askedTogether(base, key, asked) {
  const address = new URL(base, location.href);
  for (const [name, value] of Object.entries(asked)) if (value !== "") address.searchParams.set(name, value);
  if (!waiting.has(address.href)) {
    waiting.set(address.href, new Map());
    setTimeout(() => send(address));
  }
  const questions = waiting.get(address.href);
  if (!questions.has(key)) {
    const question = {};
    question.answer = new Promise((resolve, reject) => Object.assign(question, { resolve, reject }));
    questions.set(key, question);
  }
  return questions.get(key).answer;
}

async function send(address) {
  const questions = waiting.get(address.href);
  waiting.delete(address.href);
  address.searchParams.set("queries", [...questions.keys()].join(","));
  try {
    const answer = await fetch(address, { headers: { Accept: "application/json" } });
    if (!answer.ok) throw new Error(`The server answered ${answer.status}.`);
    const told = await answer.json();
    for (const [key, { resolve, reject }] of questions) {
      if (key in told) resolve(told[key]);
      else reject(new Error("The server does not know it."));
    }
  } catch (problem) {
    for (const { reject } of questions.values()) reject(problem);
  }
}

export class PastLoader {
  #asked = null;
  #abort = null;

  /** `base` is the address under which the past of every query lies; `wish` tells which windows and groups. */
  constructor(query, base, wish = () => ({ groups: 8, windows: [""] })) {
    this.query = query;
    this.base = base;
    this.wish = wish;
    this.loading = false;
    this.askedAt = -Infinity;
    this.problem = "";
    this.onChange = null;
  }

  /** Everything has to be asked for again: the connection was away, and so may points be. */
  forget() {
    this.#asked = null;
  }

  /** Ask for what this view lacks; does nothing while it is asked for, or there. */
  need(shown) {
    if (!this.base) return;
    const view = { ...shown, key: `${shown.key} ${JSON.stringify(this.wish())}` };
    if (view.live && !this.query.known) this.#needEarly(view);
    else if (view.live) this.#needOlder(view);
    else this.#needRange(view);
  }

  /** Before the socket has told anything: of groups, the greatest are mostly those that it will tell. */
  #needEarly({ from, until, key }) {
    if (until - from <= TOLD_MS || this.#asked === key) return;
    this.#asked = key;
    this.#ask({ from: Math.floor(from), to: Math.ceil(until) + 1 }, (answer) => this.query.takeEarly(answer));
  }

  #needOlder({ from, until, key }) {
    const isShort = until - from <= TOLD_MS;
    if (isShort && this.#asked !== key) this.query.keep(until - from);
    if (isShort && this.query.toldFrom() <= from + SLACK_MS) {
      this.#asked = key;
      return;
    }
    const lacks = this.query.lacking.size > 0 && performance.now() - this.askedAt > AGAIN_MS;
    if (this.#asked === key && !lacks) return;
    this.#asked = key;
    this.query.lacking.clear();
    const groups = this.query.groupBy.length ? JSON.stringify(this.query.all().map(({ group }) => group)) : "";
    this.#ask({ from: Math.floor(from), to: Math.ceil(until) + 1, groups }, (answer) => this.query.takePast(answer));
  }

  #needRange({ from, until, key }) {
    if (this.#asked === key) return;
    this.#asked = key;
    this.query.lacking.clear();
    this.#ask({ from: Math.floor(from), to: Math.ceil(until) }, (answer) => this.query.takeRange(answer));
  }

  /** Ask no longer: what is there is shown, until another range is asked for. */
  cancel() {
    this.#abort?.abort();
    this.loading = false;
    this.onChange?.();
  }

  async #ask(asked, take) {
    this.#abort?.abort();
    const abort = (this.#abort = new AbortController());
    [this.loading, this.askedAt] = [true, performance.now()];
    try {
      const { groups: top, windows } = this.wish();
      const answer = await askedTogether(this.base, this.query.key, { ...asked, top, windows: JSON.stringify(windows) });
      if (abort.signal.aborted) return;
      take(answer);
      this.problem = "";
    } catch (problem) {
      if (abort.signal.aborted) return;
      this.problem = problem.message;
      this.#asked = null;
      setTimeout(() => this.onChange?.(), 5_000); // then it is asked for again
    }
    if (this.#abort === abort) this.loading = false;
    this.onChange?.();
  }
}
