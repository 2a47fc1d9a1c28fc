// Which series are hidden is kept in the address, so that a link shows the same: ?hide-12=id&hide-12=id.
const name = (panel) => `hide-${panel}`;

export function hiddenInAddress(panel) {
  return panel === undefined ? [] : new URLSearchParams(location.search).getAll(name(panel));
}

export function keepHidden(panel, ids) {
  if (panel === undefined) return;
  const address = new URL(location.href);
  address.searchParams.delete(name(panel));
  for (const id of ids) address.searchParams.append(name(panel), id);
  history.replaceState(history.state, "", address);
}
