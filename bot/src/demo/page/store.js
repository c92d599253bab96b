// What the page knows, and who is told when it changes. Everything is read from the sandbox; only what has been
// seen, and where the visitor looks, is the page's own.

import { markSeen as markRead, unread as unreadIn } from "./unread.js";

export const store = {
  facts: null,
  me: null,
  channel: null,
  slack: null,
  accounts: [],
  boxes: new Map(),
  calendars: new Map(),
  // Whether Nod's Home stands in the place of the direct messages.
  home: false,
  // The thread that is open beside its channel: `channel`, `ts` of its root, and whether the focus `enters` it.
  thread: null,
  // Whether an entry in the menu of a message was picked.
  picked: false,
  // Since when this person looks: what Nod says after it is news.
  since: performance.timeOrigin,
  // When the visitor last pressed a button of Nod's.
  pressed: 0,
  lost: null,
  // Whether Nod's own part is stopped, and how often it was.
  away: false,
  stops: 0,
  // How often it was killed.
  kills: 0,
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

const said = (messages) => messages.map((m) => ({ at: Number(m.ts) * 1000, own: m.user === store.me && !m.whisper }));

export function markSeen() {
  const one = channel();
  if (one) markRead(`${store.me}/${one.id}`, said(one.messages));
}

export const unread = (one) => unreadIn(`${store.me}/${one.id}`, said(one.messages));

const threadKey = (one, ts) => `${store.me}/${one.id}/${ts}`;
export const markRepliesSeen = (one, ts, replies) => markRead(threadKey(one, ts), said(replies));
export const unreadReplies = (one, ts, replies) => unreadIn(threadKey(one, ts), said(replies));

// Mail: what was there when the page was opened is old; what came later is new until it is opened.
const opened = new Set();

export const isNew = (mail) =>
  !opened.has(mail.id) && new Date(mail.at).getTime() >= performance.timeOrigin - 1000;

export function markOpened(mail) {
  opened.add(mail.id);
}

export const newIn = (email) => (store.boxes.get(email)?.inbox ?? []).filter(isNew).length;
export const hasOpened = (mail) => opened.has(mail.id);
