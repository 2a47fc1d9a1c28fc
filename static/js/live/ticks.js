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

/** An axis with exactly these ends. */
function between(min, max, whole) {
  return { min, max, ticks: ticksBetween(min, max, roundStep(min, max, whole && max - min >= FEWEST)) };
}

/** A logarithmic axis from a round value to a round value: powers of ten, with 2 and 5 between where there are few. */
export function logTicks(low, high) {
  const [from, to] = [Math.floor(Math.log10(low)), Math.ceil(Math.log10(Math.max(high, low * 1.01)))];
  const round = [];
  for (let power = from; power <= to; power += 1) round.push(...[1, 2, 5].map((factor) => Number((factor * 10 ** power).toPrecision(3))));
  const [min, max] = [round.findLast((tick) => tick <= low), round.find((tick) => tick >= high)];
  const inside = round.filter((tick) => tick >= min && tick <= max);
  const powers = inside.filter((tick) => Number.isInteger(Math.log10(tick)));
  return { min, max, ticks: inside.length <= MOST ? inside : powers };
}

/** `{min, max, ticks}` for values from `low` to `high`; `whole` for values without fractions; ends may be set. */
export function fittingAxis(low, high, { whole = false, least = null, greatest = null } = {}) {
  let [min, max] = ends(low, high);
  [min, max] = [least ?? min, greatest ?? max];
  if (least !== null || greatest !== null) return between(min, Math.max(max, min + LEAST_SPAN), whole);
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
