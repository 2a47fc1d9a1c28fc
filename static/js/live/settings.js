// What a panel shows and how, as the server tells it in `data-panel`; a lone query needs to say nothing.
// The defaults are those of dashboard/boards/forms.py.
const DEFAULTS = {
  kind: "line",
  shows: [],
  unit: "",
  decimals: null,
  right_unit: "",
  right_decimals: null,
  thresholds: [],
  scale: "linear",
  least: null,
  greatest: null,
  groups: 8,
  stack: false,
  change: "15m",
  text: "",
};

export const withDefaults = (told) => ({ ...DEFAULTS, ...told });

export function settingsOf({ dataset }) {
  return withDefaults(dataset.panel ? JSON.parse(dataset.panel) : { shows: [{ query: dataset.liveQuery }] });
}

/** What a page has to ask the server for: of each query the most groups and all windows that a panel wants. */
export function wishes(panels) {
  const wanted = {};
  for (const { settings, chosenWindow } of panels) {
    for (const { query, windows } of settings.shows) {
      const wish = (wanted[query] ??= { groups: 0, windows: [] });
      wish.groups = Math.max(wish.groups, settings.groups);
      for (const words of windows?.length ? windows : [chosenWindow ?? ""]) if (!wish.windows.includes(words)) wish.windows.push(words);
    }
  }
  return wanted;
}
