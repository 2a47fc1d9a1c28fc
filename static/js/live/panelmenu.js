// What a panel's menu does in the page: show it as a table, download it as a picture.
import { savePicture } from "./panelpicture.js";

const DOES = {
  table: (panel, button) => (button.textContent = panel.toggleTable() ? "Show as chart" : "Show as table"),
  picture: (panel) => savePicture(panel),
};

export function watchPanelMenus(page) {
  document.addEventListener("click", (event) => {
    const button = event.target.closest("[data-panel-does]");
    if (!button) return;
    button.closest("details").open = false;
    DOES[button.dataset.panelDoes](page.panelAt(button.closest(".panel")), button);
  });
}
