// What the state shows to have happened: read from messages and mailboxes, by the words and buttons that are there.

import { openedMail } from "./mail.js";
import { bot, line, store } from "./store.js";

export const all = () => store.slack.channels.flatMap((one) => one.messages);
export const ofBot = (message) => message.user === bot();
export const words = (message) => JSON.stringify([message.text, message.blocks]);
export const told = (pattern) => all().some((message) => ofBot(message) && pattern.test(words(message)));

export const buttons = (message) =>
  (message.blocks ?? []).flatMap((block) => [...(block.elements ?? []), block.accessory ?? {}]).filter((one) => one.type === "button");
const has = (message, pattern) => ofBot(message) && buttons(message).some((one) => pattern.test(one.action_id));
export const waits = (message) => has(message, /^approve/);
const goesOut = (message) => has(message, /^undo/);

const latest = (messages) => [...messages].sort((a, b) => Number(a.ts) - Number(b.ts)).at(-1);
const inLine = () => (line()?.messages ?? []).filter(ofBot);

// The card that waits, what is about to go out, and the link to an account that can be followed.
export const card = (button = /^approve/) => latest(all().filter((message) => has(message, button)));
export const leaving = () => all().some(goesOut);
export const link = () => {
  // One that was asked for is a whisper, and stays where it was said after it was used.
  const offers = [...inLine(), ...store.slack.ephemerals].filter((message) =>
    buttons(message).some((one) => one.url && /^Connect /.test(one.text.text)));
  const offer = latest(offers);
  const setback = failed();
  return offer && !connected() && !(setback && Number(setback.ts) > Number(offer.ts)) ? offer : undefined;
};
// The link that was offered last, as long as it was not used: its card says so then.
export const offer = () => latest(inLine().filter((message) => buttons(message).some((one) => one.url && /^(Rec|C)onnect /.test(one.text.text))));
// The card by which people vote, and whether there ever was one.
export const votes = () => card(/^vote/);
export const polled = () => told(/When works for you\?/);

// The last word on an account was that nothing was connected.
export const failed = () => {
  const last = latest(inLine().filter((message) => /[Nn]othing was connected|is connected: /.test(words(message))));
  return last && /[Nn]othing was connected/.test(words(last)) ? last : undefined;
};

export const connected = () => inLine().some((message) => /✓ .* is connected: /.test(words(message)));
export const decided = () => told(/Approved by |Undone by |Denied by |Expired without an answer/);
export const stood = () => all().some(waits) || leaving() || decided();

const sent = () => [...store.boxes.values()].flatMap((box) => box.sent);
export const approved = () => sent().length > 0;

// Where what was sent lies: with who got it, else with who sent it.
export function arrived() {
  const ids = new Set(sent().map((mail) => mail.message_id));
  const found = (folder) =>
    [...store.boxes.values()].flatMap((box) =>
      box[folder].filter((mail) => ids.has(mail.message_id)).map((mail) => ({ account: box.account, folder, mail })));
  const places = found("inbox").length ? found("inbox") : found("sent");
  return places.sort((a, b) => new Date(a.mail.at) - new Date(b.mail.at)).at(-1);
}

export function seen() {
  const open = openedMail();
  const box = open && store.boxes.get(open.account);
  // Where nobody here got it, whoever sent it has it.
  const mail = box?.[arrived()?.folder ?? "inbox"].find((one) => one.id === open.id);
  return Boolean(mail) && sent().some((one) => one.message_id === mail.message_id);
}
