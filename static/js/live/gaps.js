// Where results are missing: a line must not lead across what is not known.

/** How far after a result the next one may lie without anything missing between them. Before `detailFrom` there are
 *  two results for every `step`, which may lie twice as far apart. */
const reach = (end, { slide, step = 0, detailFrom = Infinity }) => (step && end < detailFrom ? Math.max(2 * step, slide * 1.5) : slide * 1.5);

/** Whether results are missing between these two of a series, which follow each other. */
export const isGap = (before, end, series) => end - before > reach(before, series);
