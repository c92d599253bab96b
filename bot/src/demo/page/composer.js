// Where the visitor writes. What begins with a slash is a command, as in Slack.

import * as api from "./api.js";
import { el } from "./dom.js";
import { channel, isDirect, store } from "./store.js";

let parts = null;

const IDEAS = ["@nod tell Bo I'm late", "@nod what's new in my mail?", "/nod help"];

export function renderComposer() {
  parts ??= build();
  const one = channel();
  if (!one || parts.place === `${store.me}/${one.id}`) return;
  parts.place = `${store.me}/${one.id}`;
  const direct = isDirect(one);
  parts.text.placeholder = direct ? "Message Nod" : `Message #${one.name}`;
  const ideas = IDEAS.map((idea) => (direct ? idea.replace("@nod ", "") : idea));
  const chip = (idea) => el("button", { type: "button", class: "chip", onclick: () => fill(idea) }, idea);
  parts.chips.replaceChildren(...ideas.map(chip));
  say("");
}

// Puts words into the box, ready to be sent.
export function fill(words) {
  parts.text.value = words;
  parts.text.focus();
  parts.text.setSelectionRange(words.length, words.length);
}

function build() {
  const text = el("textarea", { id: "composer-text", rows: "2", "aria-label": "Message", maxlength: "4000" });
  const error = el("p", { class: "error", role: "alert", hidden: true });
  const chips = el("div", { class: "chips", "aria-label": "Ideas" });
  const form = el("form", { onsubmit: send }, text, el("button", { class: "button primary", type: "submit" }, "Send"));
  text.addEventListener("keydown", (event) => {
    if (event.key === "Enter" && !event.shiftKey && !event.isComposing) send(event);
  });
  document.getElementById("composer").append(chips, form, error);
  return { text, error, chips, place: null };
}

async function send(event) {
  event.preventDefault();
  const words = parts.text.value.trim();
  const one = channel();
  if (!words || !one) return;
  parts.text.value = "";
  try {
    const command = /^(\/\S+)\s*([\s\S]*)$/.exec(words);
    if (command) await api.slash(store.me, one.id, command[1], command[2]);
    else await api.say(store.me, one.id, undefined, words);
    say("");
  } catch (problem) {
    if (!parts.text.value) parts.text.value = words;
    say(problem.message);
  }
}

function say(problem) {
  parts.error.textContent = problem;
  parts.error.hidden = !problem;
}
