// The plan page: a click on a tree anywhere selects it everywhere and sets the address.
import { icon, make } from "./dom.js";
import { Flow } from "./flow.js";
import { SliceDrawing } from "./slices.js";
import { ThroughputChart } from "./throughput.js";

export class PlanPage {
  #selections = 0;

  constructor(element) {
    this.throughput = new ThroughputChart(element);
    this.source = element.dataset.source;
    this.version = Number(element.dataset.version);
    this.news = document.getElementById("plan-news");
    this.panel = document.getElementById("tree");
    const flow = document.querySelector("[data-plan-flow]");
    this.first = flow.dataset.tree;
    this.flow = new Flow(flow, (tree, address) => this.#choose(tree, address));
    this.throughput.select(this.first);
    this.#drawSlices();
    for (const link of document.querySelectorAll("[data-tree]")) {
      if (link.tagName !== "A") continue;
      link.addEventListener("click", (event) => {
        if (event.ctrlKey || event.metaKey || event.shiftKey) return;
        event.preventDefault();
        this.#choose(link.dataset.tree, link.href);
      });
    }
    addEventListener("popstate", () => this.#select(new URLSearchParams(location.search).get("tree") ?? this.first));
  }

  #choose(tree, address) {
    history.pushState(null, "", address);
    this.#select(tree);
  }

  async #select(tree) {
    this.flow.select(tree);
    this.throughput.select(tree);
    for (const row of document.querySelectorAll("[data-tree-row]")) {
      if (row.dataset.treeRow === tree) row.setAttribute("aria-current", "true");
      else row.removeAttribute("aria-current");
    }
    const selection = ++this.#selections;
    const answer = await fetch(`${this.panel.dataset.address}${encodeURIComponent(tree)}/`).catch(() => null);
    if (selection !== this.#selections) return; // another tree was chosen meanwhile
    if (!answer?.ok) {
      location.reload(); // the plan has changed, or the server is away: the page says which
      return;
    }
    this.panel.innerHTML = await answer.text(); // our own template, as it is on the page from the start
    this.#drawSlices();
    if (this.facts) this.render(this.facts);
  }

  #drawSlices() {
    const box = document.getElementById("slices");
    const timeline = JSON.parse(document.getElementById("timeline").textContent);
    this.slices?.stop();
    this.slices = box && timeline ? new SliceDrawing(box, timeline) : null;
  }

  render(facts) {
    this.facts = facts;
    this.throughput.render(facts);
    this.slices?.render(facts);
    const running = facts.sources.get(this.source)?.plan;
    if (!running || running <= this.version || !this.news.hidden) return;
    const show = make("a", "btn btn-small", `Show plan ${running}`);
    show.href = location.pathname + location.search;
    this.news.hidden = false;
    this.news.replaceChildren(icon("binary-tree-2"), make("b", "", `Plan ${running} has taken over.`), make("p", "", "This page shows the one before."), show);
  }
}
