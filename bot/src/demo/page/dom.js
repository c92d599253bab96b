import { played } from "./links.js";

// Builds elements. Data only ever becomes text, so nothing in a message or a mail can become markup.

export function el(tag, props = {}, ...children) {
  const node = document.createElement(tag);
  for (const [name, value] of Object.entries(props)) {
    if (value === undefined || value === null || value === false) continue;
    if (name.startsWith("on")) node.addEventListener(name.slice(2), value);
    else if (name === "class") node.className = value;
    else if (name === "value") node.value = value;
    else node.setAttribute(name, value === true ? "" : String(value));
  }
  node.append(...children.flat(Infinity).filter((child) => child !== null && child !== undefined && child !== ""));
  return node;
}

// A link that leads only where links may lead; elsewhere its words alone.
export function link(address, words, props = {}) {
  let url;
  try {
    url = new URL(address);
  } catch {
    return document.createTextNode(words);
  }
  if (!["http:", "https:", "mailto:"].includes(url.protocol)) return document.createTextNode(words);
  const here = played(url);
  if (here) return el("a", { href: here, ...props }, words);
  return el("a", { href: url.href, target: "_blank", rel: "noopener noreferrer", ...props }, words);
}

// Puts `node` where `old` is. What had the focus in there hands it on: to the same button, else to the whole.
function replace(old, node) {
  const held = old.contains(document.activeElement) ? document.activeElement : null;
  old.replaceWith(node);
  if (held) focusIn(node, held.dataset.action);
}

function focusIn(node, action) {
  const same = action && node.querySelector(`[data-action="${CSS.escape(action)}"]`);
  if (!same && !node.hasAttribute("tabindex")) node.tabIndex = -1;
  (same || node).focus({ preventScroll: true });
}

// Returns what gives the focus back to where it is now, also if the message there was drawn again meanwhile.
export function rememberFocus() {
  const held = document.activeElement;
  const [action, at, list] = [held?.dataset?.action, held?.closest("[data-ts]")?.dataset.ts, held?.closest(".messages")];
  return () => {
    if (held?.isConnected) return held.focus({ preventScroll: true });
    const message = at && list?.querySelector(`[data-ts="${CSS.escape(at)}"]`);
    const lists = [...document.querySelectorAll("main > [data-turn='0'] .messages")];
    // A thread may lie over its channel.
    focusIn(message || lists.findLast((one) => one.getClientRects().length), action);
  };
}

// A button that is at work is not pressed again, and keeps the focus, which a disabled one would lose.
export const isBusy = (node) => node?.getAttribute("aria-disabled") === "true";
export const setBusy = (node, is) => node?.setAttribute("aria-disabled", String(is));

// Makes `container` show `items` in order, and keeps the nodes of those that did not change: what has the
// focus keeps it, and what is being typed stays.
export function reconcile(container, items, key, sign, make) {
  const kept = (container.kept ??= new Map());
  const wanted = new Map();
  const fresh = [];
  items.forEach((item) => {
    const id = key(item);
    const signature = sign(item);
    let entry = kept.get(id);
    if (!entry || entry.signature !== signature) {
      const node = make(item, entry?.node);
      if (entry && entry.node !== node) replace(entry.node, node);
      fresh.push({ node, item, isNew: !entry });
      entry = { node, signature };
    }
    wanted.set(id, entry);
  });
  for (const [id, { node }] of kept) {
    if (wanted.has(id)) continue;
    const held = node.contains(document.activeElement);
    node.remove();
    if (held) container.closest("[tabindex]")?.focus({ preventScroll: true });
  }
  let at = container.firstChild;
  for (const { node } of wanted.values()) {
    if (node === at) at = at.nextSibling;
    else container.insertBefore(node, at);
  }
  container.kept = wanted;
  return fresh;
}

// "15:04" today, "Tue 15:04" before that, in the zone of the person whose eyes we look through.
export function time(date, zone) {
  const format = (options) => new Intl.DateTimeFormat("en-GB", { timeZone: zone, ...options }).format(date);
  const day = (of) => new Intl.DateTimeFormat("en-GB", { timeZone: zone, dateStyle: "short" }).format(of);
  const clock = format({ hour: "2-digit", minute: "2-digit" });
  return day(date) === day(new Date()) ? clock : `${format({ weekday: "short" })} ${clock}`;
}

export function fullTime(date, zone) {
  return new Intl.DateTimeFormat("en-GB", { timeZone: zone, dateStyle: "full", timeStyle: "long" }).format(date);
}
