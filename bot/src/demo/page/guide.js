// "Try this": four steps, each ticked off by what really happened, in whatever order it did; after them, what else
// there is. A step says what can be done now, and has a button only where that leads somewhere.

import { keep, kept } from "./anew.js";
import { pointAt } from "./chat.js";
import { fill } from "./composer.js";
import { el } from "./dom.js";
import { approved, arrived, card, connected, failed, leaving, link, seen, stood } from "./look.js";
import { lookInto } from "./mail.js";
import { more, triedNow } from "./more.js";
import { changed, line, me, store } from "./store.js";

const GUIDE = "nod-demo-guide";
const MAIL = "@nod tell Bo I'm late";
const AGAIN = "/nod connect google";
const done = new Set();
const tried = new Set();
let folded = false;
let shown = "";

// Later steps are proof of those before them; only that an account was connected says nothing of a request.
const STEPS = [
  { title: "Ask", is: () => Boolean(link()) || failed() || stood() || approved(), now: asking },
  { title: "Connect", is: () => connected() || stood() || approved(), now: connecting },
  { title: "Approve", is: approved, now: approving },
  { title: "See it arrive", is: seen, now: () => ({ words: "Look into the mailbox that it went to.", label: "Open the mail", go: toMail }) },
];

// What was ticked before a reload, once it is known which start of the demo this is.
export function recallGuide() {
  const before = kept(GUIDE);
  before?.done.forEach((at) => done.add(at));
  before?.tried.forEach((title) => tried.add(title));
  folded = before?.folded ?? false;
}

const remember = () => keep(GUIDE, { done: [...done], tried: [...tried], folded });

export function renderGuide() {
  if (!store.slack) return;
  STEPS.forEach((step, at) => step.is() && done.add(at));
  triedNow().forEach((title) => tried.add(title));
  const now = STEPS.findIndex((_, at) => !done.has(at));
  const next = now < 0 ? null : STEPS[now].now();
  const signature = JSON.stringify([[...done], [...tried], next, now]);
  if (shown === signature) return;
  shown = signature;
  remember();
  const steps = STEPS.map((step, at) => stepNode(step.title, at, done.has(at) ? "done" : at === now ? "now" : "later", next));
  const fold = (is) => {
    folded = is;
    remember();
  };
  const rest = now < 0 ? [more(tried, folded, { ask, fold })] : [];
  document.getElementById("guide").replaceChildren(el("h2", {}, "Try this"), el("ol", {}, steps), ...rest);
}

function stepNode(title, at, state, next) {
  const mark = el("span", { class: "mark", "aria-hidden": "true" }, state === "done" ? "✓" : at + 1);
  const name = el("strong", {}, title, state === "done" ? el("span", { class: "unseen" }, " (done)") : null);
  if (state !== "now") return el("li", { class: state }, mark, name);
  const button = next.go ? el("button", { type: "button", class: "button", onclick: () => next.go() }, next.label) : null;
  return el("li", { class: state, "aria-current": "step" }, mark, name, el("span", { class: "words" }, next.words), button);
}

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

function ask(words) {
  write(store.slack.channels.find((one) => one.name === store.facts.channel), words);
}

function point(message) {
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
