// The third way: the first one on Discord, which tells no addresses.

import { me, store } from "../store.js";
import { show } from "../windows.js";
import { drop as dropFile, fill } from "./composer.js";
import { goTo, here, rooms, user } from "./guild.js";
import { card, connected, decided, link, question, stood } from "./progress.js";
import { pointAt } from "./channel.js";
import { become } from "./window.js";

const MAIL = "@nod tell Bo I'm late";

export const STEPS = [
  { title: "Ask there", is: () => Boolean(link()) || connected() || stood(), now: asking },
  { title: "Connect", is: () => connected() || stood(), now: connecting },
  { title: "Approve there", is: decided, now: approving },
];

const isVisitor = () => user(here.me).name === store.facts.me;
const visitor = () => here.guild.users.find((one) => one.name === store.facts.me).global_name;
const back = () => become(store.facts.me);

function asking() {
  if (question()) return { words: "Discord tells no address of Bo's, and Slack knows a Bo as well: say whether you mean him.", label: "To the question", go: () => point(question()) };
  return { words: `Write “${MAIL}” in the Discord window.`, label: "Write it for me", go: () => ask(MAIL) };
}

function connecting() {
  if (!isVisitor()) return { words: `Nod has news for ${visitor()}: look through those eyes again.`, label: `Become ${visitor()}`, go: back };
  if (link()) return { words: `Follow the button in Nod's direct message. Discord tells nobody's address, so first say there that you are ${visitor()}; then Allow for ${me().email}.`, label: "To the message", go: () => point(link()) };
  return { words: "Ask for another link.", label: "Write it for me", go: () => ask("/connect ") };
}

function approving() {
  if (card()) return { words: "Read the exact mail on the card, and press Approve & send.", label: "To the card", go: () => point(card()) };
  if (!isVisitor()) return { words: `The card is ${visitor()}'s to decide.`, label: `Become ${visitor()}`, go: back };
  return { words: "No card waits for you on Discord now. Ask once more there.", label: "Write it for me", go: () => ask(MAIL) };
}

function toRoom() {
  show("discord");
  goTo(rooms().find((one) => one.name === store.facts.channel).id);
}

// Writes words into Discord's box.
export function ask(words) {
  toRoom();
  setTimeout(() => fill(words));
}

// The same with a file.
export function drop(words, file) {
  toRoom();
  setTimeout(() => dropFile(words, file));
}

export function point(message) {
  show("discord");
  goTo(message.channel);
  pointAt(message.id);
}
