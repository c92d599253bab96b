// What the Discord window knows: whose eyes, where they look, and what the server shows to them.

import { changed, store } from "../store.js";
import { markSeen as markRead, unread as unreadIn } from "../unread.js";

// `room` is where one was on the server before one went to the direct messages.
export const here = { me: null, place: null, room: null, guild: null };

export const user = (id) => here.guild?.users.find((one) => one.id === id);
export const people = () => here.guild.users.filter((one) => !one.is_bot && one.is_member);
export const bot = () => here.guild.bot.user;
export const place = (id = here.place) => here.guild?.channels.find((one) => one.id === id);
export const isDirect = (one) => one?.kind === "dm";
export const line = () => here.guild?.channels.find(isDirect);
export const rooms = () => here.guild.channels.filter((one) => one.kind === "text").sort((a, b) => a.name.localeCompare(b.name));
export const threads = (of) => here.guild.channels.filter((one) => one.parent === of && !one.archived).sort(byAge);
export const isThinking = (message) => message.thinking;

// A snowflake tells its age, but is too long for a number.
export const byAge = (a, b) => (BigInt(a.id) < BigInt(b.id) ? -1 : 1);

export function nameOf(id) {
  const one = user(id);
  return one ? one.nick || one.global_name || one.name : "unknown-user";
}

export function titleOf(one) {
  if (isDirect(one)) return "Nod";
  return one.parent ? one.name : `#${one.name}`;
}

// Discord knows no zones: times are shown in the one that the same person has in Slack.
export const zone = () => store.slack?.users.find((one) => one.name === user(here.me)?.name)?.tz;

export function goTo(id) {
  here.place = id;
  if (!isDirect(place())) here.room = id;
  changed();
}

const key = (one) => `discord/${here.me}/${one.id}`;
const said = (one) => one.messages.map((m) => ({ at: Date.parse(m.at), own: m.user === here.me }));

export const unread = (one) => unreadIn(key(one), said(one));

export function markSeen() {
  const one = place();
  if (one) markRead(key(one), said(one));
}
