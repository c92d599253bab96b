// The first way: from a request in Slack to the mail that arrives.

import { pointAt } from "./chat.js";
import { drop as dropFile, fill } from "./composer.js";
import { approved, arrived, card, connected, failed, leaving, link, seen, stood } from "./progress.js";
import { lookInto } from "./mail.js";
import { line, me, store } from "./store.js";
import { show } from "./windows.js";

const MAIL = "@nod tell Bo I'm late";
const AGAIN = "/nod connect google";

// Later steps are proof of those before them; only that an account was connected says nothing of a request.
export const STEPS = [
  { title: "Ask", is: () => Boolean(link()) || failed() || stood() || approved(), now: asking },
  { title: "Connect", is: () => connected() || stood() || approved(), now: connecting },
  { title: "Approve", is: approved, now: approving },
  { title: "See it arrive", is: seen, now: () => ({ words: "It's sent. See it arrive in the inbox.", label: "Open the email", go: toMail }) },
];

function asking() {
  return { words: `Send “${MAIL}”.`, label: "Type it for me", go: () => ask(MAIL) };
}

function connecting() {
  if (link()) return { words: `Nod sent you a direct message. Press its button, then Continue, then Allow for ${me().email}.`, label: "Go to the message", go: () => point(link()) };
  const words = failed() ? "Nothing was connected. " : "";
  const again = `${words}Type ${AGAIN} for a new link, and choose ${me().email}.`;
  return { words: again, label: "Type it for me", go: () => write(line(), AGAIN) };
}

function approving() {
  if (card()) return { words: "Read the exact email, then press Approve & send.", label: "Go to the card", go: () => point(card()) };
  if (leaving()) return { words: "It goes out in a few seconds. You can still press Undo." };
  return { words: "Nothing is waiting for you right now. Ask again to get a new card.", label: "Type it for me", go: () => ask(MAIL) };
}

function goTo(channel) {
  store.channel = channel.id;
  show("slack");
}

function write(channel, words) {
  if (channel) goTo(channel);
  setTimeout(() => fill(words));
}

const first = () => store.slack.channels.find((one) => one.name === store.facts.channel);

export function ask(words) {
  write(first(), words);
}

// Puts words and a file into the box, where they are asked.
export function drop(words, file) {
  if (first()) goTo(first());
  setTimeout(() => dropFile(words, file));
}

export function point(message) {
  const place = message && store.slack.channels.find((one) => one.id === message.channel);
  if (!place) return;
  goTo(place);
  pointAt(message.ts);
}

function toMail() {
  const found = arrived();
  if (found) lookInto(found.account, found.folder, found.mail.id);
  else lookInto(store.facts.recipient);
}
