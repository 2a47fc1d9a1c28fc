/** The dashboard after this one; a lone one stays. */
export function nextAddress(all, here) {
  const next = all[(all.indexOf(here) + 1) % all.length];
  return next === undefined || next === here ? null : next;
}
