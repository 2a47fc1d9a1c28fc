// Kiosk: no bars, larger type, title and clock; the pointer hides; Esc leaves. It may go round several dashboards.
import { nextAddress } from "./kiosk-round.js";

const POINTER_MS = 3_000;
const root = document.documentElement;

const isOn = () => new URLSearchParams(location.search).has("kiosk");

function clock() {
  const now = new Date();
  const element = document.getElementById("kiosk-clock");
  if (element) element.textContent = now.toLocaleTimeString([], { hour: "2-digit", minute: "2-digit", hourCycle: "h23" });
}

/** Enter or leave, without loading the page again. */
export function setKiosk(on) {
  const address = new URL(location.href);
  if (on) address.searchParams.set("kiosk", "");
  else for (const name of ["kiosk", "every", "of"]) address.searchParams.delete(name);
  history.replaceState(history.state, "", address);
  apply();
}

let rotation = null;
let ticking = null;
let pointer = null;

function apply() {
  root.classList.toggle("is-kiosk", isOn());
  clearInterval(rotation);
  clearInterval(ticking);
  clearTimeout(pointer);
  root.classList.remove("hides-pointer");
  if (!isOn()) return;
  clock();
  ticking = setInterval(clock, 1_000);
  hidePointerSoon();
  const every = Number(new URLSearchParams(location.search).get("every"));
  if (every >= 5) rotation = setInterval(goRound, every * 1_000);
}

function hidePointerSoon() {
  root.classList.remove("hides-pointer");
  clearTimeout(pointer);
  pointer = setTimeout(() => root.classList.add("hides-pointer"), POINTER_MS);
}

async function goRound() {
  const all = JSON.parse(document.getElementById("rotation").textContent);
  const next = nextAddress(all, location.pathname);
  if (!next) return;
  const address = next + location.search;
  try {
    // A server that is away must not leave a wall screen on the browser's error page.
    const answer = await fetch(address, { method: "HEAD" });
    if (answer.ok) location.assign(address);
  } catch {
    // it stays where it is until the next time round
  }
}

export function startKiosk() {
  apply();
  addEventListener("pointermove", () => isOn() && hidePointerSoon());
  addEventListener("keydown", (event) => event.key === "Escape" && isOn() && !event.target.closest?.("dialog") && setKiosk(false));
  addEventListener("millrace:kiosk", () => setKiosk(!isOn()));
  document.getElementById("start-kiosk")?.addEventListener("submit", (event) => {
    event.preventDefault();
    const chosen = new FormData(event.target);
    const address = new URL(location.href);
    for (const name of ["every", "of"]) chosen.get("every") ? address.searchParams.set(name, chosen.get(name)) : address.searchParams.delete(name);
    history.replaceState(history.state, "", address);
    event.target.closest("dialog").close();
    if (chosen.get("every")) {
      address.searchParams.set("kiosk", "");
      location.assign(address); // the server tells which dashboards belong to the round
    } else setKiosk(true);
  });
}
