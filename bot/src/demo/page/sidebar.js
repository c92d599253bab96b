// The workspace's side: who you are, and where you can go.

import { avatar } from "./avatar.js";
import { el, reconcile } from "./dom.js";
import { readWorkspace } from "./polling.js";
import { bot, changed, isDirect, line, people, store, unread } from "./store.js";

let parts = null;

// Looks through somebody's eyes, at the same place or at their own line to Nod.
export async function become(user) {
  const name = store.slack.channels.find((one) => one.id === store.channel)?.name;
  const direct = isDirect(store.slack.channels.find((one) => one.id === store.channel));
  store.me = user;
  store.since = Date.now();
  await readWorkspace();
  const same = store.slack.channels.find((one) => (direct ? isDirect(one) : one.name === name));
  store.channel = (same ?? store.slack.channels[0]).id;
  changed();
}

export function renderSidebar() {
  parts ??= build();
  const wanted = JSON.stringify([people().map((one) => one.id), store.me]);
  if (parts.signature !== wanted) {
    parts.signature = wanted;
    const option = (one) => el("option", { value: one.id, selected: one.id === store.me }, one.real_name);
    parts.who.replaceChildren(...people().map(option));
    parts.who.value = store.me;
    parts.face.replaceChildren(avatar(store.me));
  }
  const all = store.slack.channels.filter((one) => !isDirect(one));
  all.sort((a, b) => a.name.localeCompare(b.name));
  const direct = line();
  const entries = [...all, ...(direct ? [direct] : [])].map((one) => ({
    id: one.id,
    name: isDirect(one) ? "Nod" : one.name,
    direct: isDirect(one),
    unread: one.id === store.channel && document.visibilityState === "visible" ? 0 : unread(one),
    current: one.id === store.channel,
  }));
  reconcile(parts.list, entries, (one) => one.id, JSON.stringify, entryNode);
}

function build() {
  const who = el("select", { "aria-label": "Who you are", onchange: () => become(who.value) });
  const face = el("span", {});
  const list = el("ul", { class: "channels" });
  document
    .getElementById("sidebar")
    .append(
      el("p", { class: "team" }, store.slack.team.name),
      el("label", { class: "who" }, face, el("span", { class: "you" }, el("small", {}, "You are"), who)),
      el("nav", { "aria-label": "Channels" }, list),
    );
  return { who, face, list, signature: "" };
}

function entryNode(one) {
  const go = () => {
    Object.assign(store, { channel: one.id, thread: null });
    changed();
  };
  const mark = one.direct ? avatar(bot()) : el("span", { class: "hash", "aria-hidden": "true" }, "#");
  const badge = one.unread
    ? el("span", { class: "badge" }, one.unread, el("span", { class: "unseen" }, " unread"))
    : null;
  const look = one.unread ? "channel has-unread" : "channel";
  const current = one.current ? "page" : undefined;
  const button = el("button", { type: "button", class: look, "aria-current": current, title: one.direct ? "Direct message" : undefined, onclick: go }, mark, el("span", {}, one.name), badge);
  return el("li", {}, button);
}
