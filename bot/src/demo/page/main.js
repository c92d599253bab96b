// Puts the page together.

import { wasBegunAnew } from "./reload.js";
import * as api from "./api.js";
import { pointAt, renderChat } from "./chat.js";
import { renderComposer } from "./composer.js";
import { guild } from "./discord/actions.js";
import { here, rooms } from "./discord/guild.js";
import { renderDiscord } from "./discord/window.js";
import { askedEvent, askedMail, askedMessage } from "./links.js";
import { recallGuide, renderGuide } from "./guide.js";
import { lookInto, lookIntoCalendar, renderMail } from "./mail.js";
import { renderModal } from "./modal.js";
import { listen, readGuild, readGoogle, readNod, readWorkspace } from "./polling.js";
import { renderSidebar } from "./sidebar.js";
import { changed, me, onChange, people, store } from "./store.js";
import { tell } from "./notifications.js";
import { toast } from "./toast.js";
import { recall } from "./unread.js";
import { renderViews, show, watchViews } from "./windows.js";

let ready = false;
const AWAY =
  "Nod is stopped and will be back in a few seconds, with the same database. Slack, Discord " +
  "and Google keep running. What you write now waits for Nod; a button you press now won't reach it.";
const ANEW =
  "The demo was restarted, so what was here is gone. A real Nod keeps everything, even what's waiting for you.";

function render() {
  if (!ready) return;
  renderBanner();
  renderChat();
  renderSidebar();
  renderComposer();
  renderDiscord();
  renderMail();
  renderGuide();
  renderModal();
  renderViews();
  tell();
}

function renderBanner() {
  const model = store.facts.model
    ? `The model is ${store.facts.model}, from your environment. Unless it runs here, what it reads leaves this machine. `
    : "A small rule-based model answers here, so it only understands simple sentences. ";
  const banner = document.getElementById("banner");
  banner.textContent = store.lost
    ? `${store.lost} Trying again…`
    : `You see exactly what will be sent, it's sent once, and only when you approve it. Slack, Discord and Google are simulated on this machine. ${model}` +
      "Nod itself is the real thing.";
  if (store.away && !store.lost) banner.textContent = AWAY;
  banner.classList.toggle("lost", Boolean(store.lost));
  banner.classList.toggle("away", store.away);
  // What nobody hears cannot be pressed.
  document.querySelector("main").inert = Boolean(store.lost);
}

// Opens what a link leads to: a message, an event, or a mail; where that is not there any more, the mailbox.
function playedLink() {
  const message = askedMessage();
  if (message) {
    store.channel = message.channel;
    show("slack");
    pointAt(message.ts);
  }
  const event = askedEvent();
  if (event) lookIntoCalendar(store.calendars.has(event.account) ? event.account : me().email, event.id);
  const mail = askedMail();
  if (!mail) return;
  const account = store.boxes.has(mail.account) ? mail.account : me().email;
  const box = store.boxes.get(account);
  const has = (name) => box[name].some((one) => one.id === mail.id);
  const named = ["sent", "drafts"].find((name) => name === mail.folder) ?? "inbox";
  const folder = ["sent", "drafts", "inbox"].find(has);
  lookInto(account, folder ?? named, folder && mail.id);
}

async function start() {
  onChange(render);
  watchViews();
  document.addEventListener("visibilitychange", changed);
  window.addEventListener("hashchange", playedLink);
  store.facts = await api.facts();
  recall();
  recallGuide();
  if (wasBegunAnew()) toast(ANEW, { stays: true });
  [store.slack, here.guild] = await Promise.all([api.workspace(), guild()]);
  store.me = (people().find((one) => one.name === store.facts.me) ?? people()[0]).id;
  here.me = here.guild.users.find((one) => one.name === store.facts.me).id;
  store.accounts = await api.accounts();
  await Promise.all([readWorkspace(), readGuild(), readGoogle(), readNod()]);
  const first = store.slack.channels.find((one) => one.name === store.facts.channel);
  store.channel = (first ?? store.slack.channels[0]).id;
  here.place = here.room = (rooms().find((one) => one.name === store.facts.channel) ?? rooms()[0]).id;
  ready = true;
  playedLink();
  changed();
  listen();
}

start().catch((error) => {
  const banner = document.getElementById("banner");
  banner.textContent = `${error.message} Reload the page to try again.`;
  banner.classList.add("lost");
});
