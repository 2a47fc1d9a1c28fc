// The history that a back-test computed.
import { ComputedResults } from "./computed-results.js";
import { whole } from "./live/format.js";

const element = document.getElementById("history");
const shown = new ComputedResults(element);

/** Long histories are thinned for the chart: it says so. */
function basis({ series }) {
  const drawn = series.reduce((sum, { points }) => sum + points.length, 0);
  const all = series.reduce((sum, { of }) => sum + of, 0);
  return drawn < all ? `the least and greatest of ${whole(all)} values` : "";
}

try {
  const response = await fetch(element.dataset.address);
  if (!response.ok) throw new Error(response.statusText);
  const answer = await response.json();
  await shown.show({ ...answer, basis: basis(answer) });
} catch {
  shown.say("The results did not come.", "Load the page again.");
}
