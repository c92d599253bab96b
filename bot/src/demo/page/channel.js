// The messages of one channel, each with a button to its thread.

import { avatar } from "./avatar.js";
import { chatOf, titleOf } from "./chat.js";
import { el, time } from "./dom.js";
import { drawList, statusNode } from "./message_list.js";
import { bot, channel, isDirect, markSeen, me, nameOf, store, unreadReplies } from "./store.js";
import { open, openThread, replied, threads } from "./threads.js";

// Where something else stands in their place, only the heading is drawn.
export function renderChannel(isCovered) {
  const one = channel();
  if (!one) return;
  heading(one);
  if (isCovered) return;
  const opened = openThread(one)?.root.ts;
  const items = threads(one).flatMap((thread) => [{ ...named(thread.root), opens: !thread.root.whisper }, ...below(one, thread, opened)]);
  drawList(document.getElementById("messages"), `${store.me}/${one.id}`, items, (item) => (item.status ? statusNode(item.status) : repliesNode(item)));
  if (document.visibilityState === "visible") markSeen();
}

function heading(one) {
  const direct = isDirect(one);
  document.getElementById("room-name").textContent = direct ? "Nod" : `# ${one.name}`;
  const others = one.members.map(nameOf).join(", ");
  document.getElementById("room-about").textContent = direct ? "Direct message: only you and Nod can see this" : others;
}

// A chat with Nod stands under its title.
function named(root) {
  const chat = chatOf(root.ts);
  return chat ? { ...root, text: titleOf(chat) } : root;
}

// What the channel shows of a message's thread.
function below(one, { root, replies, status }, opened) {
  const isOpen = root.ts === opened;
  const thinks = status && !isOpen ? [{ ts: `${root.ts}/status`, status }] : [];
  if (!replies.length) return thinks;
  const last = replies.at(-1);
  const notes = replies.filter(({ whisper }) => whisper).length;
  const by = last.whisper ? bot() : last.user;
  const news = isOpen ? 0 : unreadReplies(one, root.ts, replies);
  const count = replies.length - notes;
  return [...thinks, { ts: `${root.ts}/replies`, root: root.ts, count, notes, by, at: last.ts, news, isOpen }];
}

function repliesNode({ root, count, notes, by, at, news, isOpen }) {
  const what = [...(count ? [replied(count)] : []), ...(notes ? [`${notes} private`] : [])].join(", ");
  const date = new Date(Number(at) * 1000);
  const button = el(
    "button",
    { type: "button", class: "replies", "data-action": "thread", "data-thread": root, "aria-expanded": String(isOpen), onclick: () => open(root) },
    avatar(by),
    el("strong", {}, what),
    news ? el("span", { class: "badge" }, `${news} new`) : null,
    el("span", { class: "last" }, `last by ${nameOf(by)}, ${time(date, me()?.tz)}`),
  );
  return el("div", { class: "below" }, button);
}
