// Puts the page together.

import { wasBegunAnew } from "./anew.js";
import * as api from "./api.js";
import { pointAt, renderChat } from "./chat.js";
import { renderComposer } from "./composer.js";
import { askedMail, askedMessage } from "./links.js";
import { recallGuide, renderGuide } from "./guide.js";
import { lookInto, openedMail, renderMail } from "./mail.js";
import { renderModal } from "./modal.js";
import { listen, readMail, readNod, readWorkspace } from "./news.js";
import { renderSidebar } from "./sidebar.js";
import { bot, changed, isDirect, isNew, me, onChange, people, recall, store } from "./store.js";
import { dismiss, toast } from "./toast.js";

// Below this many pixels the two windows take turns (see base.css).
const NARROW = 1088;
const AWAY =
  "Nod is away: its own part was stopped, and starts again over the same database in a few seconds. Slack and Gmail " +
  "go on. What you write now waits for it; a button that you press now reaches nobody, as in Slack.";
const ANEW =
  "The demo was started anew: what was here before is gone. A real Nod keeps everything, also what waits for your nod.";
const told = new Set();
let since = performance.timeOrigin;

function render() {
  if (!store.slack || !store.accounts.length) return;
  renderBanner();
  renderChat();
  renderSidebar(switchTo);
  renderComposer();
  renderMail();
  renderGuide();
  renderModal();
  tell();
}

function renderBanner() {
  const model = store.facts.model
    ? `The model is a real one: ${store.facts.model}, as your environment names it; what it is shown leaves this machine unless it runs here. `
    : "The model is a rule-based stand-in (no language model is connected). ";
  const banner = document.getElementById("banner");
  banner.textContent = store.lost
    ? `${store.lost} The page tries again by itself.`
    : `Slack, Gmail and Google here are played by a sandbox on this machine. ${model}` +
      "Nod itself – the adapter, the core, the approvals, the database – is the real one.";
  if (store.away && !store.lost) banner.textContent = AWAY;
  banner.classList.toggle("lost", Boolean(store.lost));
  banner.classList.toggle("away", store.away);
  // What nobody hears cannot be pressed.
  document.querySelector("main").inert = Boolean(store.lost);
}

async function switchTo(user) {
  const name = store.slack.channels.find((one) => one.id === store.channel)?.name;
  const direct = isDirect(store.slack.channels.find((one) => one.id === store.channel));
  store.me = user;
  since = Date.now();
  await readWorkspace();
  const same = store.slack.channels.find((one) => (direct ? isDirect(one) : one.name === name));
  store.channel = (same ?? store.slack.channels[0]).id;
  changed();
}

// Tells once of what happens where the visitor does not look.
function tell() {
  if (document.body.dataset.view === "slack" || window.innerWidth > NARROW) dismiss(store.channel);
  for (const one of store.slack.channels) {
    for (const message of one.messages) {
      const is = message.user === bot() && Number(message.ts) * 1000 > since;
      const key = `${store.me}/${message.ts}`;
      if (!is || told.has(key)) continue;
      told.add(key);
      if (one.id === store.channel) continue;
      const go = () => {
        document.body.dataset.view = "slack";
        store.channel = one.id;
        changed();
        pointAt(message.ts);
      };
      toast(isDirect(one) ? "Nod wrote to you directly." : `Nod wrote in #${one.name}.`, {
        label: "Open",
        follow: go,
        place: one.id,
      });
    }
  }
  const open = openedMail();
  if (open) dismiss(open.account);
  for (const [account, box] of store.boxes) {
    for (const mail of box.inbox) {
      if (told.has(mail.id) || !isNew(mail)) continue;
      told.add(mail.id);
      const name = store.accounts.find((one) => one.email === account)?.name ?? account;
      const follow = () => lookInto(account, "inbox", mail.id);
      toast(`New mail for ${name}: ${mail.subject}`, { label: "Read it", follow, place: account });
    }
  }
}

// Opens what a link leads to: a message, or a mail; where that is not there any more, the mailbox.
function playedLink() {
  const message = askedMessage();
  if (message) {
    document.body.dataset.view = "slack";
    store.channel = message.channel;
    changed();
    pointAt(message.ts);
  }
  const mail = askedMail();
  if (!mail) return;
  const account = store.boxes.has(mail.account) ? mail.account : me().email;
  const box = store.boxes.get(account);
  const has = (name) => box[name].some((one) => one.id === mail.id);
  const named = ["sent", "drafts"].find((name) => name === mail.folder) ?? "inbox";
  const folder = ["sent", "drafts", "inbox"].find(has);
  lookInto(account, folder ?? named, folder && mail.id);
}

function views() {
  for (const button of document.querySelectorAll("nav.views button")) {
    button.addEventListener("click", () => {
      document.body.dataset.view = button.dataset.view;
      changed();
    });
  }
  onChange(() => {
    for (const button of document.querySelectorAll("nav.views button")) {
      button.setAttribute("aria-pressed", String(button.dataset.view === document.body.dataset.view));
    }
  });
  document.addEventListener("visibilitychange", changed);
}

async function start() {
  onChange(render);
  views();
  window.addEventListener("hashchange", playedLink);
  store.facts = await api.facts();
  recall();
  recallGuide();
  if (wasBegunAnew()) toast(ANEW, { stays: true });
  store.slack = await api.workspace();
  store.me = (people().find((one) => one.name === store.facts.me) ?? people()[0]).id;
  store.accounts = await api.accounts();
  await Promise.all([readWorkspace(), readMail(), readNod()]);
  const first = store.slack.channels.find((one) => one.name === store.facts.channel);
  store.channel = (first ?? store.slack.channels[0]).id;
  playedLink();
  changed();
  listen();
}

start().catch((error) => {
  const banner = document.getElementById("banner");
  banner.textContent = `${error.message} Reload the page to try again.`;
  banner.classList.add("lost");
});
