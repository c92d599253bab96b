// Discord's left side: the server and the direct messages, what is in them, and who one is.

import { el, reconcile } from "../dom.js";
import { store } from "../store.js";
import { bot, goTo, here, isDirect, line, people, place, rooms, threads, unread, user } from "./guild.js";
import { portrait } from "./message.js";

const LATEST = 6;
let parts = null;

export function buildSide(switchTo) {
  const home = el("button", { type: "button", class: "server home", "aria-label": "DM, direct messages", title: "Direct messages", onclick: () => goTo(line().id) });
  const initial = here.guild.team.name[0];
  const server = el("button", { type: "button", class: "server", title: here.guild.team.name, onclick: () => goTo((place(here.room) ?? rooms()[0]).id) }, initial);
  const title = el("p", { class: "team" });
  const list = el("ul", { class: "channels" });
  const who = el("select", { "aria-label": "Who you are on Discord", onchange: () => switchTo(who.value) });
  const me = el("div", { class: "me" });
  parts = { home, server, title, list, who, me };
  return [
    el("nav", { class: "rail", "aria-label": "Servers" }, home, el("hr"), server),
    el("aside", { class: "sidebar", "aria-label": "Discord" }, title, el("nav", { "aria-label": "Discord channels" }, list), me),
  ];
}

export function renderSide() {
  const direct = isDirect(place());
  const waiting = unread(line());
  const news = waiting && !direct ? waiting : 0;
  // The number is drawn by the style: what is read aloud is the label.
  parts.home.replaceChildren("DM", news ? el("span", { class: "badge", "data-count": news }) : "");
  parts.home.setAttribute("aria-label", `DM, direct messages${news ? `, ${news} unread` : ""}`);
  parts.home.toggleAttribute("aria-current", direct);
  parts.server.toggleAttribute("aria-current", !direct);
  parts.title.textContent = direct ? "Direct Messages" : here.guild.team.name;
  const all = direct ? [line()] : rooms().flatMap((room) => [room, ...threads(room.id).slice(-LATEST)]);
  const entry = (one) => ({ id: one.id, name: one.name, kind: one.kind, unread: current(one) ? 0 : unread(one), current: current(one) });
  reconcile(parts.list, all.map(entry), (one) => `${here.me}/${one.id}`, JSON.stringify, entryNode);
  renderMe();
}

const current = (one) => one.id === here.place && document.visibilityState === "visible";

function renderMe() {
  const wanted = JSON.stringify([here.me, people().map((one) => one.id)]);
  if (parts.me.shown === wanted) return;
  parts.me.shown = wanted;
  const option = (one) => el("option", { value: one.id }, `${one.global_name ?? one.name}${one.name === store.facts.admin ? " (admin)" : ""}`);
  parts.who.replaceChildren(...people().map(option));
  parts.who.value = here.me;
  parts.me.replaceChildren(portrait(here.me), el("label", {}, el("small", {}, "You are"), parts.who));
}

function entryNode(one) {
  const mark = one.kind === "dm" ? portrait(bot()) : el("span", { class: "hash", "aria-hidden": "true" }, one.kind === "thread" ? "╰" : "#");
  const badge = one.unread ? el("span", { class: "badge" }, one.unread, el("span", { class: "unseen" }, " unread")) : null;
  const look = ["channel", one.kind, one.unread ? "has-unread" : ""].join(" ");
  const props = { type: "button", class: look, "aria-current": one.current ? "page" : undefined, onclick: () => goTo(one.id) };
  return el("li", {}, el("button", props, mark, el("span", {}, one.kind === "dm" ? "Nod" : one.name), badge));
}
