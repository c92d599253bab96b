// The messages of one place: a channel, a thread, or the line to Nod.

import { el, reconcile } from "../dom.js";
import { atEnd, pointIn, settle } from "../scroll.js";
import { isShown } from "../windows.js";
import { bot, byAge, goTo, here, isDirect, markSeen, nameOf, place } from "./guild.js";
import { isDismissed, messageNode } from "./message.js";
import { day } from "./timestamp.js";

// As long as Discord shows that somebody types.
const TYPES = 10_000;
// Messages of one person within this stand under one name.
const TOGETHER = 7 * 60_000;

let parts = null;
let shown = null;

export function buildRoom(composer) {
  const head = el("div", { class: "room-head" });
  const list = el("div", { class: "messages", role: "log", "aria-label": "Discord messages", tabindex: "0" });
  const typing = el("p", { class: "typing quiet" }, el("span", { "aria-hidden": "true" }, "● ● ●"), " Nod is typing…");
  parts = { head, list, typing };
  return el("div", { class: "room" }, head, list, composer, typing);
}

export function renderRoom() {
  const one = place();
  const moved = shown !== `${here.me}/${one.id}`;
  const end = atEnd(parts.list);
  if (moved) {
    parts.list.replaceChildren();
    parts.list.kept = new Map();
    shown = `${here.me}/${one.id}`;
  }
  heading(one);
  const fresh = reconcile(parts.list, lined(one), (item) => item.id, sign, (item) => (item.day ? divider(item) : messageNode(item)));
  if (document.visibilityState === "visible" && isShown("discord")) markSeen();
  const news = fresh.filter((entry) => entry.isNew);
  settle(parts.list, news.map(({ node }) => node), { moved, end, changed: fresh.length > 0, own: news.at(-1)?.item.user === here.me });
  renderTyping(one);
}

// A message looks different once a thread hangs on it, and that changes too.
const sign = (item) => JSON.stringify([item, place(item.id)?.messages.length, item.id === here.place]);

// Everything that this person sees here, oldest first; a thread begins with the message that it hangs on.
function lined(one) {
  const head = one.parent ? (place(one.parent)?.messages ?? []).filter((message) => message.id === one.id) : [];
  const whispers = here.guild.ephemerals.filter((message) => message.channel === one.id && !isDismissed(message));
  const all = [...head, ...one.messages, ...whispers].sort(byAge);
  return all.flatMap((message, at) => {
    const before = all[at - 1];
    const date = day(new Date(message.at));
    const anew = !before || day(new Date(before.at)) !== date;
    const close = !anew && before.user === message.user && Date.parse(message.at) - Date.parse(before.at) < TOGETHER;
    const plain = (one) => !one.only && !one.command && !one.reply_to;
    const compact = close && plain(message) && plain(before) && !place(before.id)?.parent;
    return [...(anew ? [{ id: `day-${date}`, day: date }] : []), { ...message, compact }];
  });
}

const divider = ({ day: words }) => el("p", { class: "day" }, el("span", {}, words));

function heading(one) {
  const above = one.parent && place(one.parent);
  const back = above
    ? [el("button", { type: "button", class: "up", onclick: () => goTo(above.id) }, `# ${above.name}`), el("span", { class: "soft" }, " › ")]
    : [];
  const mark = isDirect(one) ? "@ " : above ? "" : "# ";
  const about = isDirect(one) ? "Only you and Nod can see this" : above ? "Thread" : `${here.guild.users.length} members`;
  const wanted = JSON.stringify([here.me, one.id, one.name]);
  if (parts.head.shown === wanted) return;
  parts.head.shown = wanted;
  const name = isDirect(one) ? nameOf(bot()) : one.name;
  parts.head.replaceChildren(...back, el("h1", {}, el("span", { class: "soft" }, mark), name), el("p", {}, about));
}

function renderTyping(one) {
  const sign = here.guild.typing.find(({ channel }) => channel === one.id);
  const last = one.messages.filter((message) => message.user === bot()).at(-1);
  const left = sign ? Date.parse(sign.at) + TYPES - Date.now() : 0;
  const types = left > 0 && !(last && last.at > sign.at);
  parts.typing.classList.toggle("quiet", !types);
  if (types) setTimeout(renderRoom, left + 50);
}

// Brings one message into view.
export function pointAt(id) {
  requestAnimationFrame(() => pointIn(parts.list, id));
}
