// Puts the page together.

import { wasBegunAnew } from "./reload.js";
import * as api from "./api.js";
import { renderChannel } from "./channel.js";
import { renderHome } from "./home.js";
import { renderComposer } from "./composer.js";
import { guild } from "./discord/actions.js";
import { el } from "./dom.js";
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
import { goTo, openAnswered, renderThread } from "./thread.js";
import { toast } from "./toast.js";
import { recall } from "./unread.js";
import { renderViews, watchViews } from "./windows.js";

let ready = false;
const PROMISE = "You see exactly what will be sent, it's sent once, and only when you approve it.";
const AWAY = "Nod is stopped for a few seconds. What you write waits for it, but a button you press now won't reach it.";
const ANEW =
  "The demo was restarted, so what was here is gone. A real Nod keeps everything, even what's waiting for you.";

function render() {
  if (!ready) return;
  renderBanner();
  const isCovered = renderHome();
  openAnswered();
  renderChannel(isCovered);
  renderThread(isCovered);
  renderSidebar();
  renderComposer();
  renderDiscord();
  renderMail();
  renderGuide();
  renderModal();
  renderViews();
  tell();
}

// One line, whatever it says: what is below must not move.
function renderBanner() {
  const banner = document.getElementById("banner");
  const status = document.getElementById("status");
  if (store.lost) status.textContent = `${store.lost} Trying again…`;
  else if (store.away) status.textContent = AWAY;
  else status.replaceChildren(el("strong", {}, PROMISE));
  document.getElementById("real-open").hidden = Boolean(store.lost) || store.away;
  document.querySelector("#real p").textContent = whatIsReal();
  banner.classList.toggle("lost", Boolean(store.lost));
  banner.classList.toggle("away", store.away);
  // What nobody hears cannot be pressed.
  document.querySelector("main").inert = Boolean(store.lost);
}

function whatIsReal() {
  const model = store.facts.model
    ? `The model is ${store.facts.model}, from your environment. Unless it runs here, what it reads leaves this machine. `
    : "A small rule-based model answers here, so it only understands simple sentences. ";
  return `Nod itself is the real thing. Slack, Discord and Google are simulated on this machine. ${model}`;
}

// Opens what a link leads to: a message, an event, or a mail; where that is not there any more, the mailbox.
function playedLink() {
  const message = askedMessage();
  if (message) goTo(message.channel, message.ts);
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
  document.getElementById("status").textContent = `${error.message} Reload the page to try again.`;
  document.getElementById("banner").classList.add("lost");
});
