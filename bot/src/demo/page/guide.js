// "Try this": four steps, each ticked off by what really happened; after them, what else there is.

import { pointAt } from "./chat.js";
import { fill } from "./composer.js";
import { el } from "./dom.js";
import { lookInto, openedMail } from "./mail.js";
import { bot, changed, line, newIn, store } from "./store.js";

const done = new Set();
let shown = "";

const STEPS = [
  { title: "Ask", words: "Write “@nod tell Bo I'm late” and send it.", label: "Write it for me", go: () => ask(), is: asked },
  { title: "Connect", words: "Nod writes you directly. Follow its button: Continue, Allow.", label: "To the message", go: toLine, is: connected },
  { title: "Approve", words: "Read the exact mail on the card, then press Approve & send.", label: "To the card", go: toCard, is: approved },
  { title: "See it arrive", words: "Look into Bo's mailbox.", label: "Open the mail", go: toMail, is: seen },
];

export function renderGuide() {
  if (!store.slack) return;
  STEPS.forEach((step, at) => step.is() && done.add(at));
  // What comes later cannot have happened without what comes before.
  const last = Math.max(-1, ...done);
  const now = last + 1;
  const signature = `${last}/${store.me}`;
  if (shown === signature) return;
  shown = signature;
  const steps = STEPS.map((step, at) => {
    const state = at <= last ? "done" : at === now ? "now" : "later";
    const mark = el("span", { class: "mark", "aria-hidden": "true" }, state === "done" ? "✓" : at + 1);
    const words = state === "now" ? el("span", { class: "words" }, step.words) : null;
    const button = state === "now" ? el("button", { type: "button", class: "button", onclick: step.go }, step.label) : null;
    const said = state === "done" ? el("span", { class: "unseen" }, " (done)") : null;
    const current = state === "now" ? "step" : undefined;
    return el("li", { class: state, "aria-current": current }, mark, el("strong", {}, step.title, said), words, button);
  });
  const rest = now === STEPS.length ? more() : null;
  document.getElementById("guide").replaceChildren(el("h2", {}, "Try this"), el("ol", {}, steps), ...(rest ? [rest] : []));
}

const MORE = [
  ["Edit", "@nod tell Bo I'm late", "press Edit on the card and change what will be sent"],
  ["Undo", "@nod tell Bo I'm late", "approve it, and press Undo within ten seconds"],
  ["Three at once", "@nod tell Bo, Cho and Dana each that lunch is at one", "approve all, or untick some"],
  ["Let one expire", "@nod tell Cho I'm late", "do nothing: in this demo a request waits five minutes, with a reminder after three"],
  ["A draft", "@nod draft a mail to Bo about the launch", "then write “make it shorter” and “send it” in its thread"],
];

// After the first way: one line for each thing to try, and the words are written for whoever wants them.
function more() {
  const write = (words) => (event) => {
    event.target.closest("details").open = false;
    ask(words);
  };
  const line = ([title, words, then]) =>
    el("li", { class: "now" }, el("strong", {}, title),
      el("span", { class: "words" }, `“${words}”: ${then}.`),
      el("button", { type: "button", class: "button", onclick: write(words) }, "Write it for me"));
  return el("details", { open: true }, el("summary", {}, "That was the whole way. More to try"), el("ol", {}, MORE.map(line)));
}

const all = () => store.slack.channels.flatMap((one) => one.messages);
const ofBot = (message) => message.user === bot();
const buttons = (message) =>
  (message.blocks ?? []).flatMap((block) => [...(block.elements ?? []), block.accessory ?? {}]).filter((one) => one.type === "button");
const waits = (message) => ofBot(message) && buttons(message).some((one) => one.action_id === "approve");

// Anything said to Nod since the page was opened.
function asked() {
  const since = performance.timeOrigin / 1000 - 1;
  const toNod = (message) => message.text.includes(`<@${bot()}>`) || message.channel === line()?.id;
  const mine = (message) => message.user === store.me && Number(message.ts) > since && toNod(message);
  return all().some(mine);
}

function connected() {
  const inLine = (line()?.messages ?? []).filter(ofBot);
  return all().some(waits) || inLine.some((message) => message.text.startsWith("✓"));
}

const arrived = () => store.accounts.find((one) => newIn(one.email) > 0);

function approved() {
  return [...store.boxes.values()].some((box) => box.sent.length > 0);
}

function seen() {
  const open = openedMail();
  if (!open || !approved()) return false;
  const inbox = store.boxes.get(open.account)?.inbox ?? [];
  const sent = [...store.boxes.values()].flatMap((box) => box.sent.map((mail) => mail.message_id));
  return inbox.some((mail) => mail.id === open.id && sent.includes(mail.message_id));
}

function goTo(channel, view = "slack") {
  document.body.dataset.view = view;
  store.channel = channel.id;
  changed();
}

function ask(words = "@nod tell Bo I'm late") {
  const room = store.slack.channels.find((one) => one.name === store.facts.channel);
  if (room) goTo(room);
  setTimeout(() => fill(words));
}

function toLine() {
  const direct = line();
  if (!direct) return;
  goTo(direct);
  const latest = direct.messages.filter((message) => ofBot(message) && buttons(message).length).at(-1);
  if (latest) pointAt(latest.ts);
}

function toCard() {
  const card = all().filter(waits).sort((a, b) => Number(a.ts) - Number(b.ts)).at(-1);
  if (!card) return;
  goTo(store.slack.channels.find((one) => one.id === card.channel));
  pointAt(card.ts);
}

function toMail() {
  const account = arrived()?.email ?? store.facts.recipient;
  const newest = [...(store.boxes.get(account)?.inbox ?? [])].sort((a, b) => new Date(b.at) - new Date(a.at))[0];
  lookInto(account, "inbox", newest?.id);
}
