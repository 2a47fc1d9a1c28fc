// What the page knows of one query: its series and their points, by window end.
const DETAIL_MS = 15 * 60_000; // that the server tells of at once, every result

export class QuerySeries {
  #sequence = 0;
  #kept = DETAIL_MS; // before the newest final result
  #step = 0; // of older points the least and the greatest of such spans are kept; 0: all
  #early = null; // an answer about the past that came before the socket told anything
  #fixed = null; // of a range that does not go on: {from, until, series}

  constructor(key) {
    this.key = key;
    this.known = false;
    this.series = new Map(); // id → {id, range, slide, computation, group, points: Map(end → [end, value, final])}
    this.groups = 0;
    this.updatedAt = null;
    this.shape = 0; // grows when a whole past comes: then a chart is drawn at once
    this.lacking = new Set(); // ids of series whose older points have to be asked for
    this.first = null; // when the kept past begins
    this.last = null;
  }

  /** Take a snapshot or an update in; false when a message is missing in between. */
  take(message, now) {
    if (message.type === "snapshot") {
      Object.assign(this, {
        source: message.source,
        topic: message.topic,
        sourceAddress: message.source_address,
        groupBy: message.group_by,
        windows: message.windows,
        computations: message.computations,
        choices: message.choices ?? [],
        lateness: message.lateness,
        paused: message.paused,
        edits: message.edits ?? [],
        known: true,
      });
      this.shape += 1;
    } else if (message.sequence !== this.#sequence + 1) {
      return false;
    }
    this.#sequence = message.sequence;
    this.groups = message.groups;
    if (message.series.some((one) => one.points.length)) this.updatedAt = now;
    this.series = new Map(message.series.map((one) => [one.id, this.#merged(one)]));
    for (const { id, whole } of message.series) if (whole) this.lacking.add(id);
    if (this.#early) this.takeEarly(this.#early);
    return true;
  }

  /** What is known already stays: between it and what came now there may be a hole, which is asked for. */
  #merged({ points, whole, ...description }) {
    const before = this.series.get(description.id);
    const known = new Map(before?.points);
    for (const point of points) known.set(point[0], point);
    const liveFrom = whole || !before ? (points[0]?.[0] ?? Infinity) : before.liveFrom;
    return this.#bounded({ ...description, liveFrom, points: known });
  }

  /** In order of time, as far back as is shown, and thinned where nobody could tell the points apart. Results become
   *  final in their order: what is still provisional before a final one never will be, as its query was paused. */
  #bounded(series) {
    const known = series.points;
    const ends = [...known.keys()].sort((a, b) => a - b);
    const newestFinal = ends.findLast((end) => known.get(end)[2]);
    const stays = (end) => end > newestFinal || (end > newestFinal - this.#kept && known.get(end)[2]);
    const kept = newestFinal === undefined ? ends : ends.filter(stays);
    const points = kept.map((end) => known.get(end));
    const detailFrom = Math.max(series.liveFrom, (newestFinal ?? -Infinity) - DETAIL_MS);
    const shown = thinned(points, this.#step, detailFrom);
    return { ...series, points: new Map(shown.map((point) => [point[0], point])), step: this.#step, detailFrom };
  }

  /** Keep so much of what comes, in such detail; older points in another detail have to be asked for again. */
  keep(span, step = 0) {
    if (step !== this.#step) {
      for (const series of this.series.values()) {
        series.points = new Map([...series.points].filter(([end]) => end >= series.liveFrom));
      }
    }
    [this.#kept, this.#step] = [Math.max(DETAIL_MS, span), step];
  }

  /** From when on the socket has told all results of all lines. */
  toldFrom() {
    return Math.max(-Infinity, ...this.all().map(({ liveFrom, slide }) => liveFrom - slide));
  }

  /** Take in the kept past of a range that goes on: older points of series that are there. */
  takePast(answer) {
    const found = decoded(answer);
    const step = Math.max(0, ...found.map((one) => one.step));
    this.keep(answer.to - answer.from, step);
    for (const { id, points } of found) {
      const known = this.series.get(id);
      if (!known) continue;
      const all = new Map(points);
      for (const [end, point] of known.points) all.set(end, point);
      this.series.set(id, this.#bounded({ ...known, points: all }));
    }
    this.#noteExtent(answer);
  }

  /** Take in a past that was asked for before it was known which series there are. */
  takeEarly(answer) {
    this.#early = this.known ? null : answer;
    if (!this.known) return;
    this.takePast(answer);
    for (const { id } of answer.series) this.lacking.delete(id);
  }

  /** Take in a range that does not go on: it is shown as it is, with what is revised since. */
  takeRange(answer) {
    this.#fixed = { from: answer.from, until: answer.to, groups: answer.groups, series: decoded(answer) };
    this.#noteExtent(answer);
  }

  #noteExtent({ first, last }) {
    [this.first, this.last] = [first, last];
    this.shape += 1;
  }

  /** The series of a view: what goes on, or a range of the past with live points where it touches now. */
  shown(view) {
    if (!this.#isFixed(view)) return this.all();
    const { from, until } = view;
    return this.#fixed.series.map((one) => {
      const points = new Map(one.points);
      for (const [end, point] of this.series.get(one.id)?.points ?? []) if (end < until && end >= from && (point[2] || !points.has(end))) points.set(end, point);
      return { ...one, points: new Map([...points].sort(([a], [b]) => a - b)) };
    });
  }

  /** How many groups there are in a view, of which some are shown. */
  groupCount(view) {
    return this.#isFixed(view) ? this.#fixed.groups : this.groups;
  }

  #isFixed({ from, until, live }) {
    return !live && this.#fixed?.from === Math.floor(from) && this.#fixed.until === Math.ceil(until);
  }

  all() {
    return [...this.series.values()];
  }

  newestEnd() {
    const ends = this.all().map((one) => [...one.points.keys()].at(-1) ?? -Infinity);
    return ends.length ? Math.max(...ends) : -Infinity;
  }

  oldestEnd() {
    return Math.min(...this.all().map((one) => firstEnd(one.points)));
  }

  get empty() {
    return this.newestEnd() === -Infinity;
  }

  shortestSlide() {
    return Math.min(...this.all().map((one) => one.slide));
  }
}

const firstEnd = (points) => points.keys().next().value ?? Infinity;

/** The series of an answer about the past; its times are differences. */
function decoded(answer) {
  return answer.series.map(({ ends, values, ...description }) => {
    let end = 0;
    return { ...description, points: new Map(values.map((value, at) => [(end += ends[at]), [end, value, true]])) };
  });
}

/** Of every span of `step` before `until` the points with the least and the greatest value; gaps stay gaps. */
export function thinned(points, step, until) {
  if (!step) return points;
  const kept = [];
  let span = null;
  const close = () => {
    if (span) kept.push(...(span.low === span.high ? [span.low] : span.low[0] < span.high[0] ? [span.low, span.high] : [span.high, span.low]));
    span = null;
  };
  for (const point of points) {
    const number = Math.floor(point[0] / step);
    if (span && span.number !== number) close();
    if (point[0] >= until || !point[2]) {
      close();
      kept.push(point);
    } else if (point[1] !== null) {
      span ??= { number, low: point, high: point };
      if (point[1] < span.low[1]) span.low = point;
      if (point[1] > span.high[1]) span.high = point;
    }
  }
  close();
  return kept;
}

/** The newest final value, and the extent of the final values in a span of time. */
export function summary(points, from, to) {
  const finals = [...points.values()].filter(([, value, final]) => final && value !== null);
  const seen = finals.filter(([end]) => end >= from && end <= to).map(([, value]) => value);
  const extent = seen.length ? [Math.min(...seen), Math.max(...seen)] : [null, null];
  return { last: finals.at(-1)?.[1] ?? null, min: extent[0], max: extent[1] };
}

/** Series with the greatest newest final value first; those without one last. */
export function byNewestValue(series) {
  const newest = new Map(series.map(({ id, points }) => [id, summary(points, -Infinity, Infinity).last ?? -Infinity]));
  return [...series].sort((a, b) => newest.get(b.id) - newest.get(a.id) || (a.id < b.id ? -1 : 1));
}
