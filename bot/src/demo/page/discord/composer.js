// Where one writes in Discord. A slash opens the list of commands; one that was chosen asks for its options.

import { box } from "../message_box.js";
import { QUESTION } from "../documents_tour.js";
import { el } from "../dom.js";
import { commandForm } from "./command.js";
import * as door from "./actions.js";
import { here, isDirect, nameOf, place, titleOf } from "./guild.js";
import { suggestions } from "./autocomplete.js";

// Commands of this type are typed.
const CHAT = 1;
const IDEAS = ["@nod tell Bo I'm late", "@nod what's new in my email?", "@nod what's on my calendar tomorrow?", QUESTION, "/task ", "/help"];

let parts = null;

export function buildComposer() {
  const suggest = suggestions();
  const button = el("button", { class: "send", type: "submit", "aria-label": "Send" }, "➤");
  const made = box({ id: "discord-text", label: "Message in Discord", button, send });
  made.text.rows = 1;
  const command = el("div", { class: "given", hidden: true });
  const reply = el("button", { type: "button", class: "chip", hidden: true, onclick: () => answer(null) });
  parts = { ...made, list: suggest, command, reply, to: null, place: null };
  made.text.addEventListener("input", typed);
  made.text.addEventListener("blur", () => suggest.hide());
  // Before the box hears of Enter.
  made.text.addEventListener("keydown", (event) => suggest.key(event) && event.stopImmediatePropagation(), { capture: true });
  return el("div", { class: "composer" }, made.chips, suggest.node, reply, made.form, command, made.error);
}

export function renderComposer() {
  const one = place();
  if (parts.place === `${here.me}/${one.id}`) return;
  parts.place = `${here.me}/${one.id}`;
  leave();
  answer(null);
  parts.text.placeholder = `Message ${isDirect(one) ? "@Nod" : titleOf(one)}`;
  parts.suggest(IDEAS.map((idea) => (isDirect(one) ? idea.replace("@nod ", "") : idea)));
  parts.say("");
}

// What is sent next replies to this message, if any.
export function answer(message) {
  if (message) leave(true);
  parts.to = message?.id ?? null;
  parts.reply.hidden = !message;
  parts.reply.textContent = message ? `Replying to ${nameOf(message.user)} ✕` : "";
}

// Puts words into the box, ready to be sent.
export function fill(words) {
  leave();
  parts.fill(words);
}

// The same with a file.
export function drop(words, file) {
  parts.attach(file);
  fill(words);
}

const commands = () => here.guild.commands.filter((one) => one.type === CHAT);

// `/mem` lists what begins so; `/memory forget:` is the command itself, with the option that is named.
function typed() {
  const words = parts.text.value;
  const [, name, option] = /^\/(\S+)\s(?:(\w+):)?/.exec(words) ?? [];
  const meant = commands().find((one) => one.name === name);
  if (meant) return enter(meant, option);
  if (!/^\/\S*$/.test(words)) return parts.list.hide();
  const fitting = commands().filter((one) => one.name.startsWith(words.slice(1)));
  parts.list.show(fitting.map((one) => ({ ...one, name: `/${one.name}`, about: one.description, command: one })), ({ command }) => enter(command));
}

function enter(command, option) {
  const made = commandForm(command, parts.list, { leave: () => leave(true), sent: () => leave(true), refused: parts.say });
  parts.text.value = "";
  parts.say("");
  parts.command.replaceChildren(made.node);
  parts.command.hidden = false;
  parts.form.hidden = true;
  (made.input(option) ?? made).focus();
}

function leave(focus) {
  parts.command.replaceChildren();
  parts.command.hidden = true;
  parts.form.hidden = false;
  parts.list.hide();
  parts.say("");
  if (focus) parts.text.focus();
}

async function send(words, file) {
  const meant = commands().find((one) => words.trim() === `/${one.name}`);
  if (meant && !file) return enter(meant);
  if (words.startsWith("/")) throw new Error("That command doesn't exist. Type / to see all of them.");
  await door.say(words, file, parts.to ?? undefined);
  answer(null);
}
