// What was read, by person and place, for as long as this tab lives. What is said is told as its time in
// milliseconds, and whether it is the reader's own.

import { keep, kept } from "./reload.js";

const SEEN = "nod-demo-seen";
let seen = {};

// Once it is known which start of the demo this is.
export function recall() {
  seen = kept(SEEN) ?? {};
}

export function markSeen(key, said) {
  const last = said.at(-1)?.at ?? 0;
  if (seen[key] === last) return;
  seen[key] = last;
  keep(SEEN, seen);
}

// The first look at a place counts as having read what was said before the visitor came.
export function unread(key, said) {
  seen[key] ??= said.filter((one) => one.at < performance.timeOrigin).at(-1)?.at ?? 0;
  return said.filter((one) => one.at > seen[key] && !one.own).length;
}
