// The messages of one channel, replies under their root.

import * as api from "./api.js";
import { el, reconcile } from "./dom.js";
import { messageNode } from "./message.js";
import { atEnd, pointIn, settle } from "./scroll.js";
import { channel, isDirect, markSeen, nameOf, store } from "./store.js";

let shown = null;

// Where something else stands in their place, only the heading is drawn.
export function renderChat(isCovered) {
  const one = channel();
  if (!one) return;
  heading(one);
  if (isCovered) return;
  const list = document.getElementById("messages");
  const fresh = [];
  const place = `${store.me}/${one.id}`;
  const moved = shown !== place;
  const end = atEnd(list);
  if (moved) {
    list.replaceChildren();
    list.kept = new Map();
    shown = place;
  }
  const all = threads(one);
  reconcile(list, all, (thread) => thread.root.ts, () => "", (thread) => threadNode(one, thread.root.ts));
  for (const thread of all) fresh.push(...updateThread(list.kept.get(thread.root.ts).node, thread, one));
  if (document.visibilityState === "visible") markSeen();
  const news = fresh.filter((entry) => entry.isNew);
  settle(list, news.map(({ node }) => node), { moved, end, changed: fresh.length > 0, own: news.at(-1)?.item.user === store.me });
}

function heading(one) {
  const direct = isDirect(one);
  document.getElementById("room-name").textContent = direct ? "Nod" : `# ${one.name}`;
  const others = one.members.map(nameOf).join(", ");
  document.getElementById("room-about").textContent = direct ? "Direct message: only you and Nod can see this" : others;
}

// Everything that this person sees here, oldest first: each root with what stands under it.
function threads(one) {
  const whispers = store.slack.ephemerals
    .filter((whisper) => whisper.channel === one.id)
    .map((whisper) => ({ ...whisper, whisper: true }));
  const all = [...one.messages, ...whispers].sort((a, b) => Number(a.ts) - Number(b.ts));
  const roots = new Map();
  for (const message of all) {
    const root = message.thread_ts && message.thread_ts !== message.ts ? roots.get(message.thread_ts) : null;
    if (root) root.replies.push(message);
    else roots.set(message.ts, { root: message, replies: [] });
  }
  for (const status of store.slack.statuses) {
    if (status.channel === one.id) roots.get(status.thread_ts)?.replies.push({ ts: "status", status: status.status });
  }
  return [...roots.values()];
}

function threadNode(one, ts) {
  return el("section", { class: "thread" }, el("div", { class: "root" }), el("div", { class: "replies" }), replyBox(one, ts));
}

function updateThread(node, { root, replies }) {
  const [top, under, box] = node.children;
  const sign = (message) => JSON.stringify(message);
  const key = (message) => message.ts;
  const fresh = [...reconcile(top, [root], key, sign, shownAs), ...reconcile(under, replies, key, sign, shownAs)];
  under.hidden = replies.length === 0;
  box.hidden = Boolean(root.whisper);
  node.classList.toggle("has-replies", replies.length > 0);
  return fresh;
}

function shownAs(message) {
  if (message.status) return el("p", { class: "status" }, `Nod ${message.status}`);
  return messageNode(message);
}

// Opens on demand: a button, then a box.
function replyBox(one, ts) {
  const input = el("input", { type: "text", "aria-label": "Reply in thread", placeholder: "Reply…", autocomplete: "off" });
  const error = el("p", { class: "error", role: "alert", hidden: true });
  const send = async (event) => {
    event.preventDefault();
    const text = input.value.trim();
    if (!text) return;
    try {
      if (text.startsWith("/")) throw new Error("Slash commands don't work in threads.");
      await api.say(store.me, one.id, ts, text);
      input.value = "";
      error.hidden = true;
    } catch (problem) {
      error.textContent = problem.message;
      error.hidden = false;
    }
  };
  const form = el("form", { hidden: true, onsubmit: send }, input, el("button", { class: "button", type: "submit" }, "Send"));
  const open = () => {
    form.hidden = false;
    button.hidden = true;
    form.scrollIntoView({ block: "nearest" });
    input.focus();
  };
  const close = (event) => {
    if (event.key !== "Escape") return;
    form.hidden = true;
    button.hidden = false;
    button.focus();
  };
  form.addEventListener("keydown", close);
  const button = el("button", { type: "button", class: "reply-open", onclick: open }, "Reply in thread");
  return el("div", { class: "reply" }, button, form, error);
}

export function pointAt(ts) {
  requestAnimationFrame(() => pointIn(document.getElementById("messages"), ts));
}
