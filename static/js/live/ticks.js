// Value axes: little air around the values, and three to five round ticks between.
const ROUND = [1, 2, 2.5, 5];
const FEWEST = 3;
const MOST = 5;
const AIR = 0.06; // of the values' span, above and below
const LEAST_SPAN = 0.01; // of the values' size: a narrower axis would blow noise up to a landscape

/** The ends of an axis for these values; it does not go below zero unless they do. */
function ends(low, high) {
  const size = Math.max(Math.abs(low), Math.abs(high)) || 1;
  const span = Math.max(high - low, size * LEAST_SPAN);
  const missing = (span - (high - low)) / 2 + span * AIR;
  return [low >= 0 ? Math.max(0, low - missing) : low - missing, high + missing];
}

function ticksBetween(min, max, step) {
  const first = Math.ceil(min / step - 1e-9);
  const count = Math.floor(max / step + 1e-9) - first + 1;
  return Array.from({ length: Math.max(0, count) }, (_, at) => Number(((first + at) * step).toPrecision(12)));
}

/** The finest round step that leaves room between the ticks. */
function roundStep(min, max, whole) {
  const size = 10 ** Math.floor(Math.log10((max - min) / MOST));
  const steps = [size, size * 10].flatMap((scale) => ROUND.map((factor) => factor * scale));
  const allowed = whole ? steps.map((step) => Math.max(1, Math.ceil(step))) : steps;
  return allowed.find((step) => ticksBetween(min, max, step).length <= MOST);
}

/** `{min, max, ticks}` for values from `low` to `high`; `whole` for values that have no fractions. */
export function fittingAxis(low, high, { whole = false } = {}) {
  let [min, max] = ends(low, high);
  const step = roundStep(min, max, whole);
  let ticks = ticksBetween(min, max, step);
  while (ticks.length < FEWEST) {
    const [below, above] = [Math.floor(min / step - 1e-9) * step, Math.ceil(max / step + 1e-9) * step];
    if (above - max <= min - below || (low >= 0 && below < 0)) max = above;
    else min = below;
    ticks = ticksBetween(min, max, step);
  }
  return { min, max, ticks };
}
