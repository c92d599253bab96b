// What Discord's window shows to have happened, by the words and buttons that are there.

import { byAge, here, line } from "./guild.js";

const all = () => here.guild.channels.flatMap((one) => one.messages).filter((one) => one.by_bot);
const inLine = () => (line()?.messages ?? []).filter((one) => one.by_bot);
const latest = (messages) => [...messages].sort(byAge).at(-1);

export const buttons = (parts) => parts.flatMap((part) => [...(part.type === 2 ? [part] : []), ...buttons(part.components ?? [])]);
const has = (pattern) => (message) => buttons(message.components).some((one) => pattern.test(one.custom_id));
const links = (message) => buttons(message.components).some((one) => one.url && /^Connect /.test(one.label));

export const told = (pattern) => all().some((message) => pattern.test(message.shown));
export const card = () => latest(all().filter(has(/^approve/)));
// Nod asks which of several is meant.
export const question = () => latest(all().filter(has(/^choose/)));
export const connected = () => inLine().some((message) => / is connected: /.test(message.shown));
export const link = () => (connected() ? undefined : latest([...inLine(), ...here.guild.ephemerals].filter(links)));
export const decided = () => told(/Approved by /);
export const stood = () => Boolean(card()) || told(/Approved by |Undone by |Denied by |Expired without an answer/);
export const commanded = (name) => [...all(), ...here.guild.ephemerals].some(({ command }) => command?.name && (!name || command.name === name));
