// After the first way: one line for each thing to try. The words are written for whoever wants them, and what the
// state shows to have been tried is ticked.

import * as api from "./api.js";
import { commanded, told as toldOnDiscord } from "./discord/progress.js";
import { el } from "./dom.js";
import { told, words } from "./progress.js";
import { FIND } from "./meeting_tour.js";
import { readNod } from "./polling.js";
import { store } from "./store.js";
import { toast } from "./toast.js";
import { show } from "./windows.js";

const MAIL = "@nod tell Bo I'm late";

const MORE = [
  {
    title: "Stop Nod while a card waits",
    about: "and see that the card still works: Nod's own part is stopped and started again over the same database (in " +
      "the same process here; Slack, Discord and Google go on).",
    label: "Stop and start Nod",
    go: stop,
    is: () => store.stops > 0,
  },
  { title: "Edit", say: MAIL, then: "press Edit on the card and change what will be sent", is: () => told(/ · edited/) },
  { title: "Undo", say: MAIL, then: "approve it, and press Undo within ten seconds", is: () => told(/Undone by /) },
  { title: "Deny with a reason", say: "@nod tell Dana I'm late", then: "press Deny, and say why", is: () => told(/Denied by [^"]*\(.+\)/) },
  { title: "Three at once", say: "@nod tell Bo, Cho and Dana each that lunch is at one", then: "approve all, or untick some", is: () => told(/\d (emails|requests)"/) },
  { title: "Let one expire", say: "@nod tell Cho I'm late", then: "do nothing: in this demo a request waits five minutes, with a reminder after three", is: () => told(/Nobody answered in time/) },
  { title: "A draft", say: "@nod draft a mail to Bo about the launch", then: "then write “make it shorter” and “send it” in its thread", is: () => told(/"Draft"/) },
  { title: "Private mail in a channel", say: "@nod what's new in my mail?", then: "in a channel, the answer comes to you alone", is: () => told(/(Answered|Showed|Asked) [^"]* privately\./) },
  { title: "Somebody else's button", say: MAIL, then: "then become Bo (on the left, above the channels) and press Approve", is: pressedByOthers },
  { title: "Move a meeting", say: "@nod move planning to next Thursday at 15:00", then: "Nod asks which Thursday you mean, and its guests hear of it after your nod", is: () => told(/Event changed/) },
  { title: "A meeting on Discord", on: "discord", say: FIND, then: "Bo and Cho are asked where Nod knows them: directly in Slack, unless they are one person in both", is: () => toldOnDiscord(/When suits you\?/) },
  { title: "A command on Discord", on: "discord", say: "/memory ", then: "send it; a bare “/” in Discord's box shows all commands", is: () => commanded() },
  {
    title: "A message's menu on Discord",
    about: "has entries of Nod's: rest on any message there, open “⋯”, and pick “Ask Nod”.",
    label: "To Discord",
    go: () => show("discord"),
    is: () => commanded("Ask Nod"),
  },
  { title: "One person in both", say: "/nod connect chat", then: "and give the code it shows to “/connect” on Discord", is: () => told(/You are one person for me now/) },
  { title: "What nobody wrote down", say: "@nod where can I park?", then: "no page of the handbook says it, so Nod says that it does not know", is: () => told(/I don.t know|do(es)? not say|found nothing/) },
  { title: "Remember", say: "@nod remember that the launch is on Friday", then: "then ask “@nod when is the launch?”, or look at “/nod memory”", is: () => told(/I will remember that/) },
];

// Which of them the state shows, by title.
export const triedNow = () => MORE.filter((one) => one.is()).map((one) => one.title);

export function more(tried, folded, { ask, askOnDiscord, fold }) {
  const close = (then) => (event) => {
    event.target.closest("details").open = false;
    then();
  };
  const entry = ({ title, on, say, then, about, label, go }) => {
    const is = tried.has(title);
    const mark = el("span", { class: "mark", "aria-hidden": "true" }, is ? "✓" : "");
    const name = el("strong", {}, title, is ? el("span", { class: "unseen" }, " (done)") : null);
    const button = el("button", { type: "button", class: "button", onclick: close(go ?? (() => (on ? askOnDiscord : ask)(say))) }, label ?? "Write it for me");
    return el("li", { class: is ? "done" : "todo" }, mark, el("p", {}, name, " ", about ?? `“${say.trim()}”: ${then}.`), button);
  };
  const summary = el("summary", {}, `More to try (${tried.size} of ${MORE.length} tried)`);
  const toggled = (event) => fold(!event.target.open);
  return el("details", { open: !folded, ontoggle: toggled }, summary, el("ol", { class: "more" }, MORE.map(entry)));
}

function pressedByOthers() {
  return store.slack.ephemerals.some((whisper) => /Only .* can (decide|take)/.test(words(whisper)));
}

async function stop() {
  try {
    await api.restart();
    await readNod();
  } catch (error) {
    toast(error.message);
  }
}
