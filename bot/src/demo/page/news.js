// Hears what changes, by long polls: one of the workspace, one of the mail. A hidden page asks for nothing, and
// catches up when it is looked at again.

import * as api from "./api.js";
import { changed, store } from "./store.js";

const PAUSE = 1500;

export async function readWorkspace() {
  const wanted = store.me;
  const seen = await api.workspace(wanted);
  if (wanted === store.me) store.slack = seen;
  changed();
}

export async function readMail() {
  const boxes = await Promise.all(store.accounts.map((one) => api.mailbox(one.email)));
  for (const box of boxes) store.boxes.set(box.account, box);
  changed();
}

export function listen() {
  follow(async (signal) => {
    const news = await api.workspaceNews(store.slack.version, signal);
    if (news.version !== store.slack.version) await readWorkspace();
  });
  follow(async (signal) => {
    const first = store.accounts[0].email;
    const version = store.boxes.get(first).version;
    const box = await api.mailboxNews(first, version, signal);
    if (box.version !== version) await readMail();
  });
}

async function follow(ask) {
  for (;;) {
    await visible();
    const poll = new AbortController();
    const hide = () => document.visibilityState === "hidden" && poll.abort();
    document.addEventListener("visibilitychange", hide);
    try {
      await ask(poll.signal);
      lost(null);
    } catch (error) {
      if (error.name !== "AbortError") {
        lost(error.message);
        await new Promise((resolve) => setTimeout(resolve, PAUSE));
      }
    } finally {
      document.removeEventListener("visibilitychange", hide);
    }
  }
}

function lost(why) {
  if (store.lost === why) return;
  store.lost = why;
  changed();
}

function visible() {
  if (document.visibilityState === "visible") return Promise.resolve();
  return new Promise((resolve) => {
    const look = () => {
      if (document.visibilityState !== "visible") return;
      document.removeEventListener("visibilitychange", look);
      resolve();
    };
    document.addEventListener("visibilitychange", look);
  });
}
