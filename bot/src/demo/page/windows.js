// The windows: as many of them are seen as have room (see base.css), those first that were used last.

import { changed } from "./store.js";

let recent = ["slack", "discord", "mail"];

const pane = (view) => document.querySelector(`main > .${view}`);

export const isShown = (view) => pane(view).getClientRects().length > 0;

// Brings a window into view.
export function show(view) {
  recent = [view, ...recent.filter((one) => one !== view)];
  recent.forEach((one, turn) => (pane(one).dataset.turn = turn));
  changed();
}

export function renderViews() {
  for (const tab of document.querySelectorAll(".views button")) {
    tab.setAttribute("aria-pressed", String(tab.dataset.view === recent[0]));
    tab.classList.toggle("elsewhere", !isShown(tab.dataset.view));
  }
}

export function watchViews() {
  for (const tab of document.querySelectorAll(".views button")) tab.addEventListener("click", () => show(tab.dataset.view));
  for (const view of recent) pane(view).addEventListener("pointerdown", () => recent[0] === view || show(view));
  window.addEventListener("resize", changed);
  show(recent[0]);
}
