// One message as its reader sees it in Discord, with its menu and the thread that hangs on it.

import { face } from "../avatar.js";
import { el, fullTime, isBusy, setBusy, time } from "../dom.js";
import { store } from "../store.js";
import { toast } from "../toast.js";
import { components } from "./components.js";
import * as door from "./actions.js";
import { bot, byAge, goTo, here, nameOf, place, user, zone } from "./guild.js";
import { markdown } from "./markdown.js";
import { menu } from "./menu.js";

// What Discord adds to the message that answers somebody's command.
const EPHEMERAL = 1 << 6;

export function messageNode(message) {
  const own = JSON.stringify([message.content, message.components]).includes(`<@${here.me}>`);
  const look = ["message", message.only ? "whisper" : "", own && !message.only ? "calls" : "", message.compact ? "compact" : ""];
  return el(
    "article",
    { class: look.join(" "), "data-ts": message.id },
    message.compact ? el("span", { class: "margin" }, clock(message)) : portrait(message.user),
    el("div", { class: "message-main" }, above(message), message.compact ? null : byline(message), content(message), note(message), threadCard(message)),
    message.only || message.thinking ? null : menu(message),
  );
}

export const portrait = (id) => face(user(id)?.name ?? id, nameOf(id), id === bot());

function clock(message) {
  const date = new Date(message.at);
  return el("time", { datetime: date.toISOString(), title: fullTime(date, zone()) }, time(date, zone()));
}

function byline(message) {
  const tag = message.user === bot() ? el("span", { class: "app-tag" }, "APP") : null;
  return el("div", { class: "byline" }, el("strong", {}, nameOf(message.user)), tag, clock(message));
}

const typedName = (name) => (here.guild.commands.some((one) => one.name === name && one.type === 1) ? `/${name}` : name);

// What it answers: a command, or another message.
function above(message) {
  const { command } = message;
  if (command?.name && !message.compact) return el("p", { class: "above" }, el("strong", {}, nameOf(command.user)), " used ", el("code", {}, typedName(command.name)));
  const to = message.reply_to && here.guild.channels.flatMap((one) => one.messages).find((one) => one.id === message.reply_to);
  return to ? el("p", { class: "above" }, el("strong", {}, `@${nameOf(to.user)}`), ` ${excerpt(to)}`) : null;
}

function content(message) {
  if (message.thinking) return el("p", { class: "thinking" }, "Nod is thinking…");
  const act = (id, value, node) => press(message, id, value, node);
  const edited = message.edited && !message.by_bot ? el("small", { class: "edited" }, " (edited)") : null;
  const words = message.content ? el("div", { class: "rich" }, markdown(message.content), edited) : null;
  return el("div", { class: "content" }, words, components(message.components, act), message.attachments.map(file));
}

function file({ filename, preview }) {
  if (!preview) return el("p", { class: "file" }, `📄 ${filename}`);
  return el("details", { class: "file" }, el("summary", {}, `📄 ${filename}`), el("pre", {}, preview));
}

async function press(message, id, value, node) {
  if (store.away) return toast("Nod is stopped right now. Press again in a few seconds.");
  if (isBusy(node)) return;
  store.pressed = Date.now();
  setBusy(node, true);
  node.closest(".message").querySelector(".failed")?.remove();
  try {
    await door.press(message.id, id, value);
  } catch (error) {
    node.closest(".message-main")?.append(el("p", { class: "failed", role: "alert" }, error.message));
  } finally {
    setBusy(node, false);
  }
}

const dismissed = new Set();
export const isDismissed = (message) => dismissed.has(message.id);

function note(message) {
  if (!message.only && !(message.flags & EPHEMERAL)) return null;
  const dismiss = () => {
    dismissed.add(message.id);
    goTo(here.place);
  };
  return el("p", { class: "whisper-note" }, "Only you can see this · ", el("button", { type: "button", onclick: dismiss }, "Dismiss message"));
}

const excerpt = (message) => message.shown.replace(/\s+/g, " ").slice(0, 80);

function threadCard(message) {
  const thread = place(message.id);
  if (!thread || here.place === thread.id) return null;
  const last = [...thread.messages].sort(byAge).at(-1);
  const count = thread.messages.length;
  return el(
    "button",
    { type: "button", class: "thread-card", onclick: () => goTo(thread.id) },
    el("strong", {}, thread.name),
    el("span", { class: "count" }, `${count} message${count === 1 ? "" : "s"} ›`),
    last ? el("span", { class: "last" }, portrait(last.user), el("strong", {}, nameOf(last.user)), ` ${excerpt(last)}`) : null,
  );
}
