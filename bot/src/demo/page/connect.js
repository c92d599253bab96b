// The window in which an account is connected: beside the page, and gone once that is done.

import { isOffer } from "./facts.js";

const LOOK = "popup,width=560,height=760";
// Long enough to read that it is done, in milliseconds.
const GLANCE = 1500;

let opened = null;
let before = 0;
let latest = 0;

// False where the browser opens no window.
export function openConnect(url) {
  // One that is open already is used again.
  opened = window.open(url, "nod-connect", LOOK);
  opened?.focus();
  before = latest;
  return Boolean(opened);
}

// A press on a link of Nod's; any that connects nothing, and one for another tab, goes its own way.
export function connects(event, url, label) {
  const isPlain = !event.ctrlKey && !event.metaKey && !event.shiftKey;
  if (isPlain && isOffer({ url, label }) && openConnect(url)) event.preventDefault();
}

// Told again and again when an account was connected last; true once it was connected in the window. What went wrong
// stands in the window, which stays then.
export function noteConnected(at) {
  latest = Math.max(latest, at ?? 0);
  if (!opened || latest <= before) return false;
  const done = opened;
  opened = null;
  setTimeout(() => done.close(), GLANCE);
  return true;
}
