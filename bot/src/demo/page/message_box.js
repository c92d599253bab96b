// A box to write in, with ideas above it. Enter sends; what could not be sent stays, with the reason.

import { el } from "./dom.js";

// `send(words)` may refuse.
export function box({ id, label, button, send }) {
  const text = el("textarea", { id, rows: "2", "aria-label": label, maxlength: "4000" });
  const error = el("p", { class: "error", role: "alert", hidden: true });
  const chips = el("div", { class: "chips", "aria-label": "Ideas" });
  const say = (problem) => {
    error.textContent = problem;
    error.hidden = !problem;
  };
  const sent = async (event) => {
    event.preventDefault();
    const words = text.value.trim();
    if (!words) return;
    text.value = "";
    try {
      await send(words);
      say("");
    } catch (problem) {
      if (!text.value) text.value = words;
      say(problem.message);
    }
  };
  const form = el("form", { onsubmit: sent }, text, button);
  text.addEventListener("keydown", (event) => {
    if (event.key === "Enter" && !event.shiftKey && !event.isComposing && !event.defaultPrevented) sent(event);
  });
  const fill = (words) => {
    text.value = words;
    text.focus();
    text.setSelectionRange(words.length, words.length);
    text.dispatchEvent(new Event("input"));
  };
  const suggest = (ideas) =>
    chips.replaceChildren(...ideas.map((idea) => el("button", { type: "button", class: "chip", onclick: () => fill(idea) }, idea)));
  return { text, form, chips, error, say, fill, suggest };
}
