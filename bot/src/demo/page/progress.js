// What the Slack window shows to have happened, as notes for the guide (see facts.js).

import { facts } from "./facts.js";
import { openedCalendar, openedMail } from "./mail.js";
import { bot, isDirect, me, people, store } from "./store.js";

export const all = () => store.slack.channels.flatMap((one) => one.messages);
export const ofBot = (message) => message.user === bot();
export const words = (message) => JSON.stringify([message.text, message.blocks]);
export const told = (pattern) => all().some((message) => ofBot(message) && pattern.test(words(message)));

export const buttons = (message) =>
  (message.blocks ?? []).flatMap((block) => [...(block.elements ?? []), block.accessory ?? {}]).filter((one) => one.type === "button");

const note = (message, { direct = false, whisper = false } = {}) => ({
  message,
  at: Number(message.ts) * 1000,
  changed: Math.max(Number(message.ts), Number(message.edited?.ts ?? 0)) * 1000,
  own: !whisper && message.user === store.me,
  ofNod: whisper || ofBot(message),
  asks: direct || /@nod\b/i.test(message.shown ?? ""),
  whisper,
  words: message.shown ?? words(message),
  buttons: buttons(message).map((one) => ({ action: one.action_id, label: one.text.text, url: one.url })),
});

function notes() {
  const messages = store.slack.channels.flatMap((one) => one.messages.map((message) => note(message, { direct: isDirect(one) })));
  return [...messages, ...store.slack.ephemerals.map((message) => note(message, { whisper: true }))];
}

const first = (name) => name.split(" ")[0];
export const names = () => Object.fromEntries(people().map((one) => [one.name, first(one.real_name)]));

// What is the same in both windows.
export const shared = () => ({
  now: Date.now(),
  lost: Boolean(store.lost),
  away: store.away,
  visitor: store.facts.me,
  names: names(),
  pressed: store.pressed,
  email: people().find((one) => one.name === store.facts.me).email,
  mail: isOpened() ? undefined : arrived(),
  opened: isOpened(),
  event: looksAtBooked() ? undefined : booked(),
  looked: looksAtBooked(),
});

// What a task asks for is no news for the ways on which something else was asked. Once it is decided, its card no longer
// says that a task asked.
const OF_TASK = /Asked by (your|the) task/;
const ofTasks = new Set();
export function withoutTasks(notes) {
  notes.filter((note) => OF_TASK.test(note.words)).forEach((note) => ofTasks.add(note.at));
  return notes.filter((note) => !ofTasks.has(note.at));
}

export const onSlack = ({ tasks = false } = {}) =>
  facts({ ...shared(), notes: tasks ? notes() : withoutTasks(notes()), me: me().name, name: me().real_name, thinking: store.slack.statuses.length > 0 });

export const sent = () => [...store.boxes.values()].flatMap((box) => box.sent);

// Where what was sent last lies: with who got it, else with who sent it.
function arrived() {
  const ids = new Set(sent().map((mail) => mail.message_id));
  const found = (folder) =>
    [...store.boxes.values()].flatMap((box) =>
      box[folder].filter((mail) => ids.has(mail.message_id)).map((mail) => ({ account: box.account, folder, id: mail.id, at: mail.at })));
  const places = found("inbox").length ? found("inbox") : found("sent");
  return places.sort((a, b) => new Date(a.at) - new Date(b.at)).at(-1);
}

// Whether the mail that is open is one that was sent.
function isOpened() {
  const open = openedMail();
  const box = open && store.boxes.get(open.account);
  // Where nobody here got it, whoever sent it has it.
  const mail = box?.[arrived()?.folder ?? "inbox"].find((one) => one.id === open.id);
  return Boolean(mail) && sent().some((one) => one.message_id === mail.message_id);
}

// The latest invitation that Calendar sent.
function booked() {
  const letters = [...store.calendars.values()].flatMap((one) => one.invitations.map((letter) => ({ account: one.account, ...letter })));
  return letters.filter((letter) => letter.news === "invited").sort((a, b) => Date.parse(a.at) - Date.parse(b.at)).at(-1);
}

const looksAtBooked = () => store.calendars.get(openedCalendar())?.invitations.some((letter) => letter.news === "invited") ?? false;
