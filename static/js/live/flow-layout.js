// Where everything of the plan's picture stands: bands as high as their cost, none too low to be seen.
const LEAST = 8; // px of a band
const LABEL = 34; // px from which on a band has two lines of text
const LINE = 17;

/** Heights that add up to the room; those that would be too low to see get the least, the others give it. */
export function heights(costs, room) {
  const whole = costs.reduce((sum, cost) => sum + cost, 0);
  if (!costs.length) return [];
  if (!whole) return costs.map(() => room / costs.length);
  const share = costs.map((cost) => (cost / whole) * room);
  const small = share.map((height) => height < LEAST);
  const given = small.filter(Boolean).length * LEAST;
  const rest = share.reduce((sum, height, at) => sum + (small[at] ? 0 : height), 0);
  const factor = rest ? Math.max(0, room - given) / rest : 1;
  return share.map((height, at) => (small[at] ? LEAST : height * factor));
}

/** How much room bands need below each other so that each has a line of text. */
export function gapAfter(height) {
  return Math.max(8, LINE - 1 - height);
}

/** Names of a band's queries, as many as its height has room for, then how many more there are. */
export function lines(queries, height) {
  const room = Math.max(1, Math.floor((height + 6) / LINE));
  const shown = queries.slice(0, queries.length <= room ? queries.length : Math.max(1, room - 1));
  const more = queries.length - shown.length;
  const labels = shown.map(({ label }) => ({ text: label, more: "", quiet: false }));
  if (more && room > 1) labels.push({ text: `${more} more`, more: "", quiet: true });
  else if (more) labels[0].more = `, ${more} more`;
  return labels;
}

/** Positions of all bands and sources. `room` is the height of the bands together, without the gaps. */
export function layout(sources, top, room) {
  const bands = sources.flatMap((source, at) => source.trees.map((tree) => ({ ...tree, source: at, sourceKey: source.key })));
  const found = heights(bands.map(({ cost }) => cost), room);
  let y = top;
  bands.forEach((band, at) => {
    if (at && band.source !== bands[at - 1].source) y += 8;
    Object.assign(band, { y, height: found[at], tall: found[at] >= LABEL });
    y += band.height + gapAfter(band.height);
  });
  const posts = sources.map((source, at) => {
    const own = bands.filter((band) => band.source === at);
    const height = own.reduce((sum, band) => sum + band.height, 0);
    const first = own[0]?.y ?? top;
    const last = own.length ? own.at(-1).y + own.at(-1).height : top;
    return { ...source, height, y: first + (last - first - height) / 2 };
  });
  const used = posts.map(() => 0);
  for (const band of bands) {
    band.from = posts[band.source].y + used[band.source];
    used[band.source] += band.height;
  }
  return { bands, posts, bottom: y };
}

/** A ribbon between two columns. */
export function ribbon(x0, y0, x1, y1, height) {
  const mid = (x0 + x1) / 2;
  const n = (value) => Math.round(value * 10) / 10;
  return `M${n(x0)} ${n(y0)}C${n(mid)} ${n(y0)} ${n(mid)} ${n(y1)} ${n(x1)} ${n(y1)}V${n(y1 + height)}C${n(mid)} ${n(y1 + height)} ${n(mid)} ${n(y0 + height)} ${n(x0)} ${n(y0 + height)}Z`;
}
