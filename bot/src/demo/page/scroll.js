// A list of messages: who reads its end stays there, who looks elsewhere is not moved and hears of what is new.

import { el } from "./dom.js";

export const atEnd = (list) => list.scrollHeight - list.scrollTop - list.clientHeight < 40;

// After messages came. `nodes` are those that are new, `end` says whether the end was read before them, `moved` whether
// this is another place than before, and `own` whether the visitor wrote the last of them.
export function settle(list, nodes, { moved, end, changed, own }) {
  if (moved) forget(list);
  const last = nodes.at(-1);
  if (moved || (end && (last || changed))) toEnd(list);
  if (moved || !last) return;
  if (end || own || isSeen(list, before(last))) into(list, last);
  else announce(list, nodes.filter((node) => !isSeen(list, node)));
}

function toEnd(list) {
  list.scrollTop = list.scrollHeight;
  if (list.watched) return;
  // Who read the end goes on reading it when the room for it changes. Such a change makes a scroll of its own, which says
  // nothing of the reader.
  let [end, room] = [true, list.clientHeight];
  list.addEventListener("scroll", () => {
    if (list.clientHeight === room) end = atEnd(list);
    if (list.unseen?.length) announce(list, []);
  });
  list.watched = new ResizeObserver(() => {
    room = list.clientHeight;
    if (end) list.scrollTop = list.scrollHeight;
  });
  list.watched.observe(list);
}

const before = (node) => node.previousElementSibling;

// Whether its last line is in view.
function isSeen(list, node) {
  if (!node?.isConnected) return false;
  const [{ bottom }, box] = [node.getBoundingClientRect(), list.getBoundingClientRect()];
  return bottom > box.top && bottom <= box.bottom + 4;
}

// The whole message; of one that is higher than the list its end, but of a card its beginning, where it says what it asks.
function into(list, node) {
  if (isTall(list, node)) node.scrollIntoView({ block: node.querySelector(DECISIONS) ? "start" : "end" });
  else node.scrollIntoView({ block: "nearest" });
}

const DECISIONS = "button.primary, button.success, button.danger";

const isTall = (list, node) => node.getBoundingClientRect().height > list.clientHeight;

function announce(list, nodes) {
  list.unseen = [...(list.unseen ?? []), ...nodes].filter((node) => node.isConnected && !isSeen(list, node));
  list.newer ??= build(list);
  list.newer.hidden = !list.unseen.length;
  list.newer.textContent = `${list.unseen.length} new ↓`;
}

function build(list) {
  const go = () => {
    into(list, list.unseen[0]);
    list.focus({ preventScroll: true });
    announce(list, []);
  };
  const button = el("button", { type: "button", class: "button newer", onclick: go });
  list.after(button);
  return button;
}

function forget(list) {
  list.unseen = [];
  if (list.newer) list.newer.hidden = true;
}

// Brings one message of a list into view and marks it for a moment.
export function pointIn(list, id) {
  const node = list.querySelector(`[data-ts="${CSS.escape(id)}"]`);
  if (!node) return;
  const tall = isTall(list, node);
  node.scrollIntoView({ block: tall ? "start" : "center" });
  node.classList.add("pointed");
  setTimeout(() => node.classList.remove("pointed"), 2500);
  const button = node.querySelector("button.primary, a.primary");
  if (!tall) button?.scrollIntoView({ block: "nearest" });
  button?.focus({ preventScroll: true });
}
