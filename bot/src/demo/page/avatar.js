// A person's square: initials on a colour of their own, which is the same in every window.

import { el } from "./dom.js";
import { bot, user } from "./store.js";

export function avatar(id) {
  const one = user(id);
  return face(one?.name ?? id, one?.real_name, id === bot());
}

export function face(handle, name, isNod) {
  if (isNod) return el("span", { class: "avatar nod", "aria-hidden": "true" }, "✓");
  const initials = (name ?? "?").split(" ").map((word) => word[0]).slice(0, 2).join("");
  return el("span", { class: `avatar tint${tint(handle)}`, "aria-hidden": "true" }, initials);
}

const tint = (text) => [...text].reduce((sum, letter) => (sum * 31 + letter.codePointAt(0)) % 997, 7) % 6;
