// What the page knows of one query: its series and their points, by window end.
const KEPT_MS = 15 * 60_000;

export class QuerySeries {
  #sequence = 0;

  constructor(key) {
    this.key = key;
    this.known = false;
    this.series = new Map(); // id → {id, range, slide, computation, group, points: Map(end → [end, value, final])}
    this.groups = 0;
    this.updatedAt = null;
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
    } else if (message.sequence !== this.#sequence + 1) {
      return false;
    }
    this.#sequence = message.sequence;
    this.groups = message.groups;
    if (message.series.some((one) => one.points.length)) this.updatedAt = now;
    this.series = new Map(message.series.map((one) => [one.id, this.#merged(one)]));
    return true;
  }

  #merged({ points, whole, ...description }) {
    const known = whole ? new Map() : new Map(this.series.get(description.id)?.points);
    for (const point of points) known.set(point[0], point);
    const ends = [...known.keys()].sort((a, b) => a - b);
    const newestFinal = ends.findLast((end) => known.get(end)[2]);
    const kept = ends.filter((end) => newestFinal === undefined || end > newestFinal - KEPT_MS);
    return { ...description, points: new Map(kept.map((end) => [end, known.get(end)])) };
  }

  all() {
    return [...this.series.values()];
  }

  newestEnd() {
    const ends = this.all().map((one) => [...one.points.keys()].at(-1) ?? -Infinity);
    return ends.length ? Math.max(...ends) : -Infinity;
  }

  oldestEnd() {
    return Math.min(...this.all().map((one) => one.points.keys().next().value ?? Infinity));
  }

  get empty() {
    return this.newestEnd() === -Infinity;
  }

  shortestSlide() {
    return Math.min(...this.all().map((one) => one.slide));
  }
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
