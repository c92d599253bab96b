// What the way of a document needs of the Discord window.

import * as api from "../api.js";
import { store } from "../store.js";
import { toast } from "../toast.js";
import { ask, drop, point } from "./discord_tour.js";
import { byAge, here, user } from "./guild.js";
import { buttons } from "./progress.js";
import { become } from "./window.js";

const all = () => here.guild.channels.flatMap((one) => one.messages);

const seen = (message) => ({
  message,
  order: BigInt(message.id),
  words: message.shown,
  buttons: buttons(message.components).map((one) => ({ action: one.custom_id ?? "", label: one.label ?? "" })),
});

const last = (messages) => messages.sort(byAge).at(-1);
const isBefore = (one, other) => BigInt(one.id) < BigInt(other.id);
// A thread has the id of the message that it hangs on.
const together = (one, other) => one.channel === other.channel || one.channel === other.id;

export const documents = {
  said: () => all().filter((one) => one.by_bot).map(seen),
  whispers: () => here.guild.ephemerals.map(seen),
  asked: ({ message }) => last(all().filter((one) => !one.by_bot && together(message, one) && isBefore(one, message)))?.shown ?? "",
  dropper: (name) => user(last(all().filter((message) => message.attachments.some((file) => file.filename === name)))?.user)?.name,
  me: () => user(here.me).name,
  nameOf: (handle) => here.guild.users.find((one) => one.name === handle).global_name,
  become,
  point: ({ message }) => point(message),
  ask,
  drop: (words) => api.file(store.facts.offer).then((file) => drop(words, file), (problem) => toast(problem.message)),
  removal: {
    say: () => "/knowledge remove:",
    words: (name) => `Choose “/knowledge” with “remove” and ${name}, send it, and press Yes, remove it.`,
  },
};
