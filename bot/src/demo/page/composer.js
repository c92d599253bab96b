// Where the visitor writes in Slack. What begins with a slash is a command, as there.

import * as api from "./api.js";
import { box } from "./message_box.js";
import { QUESTION } from "./documents_tour.js";
import { el } from "./dom.js";
import { channel, isDirect, store } from "./store.js";

let parts = null;
let place = null;

const IDEAS = ["@nod tell Bo I'm late", "@nod what's new in my email?", "@nod what's on my calendar tomorrow?", QUESTION, "/nod help"];

export function renderComposer() {
  parts ??= build();
  const one = channel();
  if (!one || place === `${store.me}/${one.id}`) return;
  place = `${store.me}/${one.id}`;
  const direct = isDirect(one);
  parts.text.placeholder = direct ? "Message Nod" : `Message #${one.name}`;
  parts.suggest(IDEAS.map((idea) => (direct ? idea.replace("@nod ", "") : idea)));
  parts.say("");
}

// Puts words into the box, ready to be sent.
export const fill = (words) => parts.fill(words);

// Whether something stands there that was not sent.
export const isWriting = () => Boolean(parts?.isFilled());

// The same with a file.
export function drop(words, file) {
  parts.attach(file);
  fill(words);
}

function build() {
  const button = el("button", { class: "button primary", type: "submit" }, "Send");
  const made = box({ id: "composer-text", label: "Message", button, send });
  document.getElementById("composer").append(made.chips, made.form, made.error);
  return made;
}

async function send(words, file) {
  const one = channel();
  const command = /^(\/\S+)\s*([\s\S]*)$/.exec(words);
  if (command) await api.slash(store.me, one.id, command[1], command[2]);
  else await api.say(store.me, one.id, undefined, words, file);
}
