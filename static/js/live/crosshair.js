// One crosshair for all panels of a page, by time.
const panels = new Set();

export const joinCrosshair = (panel) => panels.add(panel);
export const leaveCrosshair = (panel) => panels.delete(panel);

/** Point all panels at a time (null takes the crosshair away); `from` is the panel under the pointer. */
export function pointAt(time, from) {
  for (const panel of panels) panel.pointAt(time, panel === from);
}
