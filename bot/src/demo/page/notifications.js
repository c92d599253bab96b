// Tells once of what happens where the visitor does not look.

import * as discord from "./discord/guild.js";
import { pointAt as pointInDiscord } from "./discord/channel.js";
import { hasLooked } from "./calendar.js";
import { lookInto, lookIntoCalendar, openedCalendar, openedMail } from "./mail.js";
import { bot, changed, isDirect, isNew, store } from "./store.js";
import { goTo } from "./thread.js";
import { dismiss, toast } from "./toast.js";
import { isShown, show } from "./windows.js";

const told = new Set();

export function tell() {
  tellOf("slack", "Slack", workspace(), store.channel, goTo);
  tellOf("discord", "Discord", server(), discord.here.place, goInDiscord);
  tellOfMail();
  tellOfInvitations();
}

// What Nod said in each place since this person looked, as one reads it.
const workspace = () =>
  store.slack.channels.map((one) => ({
    id: one.id,
    name: isDirect(one) ? null : `#${one.name}`,
    said: one.messages.filter((m) => m.user === bot() && Number(m.ts) * 1000 > store.since).map((m) => m.ts),
  }));

const server = () =>
  discord.here.guild.channels.map((one) => ({
    id: one.id,
    // A thread shows under the message that it hangs on.
    around: one.parent,
    name: discord.isDirect(one) ? null : one.parent ? `the thread “${one.name}”` : `#${one.name}`,
    said: one.messages.filter((m) => m.by_bot && Date.parse(m.at) > store.since).map((m) => m.id),
  }));

function goInDiscord(place, id) {
  discord.goTo(place);
  pointInDiscord(id);
}

function tellOf(view, where, places, current, go) {
  if (isShown(view)) dismiss(current);
  for (const { id, around, name, said } of places) {
    const fresh = said.filter((key) => !told.has(`${id}/${key}`));
    fresh.forEach((key) => told.add(`${id}/${key}`));
    if (!fresh.length || ([id, around].includes(current) && isShown(view))) continue;
    const follow = () => {
      show(view);
      go(id, fresh.at(-1));
      changed();
    };
    const words = name ? `Nod posted in ${name} on ${where}.` : `Nod sent you a direct message on ${where}.`;
    toast(words, { label: "Open", follow, place: id });
  }
}

function tellOfMail() {
  const open = openedMail();
  if (open) dismiss(open.account);
  for (const [account, box] of store.boxes) {
    for (const mail of box.inbox) {
      if (told.has(mail.id) || !isNew(mail)) continue;
      told.add(mail.id);
      const name = store.accounts.find((one) => one.email === account)?.name ?? account;
      const follow = () => lookInto(account, "inbox", mail.id);
      toast(`New email for ${name}: ${mail.subject}`, { label: "Open", follow, place: account });
    }
  }
}

const CALENDAR = { invited: "Invitation for", updated: "Updated invitation for", cancelled: "Cancelled event for" };

// What Calendar wrote to guests.
function tellOfInvitations() {
  if (openedCalendar()) dismiss(`calendar/${openedCalendar()}`);
  for (const { account, name, invitations } of store.calendars.values()) {
    for (const letter of invitations) {
      const id = `${account}/${letter.event}/${letter.at}`;
      const words = CALENDAR[letter.news];
      if (!words || told.has(id) || Date.parse(letter.at) < performance.timeOrigin) continue;
      told.add(id);
      if (openedCalendar() === account && hasLooked(account, letter.event)) continue;
      const follow = () => lookIntoCalendar(account, letter.event);
      toast(`${words} ${name}: ${letter.title}`, { label: "Open", follow, place: `calendar/${account}` });
    }
  }
}
