// Load and headroom wherever a page tells them: the same as in the card at the foot of the side bar.
import { setText } from "./dom.js";
import { percent, whole } from "./format.js";

/** What the meters tell while a job runs; null where nothing of now is known. */
export const loadNow = ({ connected, state }) => (connected && state?.broker.state === "reachable" && state.job.state === "running" ? state.load : null);

/** What the cores could still take, at the batches of now; null while no event arrives. */
export const headroom = ({ rate, share }) => (rate && share ? Math.max(0, rate / share - rate) : null);

/** All digits, of which three count: 85,312 as 85,300. */
export const rounded = (value) => whole(Number(value.toPrecision(3)));

export function showLoad(facts) {
  const load = loadNow(facts);
  if (!load) return;
  // Without sharing it would be so many times as much.
  for (const place of document.querySelectorAll("[data-live-load]")) setText(place, percent(load.share * Number(place.dataset.liveLoad)));
  const left = headroom(load);
  if (left === null) return;
  for (const place of document.querySelectorAll("[data-live-headroom]")) setText(place, `${rounded(left)} events/s`);
}
