// Short notices in the first line, one at a time and never over a window; each goes by itself, and can be followed where
// it leads somewhere. Of those that lead to the same place only the latest stays, and none once one is there.

import { el } from "./dom.js";

const STAY = 12000;

// One that `stays` waits until it is dismissed.
export function toast(words, { label, follow, place, stays } = {}) {
  if (place) dismiss(place);
  const box = document.getElementById("toasts");
  const gone = () => node.remove();
  const followed = () => {
    gone();
    follow();
  };
  const node = el(
    "div",
    { class: "toast", "data-place": place },
    el("span", {}, words),
    follow ? el("button", { type: "button", class: "button primary", onclick: followed }, label) : null,
    el("button", { type: "button", class: "close", "aria-label": "Dismiss", onclick: gone }, "×"),
  );
  // The latest is seen (see base.css); those before it come back when it goes.
  while (box.childElementCount > 2) box.lastElementChild.remove();
  box.prepend(node);
  if (!stays) setTimeout(gone, STAY);
}

export function dismiss(place) {
  document.querySelectorAll(`.toast[data-place="${CSS.escape(place)}"]`).forEach((node) => node.remove());
}
