// What the page knows, and who is told when it changes. Everything is read from the sandbox; only what has been
// seen, and where the visitor looks, is the page's own.

import { keep, kept } from "./anew.js";

export const store = {
  facts: null,
  me: null,
  channel: null,
  slack: null,
  accounts: [],
  boxes: new Map(),
  lost: null,
  // Whether Nod's own part is stopped, and how often it was.
  away: false,
  stops: 0,
};

const listeners = [];
let pending = false;

export function onChange(listener) {
  listeners.push(listener);
}

// Tells once for all that changes in one go.
export function changed() {
  if (pending) return;
  pending = true;
  queueMicrotask(() => {
    pending = false;
    for (const listener of listeners) listener();
  });
}

export const user = (id) => store.slack?.users.find((one) => one.id === id);
export const me = () => user(store.me);
export const people = () => store.slack.users.filter((one) => !one.is_bot && !one.deleted);
export const bot = () => store.slack.bot.user;
export const channel = () => store.slack?.channels.find((one) => one.id === store.channel);
export const isDirect = (one) => one?.kind === "im";
export const line = () => store.slack?.channels.find(isDirect);

export function nameOf(id) {
  const one = user(id);
  return one ? one.display_name || one.real_name || one.name : id;
}

// What was read, by person and channel, for as long as this tab lives.
const SEEN = "nod-demo-seen";
let seen = {};

// Once it is known which start of the demo this is.
export function recall() {
  seen = kept(SEEN) ?? {};
}

const last = (one) => one.messages.at(-1)?.ts ?? "0";

export function markSeen() {
  const one = channel();
  if (!one) return;
  seen[`${store.me}/${one.id}`] = last(one);
  keep(SEEN, seen);
}

// The first look at a channel counts as having read what was said before the visitor came.
export function unread(one) {
  const key = `${store.me}/${one.id}`;
  seen[key] ??= one.messages.filter((m) => Number(m.ts) * 1000 < performance.timeOrigin).at(-1)?.ts ?? "0";
  return one.messages.filter((m) => Number(m.ts) > Number(seen[key]) && m.user !== store.me).length;
}

// Mail: what was there when the page was opened is old; what came later is new until it is opened.
const opened = new Set();

export const isNew = (mail) =>
  !opened.has(mail.id) && new Date(mail.at).getTime() >= performance.timeOrigin - 1000;

export function markOpened(mail) {
  opened.add(mail.id);
}

export const newIn = (email) => (store.boxes.get(email)?.inbox ?? []).filter(isNew).length;
export const hasOpened = (mail) => opened.has(mail.id);
