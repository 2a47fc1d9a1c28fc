// The plan as a picture: sources → slice sequences → trees → queries, as wide as they cost; one tree is selected.
import { FlowCard } from "./flow-card.js";
import { layout, lines, ribbon } from "./flow-layout.js";
import { number, percent, whole } from "./format.js";

const NS = "http://www.w3.org/2000/svg";
const TOP = 42;
const BAR = 9;
const REFRESH_MS = 15_000;
const NARROWEST = 680;

function svg(tag, attributes, text = null) {
  const element = document.createElementNS(NS, tag);
  for (const [name, value] of Object.entries(attributes)) element.setAttribute(name, value);
  if (text !== null) element.textContent = text;
  return element;
}

const counted = (count, what, several = `${what}s`) => `${whole(count)} ${count === 1 ? what : several}`;

function clipped(text, width) {
  const most = Math.floor(width / 6.6);
  return text.length > most ? `${text.slice(0, Math.max(1, most - 1))}…` : text;
}

export class Flow {
  #picture;
  #width = 0;

  constructor(panel, select) {
    this.panel = panel;
    this.box = panel.querySelector("[data-flow-box]");
    this.table = panel.querySelector("[data-flow-table]");
    this.sub = panel.querySelector("[data-flow-sub]");
    this.card = new FlowCard(panel);
    this.onSelect = select;
    this.tree = panel.dataset.tree;
    this.source = panel.dataset.source;
    this.#picture = JSON.parse(document.getElementById("plan-picture").textContent);
    for (const button of panel.querySelectorAll("[data-flow-as]")) {
      button.addEventListener("click", () => this.#showAs(button.dataset.flowAs));
    }
    this.box.addEventListener("keydown", (event) => event.key === "t" && this.#showAs("table"));
    new ResizeObserver(() => this.box.clientWidth !== this.#width && this.draw()).observe(this.box);
    setInterval(() => this.#refresh(), REFRESH_MS);
    this.draw();
  }

  select(tree) {
    this.tree = tree;
    this.draw();
  }

  #showAs(kind) {
    this.box.hidden = kind === "table";
    this.table.hidden = kind !== "table";
    for (const button of this.panel.querySelectorAll("[data-flow-as]")) button.setAttribute("aria-pressed", String(button.dataset.flowAs === kind));
  }

  async #refresh() {
    if (document.hidden || this.box.matches(":hover, :focus-within")) return; // nothing moves under the pointer
    try {
      const answer = await fetch(`${this.panel.dataset.address}?source=${this.source}&tree=${this.tree}`);
      if (!answer.ok) return;
      this.#picture = await answer.json();
      this.draw();
    } catch {
      // the server is away; the socket says so, and the last picture stays
    }
  }

  draw() {
    const { sources, measured } = this.#picture;
    this.sub.textContent = measured ? "width is measured cost, last 5 min" : "width is estimated cost until there are measurements";
    this.#width = this.box.clientWidth;
    const width = Math.max(NARROWEST, this.#width - 24);
    const count = sources.reduce((sum, source) => sum + source.trees.length, 0);
    const { bands, posts, bottom } = layout(sources, TOP, Math.min(320, 240 + 7 * count));
    const columns = [Math.min(150, width * 0.17), width * 0.35, width * 0.54, width * 0.73];
    const picture = svg("svg", { width, height: Math.max(bottom + 4, 120), role: "group", "aria-label": this.#words(bands) });
    const focused = document.activeElement?.dataset?.flowTree; // a redraw does not take the focus away
    picture.append(...this.#heads(columns, bands));
    for (const post of posts) picture.append(...this.#post(post, columns));
    const whole = bands.reduce((sum, band) => sum + band.cost, 0);
    for (const band of bands) picture.append(this.#band(band, columns, width, whole));
    this.card.hide();
    this.box.replaceChildren(picture);
    if (focused) this.box.querySelector(`[data-flow-tree="${CSS.escape(focused)}"]`)?.focus({ preventScroll: true });
  }

  #words(bands) {
    const queries = bands.reduce((sum, { count }) => sum + count, 0);
    return `From ${counted(this.#picture.sources.length, "source")} through ${counted(bands.length, "band")} of trees to ${counted(queries, "window", "windows")}, width by cost. Tree ${this.tree} is selected.`;
  }

  #heads(columns, bands) {
    const { sources, nodes, byOwner } = this.#picture;
    const sum = (of) => bands.reduce((total, band) => total + (of(band) ?? 0), 0);
    const trees = sum(({ trees }) => trees ?? 1);
    const rates = sources.map(({ rate }) => rate).filter((rate) => rate !== null);
    const results = sources.reduce((total, source) => total + (source.results ?? 0), 0);
    const heads = [
      [counted(sources.length, "source"), rates.length ? `${whole(rates.reduce((a, b) => a + b, 0))} events/s` : "not measured yet"],
      [counted(sum(({ edges, trees }) => (edges === null ? 0 : (trees ?? 1))), "slice sequence"), `${number(sum(({ edges }) => edges))} edges/min`],
      [counted(trees, "tree"), counted(nodes, "node")],
      [counted(sum(({ count }) => count), "window", "windows"), `${number(Math.round(results * 60))} results/min${byOwner ? ", by owner" : ""}`],
    ];
    return heads.flatMap(([head, below], at) => [
      svg("text", { x: at ? columns[at] : 0, y: 12, class: "flow-head" }, head),
      svg("text", { x: at ? columns[at] : 0, y: 28, class: "flow-below" }, below),
    ]);
  }

  #post(post, columns) {
    const middle = post.y + post.height / 2;
    const room = columns[0] - 8;
    const name = svg("text", { x: 0, y: middle - 2, class: "flow-name" }, clipped(post.name, room));
    name.append(svg("title", {}, post.name));
    return [
      svg("rect", { x: columns[0], y: post.y, width: BAR, height: post.height, rx: 2, class: "flow-post" }),
      name,
      svg("text", { x: 0, y: middle + 13, class: "flow-below" }, post.rate === null ? "" : `${whole(post.rate)}/s`),
    ];
  }

  #band(band, columns, width, whole) {
    const chosen = band.id === this.tree && band.sourceKey === this.source;
    const group = svg(band.address ? "a" : "g", { class: `flow-band${chosen ? " is-chosen" : ""}`, ...(band.address ? { href: band.address, "data-flow-tree": `${band.sourceKey} ${band.id}` } : {}) });
    if (chosen) group.setAttribute("aria-current", "true");
    const share = whole ? band.cost / whole : 0;
    group.setAttribute("aria-label", `${band.label}${band.node ? `, node ${band.node}` : ""}, ${band.kernel || "several kernels"}, ${counted(band.count, "window", "windows")}, ${percent(share)} of the cost`);
    const { y, height } = band;
    group.append(
      svg("path", { d: ribbon(columns[0] + BAR, band.from, columns[1], y, height), class: "flow-ribbon" }),
      svg("path", { d: ribbon(columns[1] + BAR, y, columns[2], y, height), class: "flow-ribbon" }),
      svg("path", { d: ribbon(columns[2] + BAR, y, columns[3], y, height), class: "flow-ribbon" }),
      svg("rect", { x: columns[1], y, width: BAR, height, rx: 2, class: "flow-post" }),
      svg("rect", { x: columns[2], y, width: BAR, height, rx: 2, class: "flow-post" }),
      ...this.#pieces(band, columns[3]),
      ...this.#labels(band, columns, width, whole),
    );
    this.card.follow(group, band, share);
    if (band.address) {
      group.addEventListener("click", (event) => {
        if (event.ctrlKey || event.metaKey || event.shiftKey || band.sourceKey !== this.source) return;
        event.preventDefault();
        this.onSelect(band.id, band.address);
      });
    }
    return group;
  }

  /** The queries of a band, each as high as its part of the windows. */
  #pieces(band, x) {
    const whole = band.queries.reduce((sum, { count }) => sum + count, 0) || 1;
    let y = band.y;
    return band.queries.map(({ label, count }) => {
      const height = (count / whole) * band.height;
      const piece = svg("rect", { x, y, width: BAR, height: Math.max(0.8, height - 1), rx: 0.8, class: "flow-post" });
      piece.append(svg("title", {}, label));
      y += height;
      return piece;
    });
  }

  #labels(band, columns, width, whole) {
    const middle = band.y + band.height / 2;
    const edges = band.edges === null ? "no slices" : band.tall ? `${number(band.edges)} edges/min` : `${number(band.edges)}/min`;
    const node = this.#picture.nodes > 1 && band.node ? `, node ${band.node}` : "";
    const at = band.tall ? middle - 2 : middle + 4;
    const room = columns[2] - columns[1] - 24;
    const texts = [
      svg("text", { x: columns[1] + 16, y: at, class: "flow-edges" }, clipped(edges, room)),
      svg("text", { x: columns[2] + 16, y: at, class: "flow-name" }, clipped(band.label + (band.tall ? "" : node), room)),
    ];
    if (band.tall) {
      texts.push(
        svg("text", { x: columns[1] + 16, y: middle + 13, class: "flow-below" }, `${percent(whole ? band.cost / whole : 0)} of cost`),
        svg("text", { x: columns[2] + 16, y: middle + 13, class: "flow-below" }, clipped(`${band.kernel}${node}`, room)),
      );
    }
    const names = lines(band.queries, band.height);
    const first = middle - (names.length * 17) / 2 + 12.5;
    const beside = width - columns[3] - 16;
    names.forEach(({ text, more, quiet }, line) => texts.push(svg("text", { x: columns[3] + 16, y: first + line * 17, class: quiet ? "flow-more" : "flow-query" }, clipped(text, beside - 6.6 * more.length) + more)));
    return texts;
  }
}
