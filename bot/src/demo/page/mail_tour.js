// The first way: from a request in Slack to the mail that arrives. And how any way acts in the Slack window.

import { drop as dropFile, fill } from "./composer.js";
import { openConnect } from "./connect.js";
import { lookInto } from "./mail.js";
import { onSlack } from "./progress.js";
import { become } from "./sidebar.js";
import { line, people, store } from "./store.js";
import { goTo } from "./thread.js";

export const MAIL = "@nod tell Bo I'm late";

export const mailWay = {
  name: "Slack",
  facts: onSlack,
  say: MAIL,
  connect: "/nod connect google",
  result: "mail",
  words: {
    link: ({ email }) => `Nod needs your account for that, and sent you a link. Connect it: press Continue, then Allow for ${email}.`,
    arrived: "It's sent. See it arrive in the inbox.",
    open: "Open the email",
  },
  // Later steps are proof of those before them.
  steps: [
    { title: "Ask", is: ({ asked, stood }) => Boolean(asked) || stood },
    { title: "Connect", is: ({ connected, stood }) => connected || stood },
    { title: "Approve", is: ({ sent }) => sent },
    { title: "See it arrive", is: ({ sent, opened }) => sent && opened },
  ],
  acts: {
    point: ({ note }) => point(note.message),
    // Where no window opens, the link in the message is left.
    connect: ({ note }) => openConnect(note.url) || point(note.message),
    write: ({ say }) => (say.startsWith("/") ? write(line(), say) : ask(say)),
    become: ({ who }) => become(people().find((one) => one.name === who).id),
    open: ({ result }) => lookInto(result.account, result.folder, result.id),
  },
};

export function write(channel, words) {
  if (channel) goTo(channel.id);
  setTimeout(() => fill(words));
}

const first = () => store.slack.channels.find((one) => one.name === store.facts.channel);

export const goToChannel = () => goTo(first().id);

export function ask(words) {
  write(first(), words);
}

// Puts words and a file into the box, where they are asked.
export function drop(words, file) {
  if (first()) goTo(first().id);
  setTimeout(() => dropFile(words, file));
}

export function point(message) {
  const place = message && store.slack.channels.find((one) => one.id === message.channel);
  if (place) goTo(place.id, message.ts);
}
