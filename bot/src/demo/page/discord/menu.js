// The menu of a message: a reply to it, and what apps offer for it.

import { el } from "../dom.js";
import { toast } from "../toast.js";
import * as door from "./actions.js";
import { answer } from "./composer.js";
import { here } from "./guild.js";

// Commands of this type stand in a message's menu.
const MESSAGE = 3;

export function menu(message) {
  const entry = ({ name }) => el("button", { type: "button", onclick: (event) => picked(event, message, name) }, name);
  const entries = here.guild.commands.filter((one) => one.type === MESSAGE).map(entry);
  const reply = el("button", { type: "button", onclick: (event) => replied(event, message) }, "Reply");
  const open = (event) => event.target.open && event.target.querySelector("div").scrollIntoView({ block: "nearest" });
  const close = (event) => {
    if (event.type === "keydown" ? event.key === "Escape" : !node.contains(event.relatedTarget)) node.open = false;
  };
  const node = el(
    "details",
    { class: "menu", ontoggle: open, onfocusout: close, onkeydown: close },
    el("summary", { "aria-label": "What can be done with this message", title: "More" }, "⋯"),
    el("div", {}, reply, entries.length ? el("p", {}, "Apps") : null, entries),
  );
  return node;
}

function replied(event, message) {
  event.target.closest("details").open = false;
  answer(message);
}

async function picked(event, message, name) {
  event.target.closest("details").open = false;
  try {
    await door.pick(message.id, name);
  } catch (error) {
    toast(error.message);
  }
}
