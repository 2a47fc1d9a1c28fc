// The grid of panels: dragged by their heads, resized at their corners, moved by arrow keys; saved as they go.
import { say } from "../toast.js";
import { call, Refused } from "./call.js";
import { Saved } from "./saved.js";

const COLUMNS = 12;
const ROW_PX = 20; // 8 px and a gap of 12
const SAVE_AFTER_MS = 400;
const LEAST_ROWS = 5;
const SIZES = ["x", "y", "w", "h"];

export class Grid {
  #before = null; // the layout that is saved
  #moved = null; // the panel that somebody moved since
  #timer = null;
  #undoing = false;

  constructor(element, { page, undo }) {
    this.element = element;
    this.page = page;
    this.undo = undo;
    this.address = `dashboards/${element.dataset.board}`;
    this.mayChange = "mayChange" in element.dataset;
    this.saved = new Saved(document.getElementById("saved"));
    this.phone = matchMedia("(max-width: 760px)");
    this.stack = GridStack.init(
      {
        column: COLUMNS,
        cellHeight: ROW_PX,
        margin: 6,
        minRow: 1,
        animate: false,
        float: true, // what nobody moved stays where it is
        draggable: { handle: ".panel-head", cancel: "button, a, summary, input, select, .menu-card", scroll: true },
        resizable: { handles: "e,se,s,sw,w" },
        staticGrid: !this.mayChange || this.phone.matches,
      },
      element,
    );
    element.classList.add("is-laid-out");
    this.#before = this.layout();
    if (this.mayChange) this.#listen();
  }

  /** By panel, where it is. */
  layout() {
    return new Map(this.stack.engine.nodes.map((node) => [node.id, Object.fromEntries(SIZES.map((name) => [name, node[name]]))]));
  }

  #listen() {
    this.phone.addEventListener("change", () => this.stack.setStatic(this.phone.matches));
    this.stack.on("dragstart resizestart", (event, item) => (this.#moved = item));
    this.stack.on("change", () => this.#saveSoon());
    this.element.addEventListener("keydown", (event) => this.#key(event));
    this.element.addEventListener("submit", (event) => this.#submit(event));
    document.getElementById("edit-layout")?.addEventListener("click", () => this.toggleEditing());
    addEventListener("millrace:edit-layout", () => this.toggleEditing());
    addEventListener("keydown", (event) => {
      if (event.key === "Escape" && this.editing && !event.target.closest?.("dialog, details[open]")) this.toggleEditing();
    });
  }

  get editing() {
    return this.element.classList.contains("is-editing");
  }

  /** Arranging: frames and corners show, and panels take the focus for the arrow keys. */
  toggleEditing() {
    if (this.phone.matches) return;
    const editing = this.element.classList.toggle("is-editing");
    document.getElementById("edit-layout")?.setAttribute("aria-pressed", String(editing));
    for (const item of this.stack.getGridItems()) {
      const panel = item.querySelector(".panel");
      if (editing) {
        panel.tabIndex = 0;
        panel.setAttribute("aria-describedby", "layout-keys");
      } else {
        panel.removeAttribute("tabindex");
        panel.removeAttribute("aria-describedby");
      }
    }
    if (editing) this.stack.getGridItems()[0]?.querySelector(".panel").focus();
  }

  #key(event) {
    const step = { ArrowLeft: [-1, 0], ArrowRight: [1, 0], ArrowUp: [0, -1], ArrowDown: [0, 1] }[event.key];
    const item = event.target.closest(".grid-stack-item");
    if (!step || !item || !this.editing || !event.target.matches(".panel")) return;
    event.preventDefault();
    const { x, y, w, h } = item.gridstackNode;
    this.#moved = item;
    if (event.shiftKey) this.stack.update(item, { w: Math.min(COLUMNS - x, Math.max(1, w + step[0])), h: Math.max(LEAST_ROWS, h + step[1]) });
    else this.stack.update(item, { x: Math.min(COLUMNS - w, Math.max(0, x + step[0])), y: Math.max(0, y + step[1]) });
  }

  #saveSoon() {
    if (this.#undoing || this.phone.matches) return;
    clearTimeout(this.#timer);
    this.#timer = setTimeout(() => this.#save(), SAVE_AFTER_MS);
  }

  async #save() {
    const [before, after] = [this.#before, this.layout()];
    const changed = [...after].filter(([id, place]) => SIZES.some((name) => before.get(id)?.[name] !== place[name]));
    if (!changed.length) return;
    this.#before = after;
    const title = this.#moved?.querySelector("h2")?.textContent;
    const wasResized = this.#moved && ["w", "h"].some((name) => before.get(this.#moved.gridstackNode?.id)?.[name] !== after.get(this.#moved.gridstackNode?.id)?.[name]);
    if (await this.#send(after)) this.undo.did(title ? `${wasResized ? "Resized" : "Moved"} “${title}”.` : "Moved panels.", () => this.#putBack(before));
  }

  async #putBack(layout) {
    this.#place(layout);
    this.#before = this.layout();
    await this.#send(this.#before);
  }

  #place(layout) {
    this.#undoing = true;
    this.stack.batchUpdate();
    for (const item of this.stack.getGridItems()) {
      const place = layout.get(item.gridstackNode.id);
      if (place) this.stack.update(item, place);
    }
    this.stack.batchUpdate(false);
    this.#undoing = false;
  }

  /** Save a layout; what the server did not take stays on the page and can be tried again. */
  async #send(layout) {
    const panels = [...layout].map(([id, place]) => ({ panel: Number(id), ...place }));
    try {
      await call("PUT", `${this.address}/layout`, { panels });
      this.saved.show();
      return true;
    } catch (error) {
      const words = error instanceof Refused ? `Not saved: ${error.message}` : "Not saved: the server did not answer. Your changes are kept here.";
      say(words, { kind: "error", action: { label: "Try again", run: () => this.#send(this.layout()) } });
      return false;
    }
  }

  #submit(event) {
    const form = event.target.closest("form[data-removes]");
    if (!form) return;
    event.preventDefault();
    event.stopPropagation();
    this.#remove(form.closest(".grid-stack-item"));
  }

  async #remove(item) {
    const id = item.gridstackNode.id;
    const panel = this.page.panelAt(item.querySelector(".panel"));
    const title = item.querySelector("h2").textContent;
    try {
      await call("DELETE", `${this.address}/panels/${id}`);
    } catch (error) {
      return say(`Not removed: ${error.message}`, { kind: "error" });
    }
    const place = this.layout().get(id);
    const items = this.stack.getGridItems();
    const next = items[items.indexOf(item) + 1] ?? items[items.indexOf(item) - 1];
    this.page.drop(panel);
    this.stack.removeWidget(item, false);
    item.remove();
    next?.querySelector(".panel-menu summary")?.focus();
    this.#before = this.layout();
    this.saved.show();
    this.undo.did(`Removed “${title}”.`, () => this.#bringBack({ item, id, panel, place }));
    document.getElementById("no-panels").hidden = this.#before.size > 0;
  }

  async #bringBack({ item, id, panel, place }) {
    await call("POST", `${this.address}/panels/${id}/restore`);
    for (const name of SIZES) item.setAttribute(`gs-${name}`, place[name]);
    this.element.append(item);
    this.stack.makeWidget(item);
    this.#before = this.layout();
    this.page.keep(panel);
    document.getElementById("no-panels").hidden = true;
    item.querySelector(".panel-menu summary")?.focus();
    this.saved.show();
  }
}
