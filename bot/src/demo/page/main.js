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
  "Nod is away: its own part was stopped, and starts again over the same database in a few seconds. Slack, Discord " +
  "and Google go on. What you write now waits for it; a button that you press now reaches nobody, as in life.";
const ANEW =
  "The demo was started anew: what was here before is gone. A real Nod keeps everything, also what waits for your nod.";

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
    ? `The model is a real one: ${store.facts.model}, as your environment names it; what it is shown leaves this machine unless it runs here. `
    : "The model is a rule-based stand-in (no language model is connected). ";
  const banner = document.getElementById("banner");
  banner.textContent = store.lost
    ? `${store.lost} The page tries again by itself.`
    : `Slack, Discord and Google (Gmail and Calendar) here are played by a sandbox on this machine. ${model}` +
      "Nod itself – the adapters, the core, the approvals, the database – is the real one.";
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
