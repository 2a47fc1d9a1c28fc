// A form that is typed into is kept in this browser until it is saved: leaving the page loses nothing.
import { clock } from "./live/format.js";

const STORE = "millrace.draft";
const NOT_KEPT = ["csrfmiddlewaretoken", "shown_source"];

function read(key) {
  try {
    return JSON.parse(localStorage.getItem(`${STORE}.${key}`));
  } catch {
    return null; // storage switched off, or something else wrote there
  }
}

function write(key, draft) {
  try {
    localStorage.setItem(`${STORE}.${key}`, JSON.stringify(draft));
    return true;
  } catch {
    return false; // no storage or no room: then there is no draft, and nothing is said of one
  }
}

export function forgetDraft(key) {
  try {
    localStorage.removeItem(`${STORE}.${key}`);
  } catch {
    // nothing was kept
  }
}

export const hasDraft = (key) => read(key) !== null;

const isSecret = (control) => control?.type === "password" || control?.dataset?.secret !== undefined;
const typed = (form) => [...new FormData(form)].filter(([name]) => !NOT_KEPT.includes(name) && !isSecret(form.elements[name]));

/** Put kept values back; a control that does not offer the kept one stays as it is. */
function restore(form, kept) {
  form.dispatchEvent(new CustomEvent("draft:restoring", { detail: kept }));
  const restored = new Map(); // by name, how many controls have their value back
  for (const control of form.elements) {
    if (!control.name || control.type === "hidden") continue;
    const values = kept.filter(([name]) => name === control.name).map(([, value]) => value);
    const at = restored.get(control.name) ?? 0;
    restored.set(control.name, at + 1);
    const isOffered = !control.options || [...control.options].some(({ value }) => value === values[at]);
    if (control.type === "checkbox") control.checked = values.includes(control.value);
    else if (at < values.length && isOffered) control.value = values[at];
    if (control.type === "textarea") control.dispatchEvent(new Event("input"));
  }
  form.dispatchEvent(new Event("input", { bubbles: true })); // the answers follow
}

/** What a page finds of an earlier visit: the draft, or null where the address or the server's answer goes before. */
function fitting(form) {
  const draft = read(form.dataset.draft);
  if (!draft || "answered" in form.dataset) return null;
  const source = draft.values.find(([name]) => name === "source")?.[1];
  const shown = form.elements.source?.value;
  if (!source || !shown || source === shown) return draft;
  const asked = new URLSearchParams(location.search).has("source");
  const exists = [...form.elements.source.options].some(({ value }) => value === source);
  if (!asked && exists) location.replace(`?source=${encodeURIComponent(source)}`); // its fields come from the server
  return null;
}

/** Keep what is typed into `form[data-draft]`, say so in `note`, and bring it back on the next visit; returns what came back. */
export function keepDraft(form, note) {
  const key = form.dataset.draft;
  const keep = (more = {}) => write(key, { at: Date.now(), values: typed(form), path: location.pathname, ...more });
  const found = fitting(form);
  if (found) {
    restore(form, found.values);
    const discard = Object.assign(document.createElement("button"), { type: "button", className: "link-button", textContent: "Discard draft" });
    discard.addEventListener("click", () => {
      forgetDraft(key);
      location.reload();
    });
    note.replaceChildren(`Draft of ${clock(found.at, { seconds: true })} restored · `, discard);
  }
  form.addEventListener("input", (event) => {
    if (event.isTrusted && keep()) note.textContent = `Draft kept ${clock(Date.now(), { seconds: true })}`;
  });
  form.addEventListener("submit", () => keep({ sent: true }));
  return found;
}

/** On the page that a saved form leads to: its draft has done its duty. */
export function forgetSaved(key) {
  const draft = read(key);
  const isElsewhere = draft && location.pathname !== draft.path; // a form that was refused comes back to its own page
  if (draft?.sent && isElsewhere && document.referrer && new URL(document.referrer).pathname === draft.path) forgetDraft(key);
}
