// Round ticks for a value axis: three to five, the outermost just outside the values.
const ROUND = [1, 2, 2.5, 5];
const FEWEST = 3;
const MOST = 5;
const LEAST_SPAN = 0.01; // of the values' size: a narrower axis would blow noise up to a landscape

/** What a line of these values needs, widened a little where they hardly differ; never below zero for their sake. */
function padded(low, high) {
  const size = Math.max(Math.abs(low), Math.abs(high));
  const missing = Math.max(0, size * LEAST_SPAN - (high - low)) / 2;
  const bottom = low >= 0 ? Math.max(0, low - missing) : low - missing;
  return size === 0 ? [0, 1] : [bottom, high + missing];
}

function* roundSteps(span) {
  const size = 10 ** Math.floor(Math.log10(span / MOST));
  for (const scale of [size, size * 10]) for (const factor of ROUND) yield factor * scale;
}

/** Ticks for values from `low` to `high`, lowest first; `whole` for values that have no fractions. */
export function roundTicks(low, high, { whole = false } = {}) {
  const [bottom, top] = padded(low, high);
  let best = null;
  for (const step of roundSteps(top - bottom)) {
    const rounded = whole ? Math.max(1, Math.ceil(step)) : step;
    const [first, last] = [Math.floor(bottom / rounded + 1e-9), Math.ceil(top / rounded - 1e-9)];
    const count = Math.max(last - first, FEWEST - 1) + 1;
    const waste = (count - 1) * rounded - (top - bottom);
    if (count <= MOST && (!best || waste < best.waste - 1e-9 * rounded)) best = { step: rounded, first, count, waste };
  }
  return Array.from({ length: best.count }, (_, at) => Number(((best.first + at) * best.step).toPrecision(12)));
}
