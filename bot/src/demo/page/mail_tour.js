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
  { title: "See it arrive", is: seen, now: () => ({ words: "Look into the mailbox that it went to.", label: "Open the mail", go: toMail }) },
];

function asking() {
  return { words: `Write “${MAIL}” and send it.`, label: "Write it for me", go: () => ask(MAIL) };
}

function connecting() {
  if (link()) return { words: `Nod writes you directly. Follow its button: Continue, then Allow for ${me().email}.`, label: "To the message", go: () => point(link()) };
  const words = failed() ? "Nothing was connected. " : "";
  const again = `${words}Type ${AGAIN} for another link, and choose ${me().email}.`;
  return { words: again, label: "Write it for me", go: () => write(line(), AGAIN) };
}

function approving() {
  if (card()) return { words: "Read the exact mail on the card, then press Approve & send.", label: "To the card", go: () => point(card()) };
  if (leaving()) return { words: "It leaves in a few seconds, unless you press Undo." };
  return { words: "No card waits for you now, and nothing was sent. Ask once more, and approve.", label: "Write it for me", go: () => ask(MAIL) };
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
