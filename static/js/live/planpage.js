// The plan page: a click on a tree selects it everywhere and sets the address.
import { icon, make } from "./dom.js";
import { SliceDrawing } from "./slices.js";
import { ThroughputChart } from "./throughput.js";

export class PlanPage {
  constructor(element) {
    this.throughput = new ThroughputChart(element);
    this.source = element.dataset.source;
    this.version = Number(element.dataset.version);
    this.news = document.getElementById("plan-news");
    const timelines = JSON.parse(document.getElementById("timelines").textContent);
    this.slices = new SliceDrawing(document.getElementById("slices"), timelines);
    this.#select(document.querySelector("[data-tree-row][aria-current]").dataset.treeRow);
    for (const link of document.querySelectorAll("[data-tree]")) {
      link.addEventListener("click", (event) => {
        if (event.ctrlKey || event.metaKey || event.shiftKey) return;
        event.preventDefault();
        history.pushState(null, "", link.href);
        this.#select(link.dataset.tree);
      });
    }
    const first = document.querySelector("[data-tree-row][aria-current]").dataset.treeRow;
    addEventListener("popstate", () => this.#select(new URLSearchParams(location.search).get("tree") ?? first));
  }

  #select(wanted) {
    const rows = [...document.querySelectorAll("[data-tree-row]")];
    const chosen = rows.find((row) => row.dataset.treeRow === wanted) ?? rows[0];
    for (const row of rows) row.toggleAttribute("aria-current", row === chosen);
    chosen.setAttribute("aria-current", "true");
    for (const facts of document.querySelectorAll("[data-tree-facts]")) {
      facts.hidden = facts.dataset.treeFacts !== chosen.dataset.treeRow;
      if (facts.hidden) continue;
      document.getElementById("slices-title").textContent = facts.dataset.name;
      document.getElementById("slices-sub").textContent = facts.dataset.subject;
    }
    this.slices.select(chosen.dataset.treeRow);
  }

  render(facts) {
    this.throughput.render(facts);
    this.slices.render(facts);
    const running = facts.sources.get(this.source)?.plan;
    if (!running || running <= this.version || !this.news.hidden) return;
    const show = make("a", "btn btn-small", `Show plan ${running}`);
    show.href = location.pathname + location.search;
    this.news.hidden = false;
    this.news.replaceChildren(icon("binary-tree-2"), make("b", "", `Plan ${running} has taken over.`), make("p", "", "This page shows the one before."), show);
  }
}
