// A list of Slack's messages, in a channel or in a thread.

import { el, reconcile } from "./dom.js";
import { messageNode } from "./message.js";
import { atEnd, settle } from "./scroll.js";
import { store } from "./store.js";

// `place` says whose list it is, and `make` draws what is no message.
export function drawList(list, place, items, make) {
  const moved = list.place !== place;
  const end = atEnd(list);
  if (moved) {
    list.replaceChildren();
    list.kept = new Map();
    list.place = place;
  }
  const fresh = reconcile(list, items, (item) => item.ts, JSON.stringify, (item) => (item.user ? messageNode(item) : make(item)));
  const news = fresh.filter((entry) => entry.isNew && entry.item.user);
  settle(list, news.map(({ node }) => node), { moved, end, changed: fresh.length > 0, own: news.at(-1)?.item.user === store.me });
}

export const statusNode = (status) => el("p", { class: "status" }, `Nod ${status}`);
