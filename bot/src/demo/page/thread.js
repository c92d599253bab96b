// One thread, beside its channel; where there is no room for both, in the channel's place.

import * as api from "./api.js";
import { chatOf, titleOf } from "./chat.js";
import { isWriting } from "./composer.js";
import { el, reconcile } from "./dom.js";
import { box } from "./message_box.js";
import { drawList, statusNode } from "./message_list.js";
import { pointIn } from "./scroll.js";
import { bot, changed, channel, isDirect, markRepliesSeen, store } from "./store.js";
import { openThread, replied, rootOf, threads } from "./threads.js";
import { show } from "./windows.js";

let parts = null;
let shown = null;
// The thread that was closed: the focus goes back to its button.
let left = null;
// What opened by itself once, or was not to.
const decided = new Set();
const drafts = new Map();

export function renderThread(isCovered) {
  parts ??= build();
  const one = channel();
  const thread = isCovered || !one ? undefined : openThread(one);
  const place = thread ? `${store.me}/${one.id}/${thread.root.ts}` : null;
  const held = parts.panel.contains(document.activeElement);
  if (place !== shown) turn(place);
  parts.panel.hidden = !thread;
  document.querySelector(".skip").setAttribute("href", thread ? "#thread-text" : "#composer-text");
  if (thread) draw(one, thread);
  keepFocus(held && !thread);
}

// Another thread has another draft.
function turn(place) {
  if (shown) drafts.set(shown, parts.text.value);
  shown = place;
  parts.list.place = null;
  parts.text.value = drafts.get(place) ?? "";
  parts.attach(null);
  parts.say("");
}

function draw(one, { root, replies, status }) {
  const name = isDirect(one) ? "Nod" : `# ${one.name}`;
  parts.about.textContent = name;
  parts.back.textContent = `‹ ${name}`;
  const chat = chatOf(root.ts);
  parts.name.textContent = chat ? titleOf(chat) : "Thread";
  suggest(chat && !replies.some(({ user, whisper }) => user === store.me && !whisper) ? chat.prompts : []);
  const count = replies.filter(({ whisper }) => !whisper).length;
  const line = count ? [{ ts: "count", count }] : [];
  const thinks = status ? [{ ts: "status", status }] : [];
  const make = (item) => (item.status ? statusNode(item.status) : el("p", { class: "count" }, replied(item.count)));
  drawList(parts.list, shown, [...(chat ? [] : [root, ...line]), ...replies, ...thinks], make);
  if (document.visibilityState === "visible") markRepliesSeen(one, root.ts, replies);
}

// What Nod suggests to ask is sent as it is.
function suggest(prompts) {
  parts.chips.hidden = !prompts.length;
  const button = ([title, words]) => el("button", { type: "button", class: "chip", onclick: () => ask(words) }, title);
  reconcile(parts.chips, prompts, ([title]) => title, JSON.stringify, button);
}

async function ask(words) {
  parts.text.focus();
  await send(words).catch((problem) => parts.say(problem.message));
}

function keepFocus(isLost) {
  const room = document.querySelector(".slack .room");
  const messages = document.getElementById("messages");
  const to = (node) => node.focus({ preventScroll: true });
  if (store.thread?.enters) to(parts.text);
  else if (left) to([...messages.querySelectorAll(`[data-thread="${CSS.escape(left)}"]`)].at(-1) ?? messages);
  else if (isLost) to(messages);
  // It now lies under the thread.
  else if (room.contains(document.activeElement) && getComputedStyle(room).visibility === "hidden") to(parts.list);
  if (store.thread) store.thread.enters = false;
  left = null;
}

function build() {
  const panel = document.getElementById("thread");
  const [name, about] = [el("h2", {}), el("p", {})];
  const back = el("button", { type: "button", class: "back", onclick: close });
  const away = el("button", { type: "button", class: "close", "aria-label": "Close thread", onclick: close }, "×");
  const list = el("div", { class: "messages", role: "log", "aria-label": "Messages in the thread", tabindex: "0" });
  const button = el("button", { class: "button primary", type: "submit" }, "Send");
  const made = box({ id: "thread-text", label: "Reply in thread", button, send });
  made.text.placeholder = "Reply…";
  panel.append(
    el("div", { class: "room-head" }, back, name, about, away),
    list,
    el("div", { class: "composer" }, made.chips, made.form, made.error),
  );
  panel.addEventListener("keydown", (event) => event.key === "Escape" && !event.isComposing && close());
  return { ...made, panel, name, about, back, list };
}

async function send(words, file) {
  if (words.startsWith("/")) throw new Error("Slash commands don't work in threads.");
  await api.say(store.me, store.thread.channel, store.thread.ts, words, file);
}

function close() {
  left = store.thread.ts;
  store.thread = null;
  changed();
}

// A thread in which Nod answers what this person just wrote opens by itself, once. Who writes on is left alone.
export function openAnswered() {
  const one = channel();
  const last = one && threads(one).findLast(({ root }) => root.user === store.me && !root.whisper);
  const isNew = last && Number(last.root.ts) * 1000 > store.since && !decided.has(last.root.ts);
  if (!isNew || !last.replies.some(({ user, whisper }) => whisper || user === bot())) return;
  decided.add(last.root.ts);
  if (!isWriting() && !parts?.isFilled()) store.thread = { channel: one.id, ts: last.root.ts };
}

// Goes to a channel, or to one message there.
export function goTo(id, ts) {
  Object.assign(store, { channel: id, home: false, thread: null });
  const root = ts && channel() && rootOf(channel(), ts);
  if (root) store.thread = { channel: id, ts: root };
  show("slack");
  if (ts) requestAnimationFrame(() => pointIn(root ? parts.list : document.getElementById("messages"), ts));
}
