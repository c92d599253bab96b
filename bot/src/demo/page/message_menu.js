// The menu of a message in Slack: what Nod does with it.

import * as api from "./api.js";
import { el } from "./dom.js";
import { store } from "./store.js";
import { toast } from "./toast.js";

export function messageMenu(message) {
  const close = (event) => {
    if (event.type === "keydown" ? event.key !== "Escape" || !node.open : node.contains(event.relatedTarget)) return;
    node.open = false;
    // It closes the menu, not the thread in which it stands.
    event.stopPropagation();
  };
  const pick = async (id) => {
    node.open = false;
    try {
      await api.pick(store.me, message.channel, message.ts, id);
      store.picked = true;
    } catch (error) {
      toast(error.message);
    }
  };
  const entries = store.facts.shortcuts.map(([id, name]) => el("button", { type: "button", onclick: () => pick(id) }, name));
  const summary = el("summary", { class: "tool", "aria-label": "What Nod can do with this message", title: "More actions" }, "⋯");
  const node = el("details", { class: "message-menu", onfocusout: close, onkeydown: close }, summary, el("div", {}, entries));
  return node;
}
