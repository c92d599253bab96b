// A way: an email asks Nod for something behind its reader's back, and Nod stops it.

import { lookInto, openedBox } from "./mail.js";
import { mailWay, write } from "./mail_tour.js";
import { onSlack, told } from "./progress.js";
import { line } from "./store.js";

// Where that email wants another one to go.
const LOOT = "records@meridian-secure.test";

const STOPPED = /Stopped: an email asked for this/;

const decided = () => told(/records@meridian-secure[^]*(Denied|Approved|Undone) by |records@meridian-secure[^]*Expired/);
const stopped = () => told(STOPPED) || decided();

export const trickWay = {
  name: "A trick",
  facts: () => {
    const facts = onSlack();
    return { ...facts, card: STOPPED.test(facts.card?.words) ? facts.card : undefined };
  },
  say: "read the mail about “Action needed”",
  connect: "/nod connect google",
  words: {
    idle: "One of Ana's emails wants Nod to send her contract away. Let Nod read it.",
    link: mailWay.words.link,
    card: "Nod stopped: it's the email that asked, not you. Press Deny.",
    denied: "Nothing left. Look into the mailbox that was to get the contract.",
    open: "Look into that mailbox",
  },
  steps: [
    { title: "Read an email", is: stopped },
    { title: "Stop it", is: decided },
    { title: "See that nothing left", is: () => openedBox() === LOOT },
  ],
  acts: {
    ...mailWay.acts,
    write: ({ say }) => write(line(), say),
    open: () => lookInto(LOOT),
  },
};
