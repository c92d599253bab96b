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
  { title: "Ask on Discord", is: () => Boolean(link()) || connected() || stood(), now: asking },
  { title: "Connect", is: () => connected() || stood(), now: connecting },
  { title: "Approve on Discord", is: decided, now: approving },
];

const isVisitor = () => user(here.me).name === store.facts.me;
const visitor = () => here.guild.users.find((one) => one.name === store.facts.me).global_name;
const back = () => become(store.facts.me);

function asking() {
  if (question()) return { words: "Nod knows two people called Bo here. Pick the one you mean.", label: "Go to the question", go: () => point(question()) };
  return { words: `Send “${MAIL}” in the Discord window.`, label: "Type it for me", go: () => ask(MAIL) };
}

function connecting() {
  if (!isVisitor()) return { words: `Nod has something for ${visitor()}. Switch back to see it.`, label: `Switch to ${visitor()}`, go: back };
  if (link()) return { words: `Press the button in Nod's direct message. First confirm on Discord that you're ${visitor()}, then press Allow for ${me().email}.`, label: "Go to the message", go: () => point(link()) };
  return { words: "Ask for a new link.", label: "Type it for me", go: () => ask("/connect ") };
}

function approving() {
  if (card()) return { words: "Read the exact email, then press Approve & send.", label: "Go to the card", go: () => point(card()) };
  if (!isVisitor()) return { words: `Only ${visitor()} can decide this card.`, label: `Switch to ${visitor()}`, go: back };
  return { words: "Nothing is waiting for you on Discord right now. Ask again there.", label: "Type it for me", go: () => ask(MAIL) };
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
