// A chat with Nod, as Slack's assistants have: a thread of its own in the direct messages, begun by whoever wants one.

import * as api from "./api.js";
import { readWorkspace } from "./polling.js";
import { store } from "./store.js";
import { open } from "./threads.js";
import { toast } from "./toast.js";

// The chat whose thread this is: its title, and what Nod suggests to ask there.
export const chatOf = (ts) => store.slack.assistant_threads.find((chat) => chat.ts === ts);
export const titleOf = (chat) => chat.title ?? "New chat";

export async function startChat() {
  try {
    const { ts } = await api.assistant(store.me);
    await readWorkspace();
    store.home = false;
    open(ts);
  } catch (error) {
    toast(error.message);
  }
}
