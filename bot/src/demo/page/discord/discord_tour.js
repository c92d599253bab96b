// A way: the first one, on Discord. And how any way acts in the Discord window.

import { openConnect } from "../connect.js";
import { store } from "../store.js";
import { show } from "../windows.js";
import { pointAt } from "./channel.js";
import { drop as dropFile, fill } from "./composer.js";
import { goTo, rooms } from "./guild.js";
import { onDiscord } from "./progress.js";
import { become } from "./window.js";

export const discordWay = {
  name: "Discord",
  facts: onDiscord,
  say: "@nod tell Bo I'm late",
  connect: "/connect ",
  words: {
    where: " in the Discord window",
    link: ({ email }) => `Nod needs your account for that, and sent you a link. Connect it: press Continue, then Allow for ${email}.`,
  },
  steps: [
    { title: "Ask on Discord", is: ({ link, connected, stood }) => Boolean(link) || connected || stood },
    { title: "Connect", is: ({ connected, stood }) => connected || stood },
    { title: "Approve on Discord", is: ({ sent }) => sent },
  ],
  acts: {
    point: ({ note }) => point(note.message),
    connect: ({ note }) => openConnect(note.url) || point(note.message),
    write: ({ say }) => ask(say),
    become: ({ who }) => become(who),
  },
};

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
