// A person's square: initials on a colour of their own.

import { el } from "./dom.js";
import { store, user } from "./store.js";

export function avatar(id) {
  const one = user(id);
  if (id === store.slack?.bot.user) return el("span", { class: "avatar nod", "aria-hidden": "true" }, "✓");
  const words = (one?.real_name ?? "?").split(" ");
  const initials = words.map((word) => word[0]).slice(0, 2).join("");
  return el("span", { class: `avatar tint${tint(id)}`, "aria-hidden": "true" }, initials);
}

export function tint(text) {
  return [...text].reduce((sum, letter) => (sum * 31 + letter.codePointAt(0)) % 997, 7) % 6;
}
