// What stands under what in a Slack channel, and which thread is open.

import { changed, store } from "./store.js";

// Everything that this person sees here, oldest first: each message of the channel with what stands in its thread. A private
// note stands where it was whispered, and the answer to a message that is gone stands for itself.
export function threads(one) {
  const whispers = store.slack.ephemerals
    .filter((whisper) => whisper.channel === one.id)
    .map((whisper) => ({ ...whisper, whisper: true }));
  const all = [...one.messages, ...whispers].sort((a, b) => Number(a.ts) - Number(b.ts));
  const roots = new Map();
  for (const message of all) {
    const root = message.thread_ts && message.thread_ts !== message.ts ? roots.get(message.thread_ts) : null;
    if (root) root.replies.push(message);
    else roots.set(message.ts, { root: message, replies: [] });
  }
  for (const { channel, thread_ts, status } of store.slack.statuses) {
    const thread = channel === one.id && roots.get(thread_ts);
    if (thread) thread.status = status;
  }
  return [...roots.values()];
}

// The one that is open beside this channel.
export function openThread(one) {
  if (store.thread?.channel !== one.id) return undefined;
  return threads(one).find(({ root }) => root.ts === store.thread.ts);
}

// The root of the thread in which a message stands; undefined for what stands in the channel itself.
export function rootOf(one, ts) {
  return threads(one).find(({ replies }) => replies.some((reply) => reply.ts === ts))?.root.ts;
}

// Opens one of this channel for whoever pressed for it.
export function open(ts) {
  store.thread = { channel: store.channel, ts, enters: true };
  changed();
}

export const replied = (count) => (count === 1 ? "1 reply" : `${count} replies`);
