// The panel editor: rows of queries and thresholds, fields that belong to the kind, and a live preview.
import { page } from "../live/main.js";
import { withDefaults } from "../live/settings.js";

const PREVIEW_AFTER_MS = 250;
const form = document.getElementById("panel-form");
const json = (id) => JSON.parse(document.getElementById(id).textContent);
const choices = json("choices");
const copyOf = (id) => document.getElementById(id).content.firstElementChild.cloneNode(true);
let nextRow = 0;

const option = (value, words, chosen) => new Option(words, value, false, chosen);

/** A query on the panel, with the windows and computations that it has. */
function addShow(shown = {}) {
  const row = copyOf("show-row");
  const number = nextRow++;
  const part = (name) => row.querySelector(`[data-part=${name}]`);
  row.querySelector("[name=show]").value = number;
  for (const name of ["query", "axis", "computation"]) part(name).name = `show-${number}-${name}`;
  part("query").append(...Object.entries(choices).map(([key, { name }]) => option(key, name, key === shown.query)));
  part("axis").value = shown.axis ?? "left";
  const fill = (windows = [], computation = "") => {
    const query = choices[part("query").value] ?? { windows: [], computations: [] };
    row.querySelector(".show-windows").replaceChildren(...(query.windows.length > 1 ? query.windows.map((words) => windowChoice(number, words, windows.includes(words))) : []));
    part("computation").replaceChildren(option("", "Everything it computes", !computation), ...query.computations.map((words) => option(words, words, words === computation)));
    part("computation").hidden = query.computations.length < 2;
  };
  part("query").addEventListener("change", () => fill());
  fill(shown.windows, shown.computation);
  document.getElementById("shows").append(row);
}

function windowChoice(number, words, chosen) {
  const label = document.createElement("label");
  label.className = "choice";
  const box = Object.assign(document.createElement("input"), { type: "checkbox", name: `show-${number}-window`, value: words, checked: chosen });
  const text = document.createElement("span");
  text.textContent = words;
  label.append(box, text);
  return label;
}

function addThreshold({ value = "", colour = "warn" } = {}) {
  const row = copyOf("threshold-row");
  row.querySelector("input").value = value ?? "";
  row.querySelector("select").value = colour;
  document.getElementById("thresholds").append(row);
}

/** Only what the kind heeds is asked for. */
function fitToKind() {
  const kind = form.querySelector("[name=kind]:checked");
  const heeds = new Set(kind?.dataset.heeds.split(" "));
  for (const part of form.querySelectorAll("[data-for]")) part.hidden = !heeds.has(part.dataset.for);
  const usesRight = heeds.has("axis") && [...form.querySelectorAll("[data-part=axis]")].some(({ value }) => value === "right");
  form.querySelector("[data-for-right]").hidden = !usesRight;
  for (const part of form.querySelectorAll("[data-for-query]")) part.hidden = "noQuery" in (kind?.dataset ?? {});
}

function showProblems(problems) {
  for (const place of form.querySelectorAll("[data-problem]")) {
    const words = problems[place.dataset.problem] ?? "";
    place.hidden = !words;
    place.querySelector("span").textContent = words;
    document.getElementById(place.dataset.problem)?.setAttribute("aria-invalid", words ? "true" : "false");
  }
}

let panel = page.panelAt(document.getElementById("preview"));
let timer = null;
let asked = 0;

async function preview() {
  const number = ++asked;
  const answer = await fetch(form.dataset.preview, { method: "POST", body: new FormData(form) }).catch(() => null);
  if (number !== asked) return; // something was typed meanwhile
  const note = document.getElementById("preview-note");
  if (!answer?.ok) return void (note.textContent = "The preview is not up to date: the server did not answer.");
  const told = await answer.json();
  showProblems(told.problems);
  note.textContent = Object.keys(told.problems).length ? "The preview waits until this is fixed." : "";
  if (!told.panel) return;
  document.getElementById("preview-title").textContent = told.title;
  document.querySelector("#preview .panel-sub").textContent = told.words;
  panel = page.replace(panel, withDefaults(told.panel));
}

function previewSoon() {
  fitToKind();
  clearTimeout(timer);
  timer = setTimeout(preview, PREVIEW_AFTER_MS);
}

for (const shown of json("typed-shows")) addShow(shown);
for (const step of json("typed-thresholds")) addThreshold(step);
fitToKind();
showProblems(json("problems"));
form.querySelector("[aria-invalid=true]")?.focus();
form.addEventListener("input", previewSoon);
form.addEventListener("click", (event) => {
  const adds = event.target.closest("[data-adds]")?.dataset.adds;
  const away = event.target.closest("[data-takes-away]");
  if (adds === "show") addShow();
  if (adds === "threshold") addThreshold();
  away?.closest(".show-row, .threshold-row").remove();
  if (adds || away) previewSoon();
});
