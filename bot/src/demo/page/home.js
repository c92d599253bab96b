// Nod's Home in the Slack window: what waits for this person, beside their direct messages with Nod.

import * as api from "./api.js";
import { blocks } from "./blocks.js";
import { startChat } from "./chat.js";
import { el, isBusy, setBusy } from "./dom.js";
import { changed, channel, isDirect, line, store } from "./store.js";
import { toast } from "./toast.js";
import { show } from "./windows.js";

// How long a pressed button stays grey when nothing comes of it.
const PRESSED = 4000;

let parts = null;
let shown = "";

// True where Home stands in the place of the messages.
export function renderHome() {
  parts ??= build();
  const direct = isDirect(channel());
  const open = direct && store.home;
  parts.tabs.hidden = !direct;
  parts.messages.setAttribute("aria-pressed", String(!open));
  parts.home.setAttribute("aria-pressed", String(open));
  parts.pane.hidden = !open;
  for (const id of ["messages", "composer"]) document.getElementById(id).hidden = open;
  if (!open) return false;
  const view = store.slack.home?.blocks ?? [];
  const signature = JSON.stringify([store.me, view]);
  if (signature !== shown) {
    shown = signature;
    parts.pane.replaceChildren(...(view.length ? blocks(view, press) : [el("p", {}, "Nod is drawing its Home…")]));
  }
  return true;
}

function build() {
  const tab = (label, home) => el("button", { type: "button", onclick: () => go(home) }, label);
  const [messages, home] = [tab("Messages", false), tab("Home", true)];
  const chat = el("button", { type: "button", onclick: startChat }, "New chat");
  const tabs = el("nav", { class: "tabs", "aria-label": "Nod in Slack", hidden: true }, messages, home, chat);
  const pane = el("div", { class: "home-tab", tabindex: "0", role: "region", "aria-label": "Nod's Home", hidden: true });
  document.querySelector(".room-head").append(tabs);
  document.querySelector(".room-head").after(pane);
  return { tabs, messages, home, pane };
}

export const goHome = () => visit(true);
export const goToNod = () => visit(false);

function visit(home) {
  store.channel = line().id;
  show("slack");
  go(home);
}

async function go(home) {
  store.home = home;
  changed();
  try {
    if (home) await api.home(store.me);
  } catch (error) {
    toast(error.message);
  }
}

async function press(element, isLink, node) {
  if (isLink || isBusy(node)) return;
  if (store.away) return toast("Nod is stopped right now. Press again in a few seconds.");
  setBusy(node, true);
  setTimeout(() => setBusy(node, false), PRESSED);
  store.pressed = Date.now();
  try {
    await api.pressHome(store.me, element.action_id);
  } catch (error) {
    setBusy(node, false);
    toast(error.message);
  }
}
