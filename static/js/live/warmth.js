// When a query that has only just joined the plan will have its first whole window.

/** The first instant from `since` on at which a window starts: windows start on multiples of their slide. */
const startFrom = (since, slide) => Math.ceil(since / slide) * slide;

/** Of one window: its measures, and when its first final result is due (null where nothing tells). */
function waiting({ range, slide, joined }, query) {
  const own = query.all().filter((one) => one.range === range && one.slide === slide);
  const points = own.flatMap((one) => [...one.points.values()]);
  if (points.some(([, , final]) => final)) return null;
  const ends = points.map(([end]) => end);
  const firstEnd = ends.length ? Math.min(...ends) : joined === null ? null : startFrom(joined, slide) + range;
  return { range, start: firstEnd === null ? null : firstEnd - range, due: firstEnd === null ? null : firstEnd + query.lateness };
}

/** The window that takes longest to its first final result, or null when all have one. */
export function slowestToWarm(query) {
  const all = query.windows.map((window) => waiting(window, query)).filter((one) => one !== null);
  return all.reduce((slowest, one) => ((one.due ?? -1) > (slowest?.due ?? -2) ? one : slowest), null);
}
