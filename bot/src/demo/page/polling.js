// Hears what changes, by long polls: one of the workspace, one of the Discord server, one of mail and calendars.
// A hidden page asks for nothing, and catches up when it is looked at again.

import * as api from "./api.js";
import { noteEvents } from "./calendar.js";
import { guild, guildNews } from "./discord/actions.js";
import { here } from "./discord/guild.js";
import { changed, store } from "./store.js";

const PAUSE = 1500;
const AWAY = 400;

export async function readWorkspace() {
  const wanted = store.me;
  const seen = await api.workspace(wanted);
  if (wanted === store.me) store.slack = seen;
  changed();
}

export async function readGuild() {
  const wanted = here.me;
  const seen = await guild(wanted);
  if (wanted === here.me) here.guild = seen;
  changed();
}

export async function readGoogle() {
  const all = (read) => Promise.all(store.accounts.map((one) => read(one.email)));
  const [boxes, calendars] = await Promise.all([all(api.mailbox), all(api.calendar)]);
  for (const box of boxes) store.boxes.set(box.account, box);
  for (const calendar of calendars) {
    store.calendars.set(calendar.account, calendar);
    noteEvents(calendar);
  }
  changed();
}

// Nod is asked after often only while it is away; for the rest of the time its messages show that it is there.
export async function readNod() {
  const { up, stops, kills } = await api.nod();
  const is = !up && stops + kills > 0;
  if (is !== store.away || stops !== store.stops || kills !== store.kills) {
    Object.assign(store, { away: is, stops, kills });
    changed();
  }
  if (is) setTimeout(askAgain, AWAY);
}

// One answer that does not come is no reason to believe for ever that Nod is away.
function askAgain() {
  readNod().catch(() => setTimeout(askAgain, PAUSE));
}

export function listen() {
  follow(async (signal, resumed) => {
    // Whoever was away does not wait for news: it may have been another demo's since.
    if (resumed) await Promise.all([readWorkspace(), readNod()]);
    if (resumed) lost(null);
    const news = await api.workspaceNews(store.slack.version, signal);
    if (news.version !== store.slack.version) await readWorkspace();
  });
  follow(async (signal, resumed) => {
    if (resumed) await readGuild();
    if (resumed) lost(null);
    const news = await guildNews(here.guild.version, signal);
    if (news.version !== here.guild.version) await readGuild();
  });
  follow(async (signal, resumed) => {
    if (resumed) await readGoogle();
    if (resumed) lost(null);
    const first = store.accounts[0].email;
    const version = store.boxes.get(first).version;
    const box = await api.mailboxNews(first, version, signal);
    if (box.version !== version) await readGoogle();
  });
}

async function follow(ask) {
  for (let resumed = false; ; ) {
    await visible();
    const poll = new AbortController();
    const hide = () => document.visibilityState === "hidden" && poll.abort();
    document.addEventListener("visibilitychange", hide);
    try {
      await ask(poll.signal, resumed);
      resumed = false;
      lost(null);
    } catch (error) {
      resumed = true;
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
