// One message, or one whisper, as its reader sees it.

import * as api from "./api.js";
import { avatar } from "./avatar.js";
import { blocks } from "./blocks.js";
import { messageMenu } from "./message_menu.js";
import { el, fullTime, isBusy, setBusy, time } from "./dom.js";
import { mrkdwn } from "./mrkdwn.js";
import { bot, me, nameOf, store } from "./store.js";
import { open } from "./threads.js";
import { toast } from "./toast.js";

// How long a pressed button stays grey when nothing comes of it.
const PRESSED = 4000;

export function messageNode(message) {
  const date = new Date(Number(message.ts) * 1000);
  const author = message.user && !message.whisper ? message.user : bot();
  const isBot = author === bot();
  const whispered = message.whisper ? el("p", { class: "whisper-note" }, "Only visible to you") : null;
  const edited = message.edited && !isBot ? el("small", { class: "edited" }, "(edited)") : null;
  return el(
    "article",
    { class: message.whisper ? "message whisper" : "message", "data-ts": message.ts },
    avatar(author),
    message.whisper ? null : el("div", { class: "tools" }, message.opens ? reply(message) : null, messageMenu(message)),
    el(
      "div",
      { class: "message-main" },
      whispered,
      el(
        "div",
        { class: "byline" },
        el("strong", {}, nameOf(author)),
        isBot ? el("span", { class: "app-tag" }, "APP") : null,
        el("time", { datetime: date.toISOString(), title: fullTime(date, me()?.tz) }, time(date, me()?.tz)),
      ),
      el("div", { class: "content" }, content(message), edited, ...(message.files ?? []).map(file)),
    ),
  );
}

const reply = ({ ts }) =>
  el("button", { type: "button", class: "tool", title: "Reply in thread", "data-thread": ts, "data-action": "reply", onclick: () => open(ts) }, "Reply");

function content(message) {
  if (message.blocks?.length) return blocks(message.blocks, (element, isLink, node) => press(message, element, isLink, node));
  return el("div", { class: "rich" }, mrkdwn(message.text ?? ""));
}

function file({ name, title = name, preview }) {
  if (!preview) return el("p", { class: "file" }, `📄 ${title}`);
  return el("details", { class: "file" }, el("summary", {}, `📄 ${title}`), el("pre", {}, preview));
}

async function press(message, element, isLink, node) {
  if (store.away && !isLink) return toast("Nod is stopped right now. Press again in a few seconds.");
  if (isBusy(node)) return;
  setBusy(node, true);
  setTimeout(() => setBusy(node, false), PRESSED);
  store.pressed = Date.now();
  try {
    await api.press(store.me, message.channel, message.ts, element);
  } catch (error) {
    setBusy(node, false);
    // A link has opened all the same.
    if (!isLink) toast(error.message);
  }
}
