// What the way of a document needs of the Slack window.

import * as api from "./api.js";
import { ask, drop, point } from "./mail_tour.js";
import { all, buttons, ofBot, words } from "./progress.js";
import { become } from "./sidebar.js";
import { me, people, store } from "./store.js";
import { toast } from "./toast.js";

const seen = (message) => ({
  message,
  order: Number(message.ts),
  words: words(message),
  buttons: buttons(message).map((one) => ({ action: one.action_id, label: one.text.text })),
});

// Whether two messages stand together: in one thread, or in one channel without threads.
const together = (one, other) => one.channel === other.channel && (!one.thread_ts || one.thread_ts === other.thread_ts || one.thread_ts === other.ts);
const last = (messages) => messages.sort((a, b) => Number(a.ts) - Number(b.ts)).at(-1);
const named = (handle) => people().find((one) => one.name === handle);

export const documents = {
  said: () => all().filter(ofBot).map(seen),
  whispers: () => store.slack.ephemerals.map(seen),
  // What a person said last before Nod's words.
  asked: ({ message }) => last(all().filter((one) => !ofBot(one) && together(message, one) && Number(one.ts) < Number(message.ts)))?.text ?? "",
  // Who dropped the file that came last under this name; a handle.
  dropper: (name) => people().find((one) => one.id === last(all().filter((message) => message.files?.some((file) => file.name === name)))?.user)?.name,
  me: () => me().name,
  nameOf: (handle) => named(handle).real_name.split(" ")[0],
  become: (handle) => become(named(handle).id),
  point: ({ message }) => point(message),
  ask,
  drop: (words) => api.file(store.facts.offer).then((file) => drop(words, file), (problem) => toast(problem.message)),
  removal: {
    say: (name) => `/nod knowledge remove ${name}`,
    words: (name) => `Type “/nod knowledge remove ${name}”, and press Yes, remove it.`,
  },
};
