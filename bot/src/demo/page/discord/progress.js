// What Discord's window shows to have happened, as notes for the guide (see facts.js).

import { facts } from "../facts.js";
import { shared, withoutTasks } from "../progress.js";
import { here, isDirect, user } from "./guild.js";

const all = () => here.guild.channels.flatMap((one) => one.messages).filter((one) => one.by_bot);

export const buttons = (parts) => (parts ?? []).flatMap((part) => [...(part.type === 2 ? [part] : []), ...buttons(part.components)]);
export const told = (pattern) => all().some((message) => pattern.test(message.shown));
export const commanded = (name) => [...all(), ...here.guild.ephemerals].some(({ command }) => command?.name && (!name || command.name === name));

const note = (message, { direct = false, whisper = false } = {}) => ({
  message,
  at: Date.parse(message.at),
  changed: Math.max(Date.parse(message.at), Date.parse(message.edited ?? message.at)),
  own: message.user === here.me,
  ofNod: Boolean(message.by_bot),
  asks: direct || /@nod\b/i.test(message.shown),
  whisper,
  words: message.shown,
  buttons: buttons(message.components).map((one) => ({ action: one.custom_id ?? "", label: one.label ?? "", url: one.url })),
});

function notes() {
  const messages = here.guild.channels.flatMap((one) => one.messages.map((message) => note(message, { direct: isDirect(one) })));
  return [...messages, ...here.guild.ephemerals.map((message) => note(message, { whisper: true }))];
}

export function onDiscord() {
  const me = user(here.me);
  return facts({ ...shared(), notes: withoutTasks(notes()), me: me.name, name: me.global_name ?? me.name });
}
