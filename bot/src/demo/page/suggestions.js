// After the first way: one line for each thing to try. The words are written for whoever wants them, and what the
// state shows to have been tried is ticked.

import * as api from "./api.js";
import { commanded, told as toldOnDiscord } from "./discord/progress.js";
import { el } from "./dom.js";
import { onSlack, told, words } from "./progress.js";
import { goHome, goToNod } from "./home.js";
import { ask, goToChannel, MAIL } from "./mail_tour.js";
import { FIND } from "./meeting_tour.js";
import { readNod } from "./polling.js";
import { store } from "./store.js";
import { toast } from "./toast.js";
import { show } from "./windows.js";

// How often it is looked at whether Nod was killed, in milliseconds.
const LOOK = 500;

export const MORE = [
  {
    title: "Restart Nod while a card is waiting",
    about: "and see that the card still works. Only Nod stops; it comes back with the same database, and " +
      "Slack, Discord and Google keep running.",
    label: "Restart Nod",
    go: stop,
    is: () => store.stops > 0,
  },
  {
    title: "Kill Nod while it sends",
    about: "Press this, then approve an email. Once Gmail has sent it, Nod's part is dropped before it hears back. It comes " +
      "back, looks, and says what happened; the email went out once.",
    label: "Arm it",
    go: kill,
    is: () => store.kills > 0,
  },
  { title: "Edit before you send", say: MAIL, then: "press Edit and change what will be sent", is: () => told(/ · edited/) },
  { title: "Undo", say: MAIL, then: "approve it, then press Undo within ten seconds", is: () => told(/Undone by /) },
  { title: "Deny with a reason", say: "@nod tell Dana I'm late", then: "press Deny and say why", is: () => told(/Denied by [^"]*\(.+\)/) },
  { title: "Three at once", say: "@nod tell Bo, Cho and Dana each that lunch is at one", then: "approve all, or untick some", is: () => told(/\d (emails|requests)( to approve)?"/) },
  { title: "Let one expire", say: "@nod tell Cho I'm late", then: "do nothing. Here a request expires after five minutes, with a reminder after three", is: () => told(/Expired without an answer/) },
  { title: "A draft", say: "@nod draft an email to Dana about the launch check", then: "it says what Bo wrote in #launch. Then reply “make it shorter” and “send it” in the thread", is: () => told(/"Draft"/) },
  { title: "Private email in a channel", say: "@nod what's new in my email?", then: "only you see the answer", is: () => told(/(Answered|Showed|Asked) [^"]* privately\./) },
  { title: "Tidy up from the answer", say: "@nod what's new in my email?", then: "then, in your direct messages, press Archive beside an email, and Undo", is: () => told(/Archived · /) },
  { title: "An attachment", say: "@nod forward the mail about the offer to Bo", then: "the file goes along, and the card names it", is: () => told(/Attached/) },
  {
    title: "A task in a channel",
    say: "@nod compare the three caterers in my mail, ask me for the date, then write to the best one",
    then: "everybody sees how far it is, and only you what it read and asks",
    is: () => told(/Asked [^"]* privately\./) && told(/'s task ·/),
  },
  { title: "A label", say: "@nod label the mail from Cho as Launch", then: "nobody else sees that, so it's done at once, unless Nod has read an email since you last spoke", is: () => told(/Labelled |What happens[^]*Launch/) },
  { title: "Two people", say: "@nod tell signing@contracts.northwind.test that the contract is signed", then: "the company's rules want Bob Reyes too. Approve, then switch to Bob (top left) and look into his direct messages", is: () => told(/waiting for .*Bob Reyes|now it needs you/) },
  { title: "Someone else's button", say: MAIL, then: "then switch to Bo (top left) and press Approve", is: pressedByOthers },
  { title: "Move a meeting", say: "@nod move Friday's review to next Thursday at 15:00", then: "Nod asks which day you mean if that isn't clear. Guests only hear about it once you approve", is: () => told(/Event updated/) },
  { title: "A meeting on Discord", on: "discord", say: FIND, then: "Nod asks Bo here, who has linked both chats, and Cho in Slack, where it knows her", is: () => toldOnDiscord(/When works for you\?/) },
  { title: "A command on Discord", on: "discord", say: "/memory ", then: "then send it. Typing “/” shows every command", is: () => commanded() },
  {
    title: "Nod in the message menu (Discord)",
    about: "Point at any message, open “⋯” and pick “Ask Nod”.",
    label: "Go to Discord",
    go: () => show("discord"),
    is: () => commanded("Ask Nod"),
  },
  {
    title: "Nod in the message menu (Slack)",
    about: "Point at Bo's message in #launch, open “⋯” and pick “Draft a reply”. The answer comes to your direct messages.",
    label: "Go to #launch",
    go: goToChannel,
    is: () => store.picked,
  },
  {
    title: "Nod's Home in Slack",
    about: "In your direct messages with Nod, open Home: what waits for you, and your accounts.",
    label: "Go to Home",
    go: goHome,
    is: () => Boolean(store.slack.home),
  },
  {
    title: "A chat with Nod in Slack",
    about: "In your direct messages with Nod, press New chat: Nod says what you can ask it.",
    label: "Go to Nod",
    go: goToNod,
    is: () => store.slack.assistant_threads.length > 0,
  },
  { title: "Link Slack and Discord", say: "/nod connect chat", then: "as Cho (top left), then enter the code with “/connect” on Discord. Ana and Bo have done so", is: () => told(/You're linked/) },
  { title: "What nobody wrote down", say: "@nod where can I park?", then: "no page of the handbook says it, so Nod says that it does not know", is: () => told(/I don.t know|do(es)? not say|found nothing/) },
  { title: "An email that tries to trick Nod", say: "@nod read the mail about “Action needed”", then: "the demo's model obeys any email, and Nod stops it: look at the card in your direct messages, and at who asked for what", is: () => told(/Stopped: an email asked for this/) },
  { title: "Remember", say: "@nod remember that the launch is on Friday", then: "then ask “@nod when is the launch?” or type “/nod memory”", is: () => told(/I will remember that/) },
];

// Which of them the state shows, by title.
export const triedNow = () => MORE.filter((one) => one.is()).map((one) => one.title);

let shown = "";

// Over the page, so that nothing below moves when it opens.
export function renderMore(tried, { ask, askOnDiscord }) {
  const signature = [...tried].join("|");
  const over = document.getElementById("more");
  if (over.childElementCount && shown === signature) return;
  shown = signature;
  const entry = ({ title, on, say, then, about, label, go }) => {
    const is = tried.has(title);
    const act = go ?? (() => (on ? askOnDiscord : ask)(say));
    const pressed = () => {
      over.hidePopover();
      act();
    };
    const mark = el("span", { class: "mark", "aria-hidden": "true" }, is ? "✓" : "");
    const name = el("strong", {}, title, is ? el("span", { class: "unseen" }, " (done)") : null);
    const button = el("button", { type: "button", class: "button", onclick: pressed }, label ?? "Type it for me");
    return el("li", { class: is ? "done" : "todo" }, mark, el("p", {}, name, " ", about ?? `“${say.trim()}”: ${then}.`), button);
  };
  over.replaceChildren(el("h2", {}, "More to try"), el("ol", { class: "more" }, MORE.map(entry)));
}

function pressedByOthers() {
  return store.slack.ephemerals.some((whisper) => /Only .* can (decide|undo)/.test(words(whisper)));
}

async function kill() {
  try {
    await api.kill();
    // Whoever has a card to approve stays with it.
    if (!onSlack({ tasks: true }).card) ask(MAIL);
    await untilKilled(store.kills);
  } catch (error) {
    toast(error.message);
  }
}

// Nothing else tells that it is gone.
async function untilKilled(before) {
  while (store.kills === before) {
    await new Promise((resolve) => setTimeout(resolve, LOOK));
    await readNod();
  }
}

async function stop() {
  try {
    await api.restart();
    await readNod();
  } catch (error) {
    toast(error.message);
  }
}
