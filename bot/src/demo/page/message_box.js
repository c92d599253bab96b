// A box to write in, with ideas above it. Enter sends; what could not be sent stays, with the reason.

import { el } from "./dom.js";

// The largest file that is taken, in bytes.
const MOST = 20 * 1024 * 1024;

// `send(words, file)` may refuse. The file is `{ name, media_type, base64 }`, or undefined.
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
    const dropped = chosen;
    if (!words && !dropped) return;
    text.value = "";
    choose(null);
    try {
      await send(words, dropped && (await encoded(dropped)));
      say("");
    } catch (problem) {
      if (!text.value) text.value = words;
      if (!chosen) choose(dropped);
      say(problem.message);
    }
  };
  let chosen = null;
  const picker = el("input", { type: "file", hidden: true, "aria-label": "File" });
  const clip = el("button", { type: "button", class: "clip", "aria-label": "Attach a file", title: "Attach a file", onclick: () => picker.click() }, "📎");
  const attached = el("button", { type: "button", class: "chip attached", hidden: true, onclick: () => choose(null) });
  const choose = (one) => {
    if (one && one.size > MOST) return say("The file is larger than 20 MB.");
    chosen = one ?? null;
    picker.value = "";
    attached.hidden = !chosen;
    attached.textContent = chosen ? `📄 ${chosen.name} ✕` : "";
    attached.setAttribute("aria-label", chosen ? `Remove ${chosen.name}` : "");
    if (chosen) text.focus();
  };
  picker.addEventListener("change", () => choose(picker.files[0]));
  const form = el("form", { onsubmit: sent }, picker, clip, attached, text, button);
  form.addEventListener("dragover", (event) => event.preventDefault());
  form.addEventListener("drop", (event) => {
    event.preventDefault();
    choose(event.dataTransfer.files[0]);
  });
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
  const isFilled = () => Boolean(text.value || chosen);
  return { text, form, chips, error, say, fill, isFilled, attach: choose, suggest };
}

function encoded(file) {
  return new Promise((resolve, reject) => {
    const reader = new FileReader();
    reader.onload = () => resolve({ name: file.name, media_type: file.type, base64: reader.result.split(",")[1] ?? "" });
    reader.onerror = () => reject(new Error("The file could not be read."));
    reader.readAsDataURL(file);
  });
}
