// Keys of every page. Off while typing; the dialog of `?` has a switch that turns them off for good.
import { openJump } from "./jump.js";

const STORED = "millrace.keys";
const PLACES = { h: "/", d: "/dashboards/", q: "/queries/", s: "/sources/", p: "/plan/", a: "/alerts/" };
const SEQUENCE_MS = 1_500;

const tell = (name) => () => dispatchEvent(new CustomEvent(`millrace:${name}`));
const KEYS = {
  "/": openJump,
  e: tell("edit-layout"),
  k: tell("kiosk"),
  n: () => location.assign("/queries/new/"),
  "[": toggleSide,
  "?": () => document.getElementById("all-keys")?.showModal(),
};

const read = (name) => {
  try {
    return localStorage.getItem(name);
  } catch {
    return null; // storage switched off
  }
};

const keep = (name, value) => {
  try {
    localStorage.setItem(name, value);
  } catch {
    // it holds for this page then
  }
};

function toggleSide() {
  const folded = document.documentElement.classList.toggle("side-folded");
  keep("millrace.side", folded ? "folded" : "");
}

let goTo = 0;

function press(event) {
  if (event.ctrlKey || event.metaKey || event.altKey || event.defaultPrevented) return;
  if (event.target.closest?.("input, textarea, select, dialog, [contenteditable]") || read(STORED) === "off") return;
  if (Date.now() - goTo < SEQUENCE_MS && event.key in PLACES) {
    goTo = 0;
    const link = document.querySelector(`a[href="${PLACES[event.key]}"]`);
    if (link) location.assign(PLACES[event.key]); // a place that this Millrace does not have is none
    return;
  }
  goTo = event.key === "g" ? Date.now() : 0;
  const act = KEYS[event.key];
  if (!act) return;
  event.preventDefault();
  act();
}

export function watchKeys() {
  document.documentElement.classList.toggle("side-folded", read("millrace.side") === "folded");
  addEventListener("keydown", press);
  const off = document.getElementById("keys-on");
  if (!off) return;
  off.checked = read(STORED) !== "off";
  off.addEventListener("change", () => keep(STORED, off.checked ? "on" : "off"));
}
