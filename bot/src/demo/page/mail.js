// Anybody's Google: the lists of mail, one mail opened, and the calendar beside them.

import { buildCalendar, markLooked, newEvents, pointAtEvent, renderCalendar } from "./calendar.js";
import { el, fullTime, reconcile, time } from "./dom.js";
import { changed, hasOpened, isNew, markOpened, newIn, store, user } from "./store.js";
import { isShown, show } from "./windows.js";

const FOLDERS = [["inbox", "Inbox"], ["sent", "Sent"], ["drafts", "Drafts"]];
const CALENDAR = "calendar";
const TABS = [...FOLDERS, [CALENDAR, "Calendar"]];

const at = { account: null, folder: "inbox", open: null };
let parts = null;

export const openedMail = () => at.open && { account: at.account, id: at.open };
// Whose mailbox is looked at.
export const openedBox = () => (isShown("mail") ? at.account : undefined);
// Whose calendar is looked at.
export const openedCalendar = () => (at.folder === CALENDAR && isShown("mail") ? at.account : undefined);

// Looks into somebody's calendar; with an event's id, at that event.
export function lookIntoCalendar(account, event = null) {
  pointAtEvent(event);
  lookInto(account, CALENDAR);
}

// Looks into a mailbox; with a mail's id, opens that mail.
export function lookInto(account, folder = "inbox", id = null) {
  Object.assign(at, { account, folder, open: null });
  show("mail");
  if (id) open(find(id));
  changed();
}

export function renderMail() {
  at.account ??= user(store.me)?.email ?? store.accounts[0]?.email;
  const box = store.boxes.get(at.account);
  if (!box) return;
  parts ??= build();
  if (openedCalendar()) markLooked(at.account);
  renderAccounts();
  const mail = at.open && find(at.open);
  const dates = at.folder === CALENDAR;
  parts.list.hidden = Boolean(mail) || dates;
  parts.reader.hidden = !mail;
  parts.calendar.node.hidden = !dates;
  for (const [folder, label] of TABS) {
    const tab = parts.tabs[folder];
    tab.setAttribute("aria-pressed", String(folder === at.folder));
    const count = ["sent", "drafts"].includes(folder) ? box[folder].length : 0;
    tab.textContent = count === 0 ? label : `${label} (${count})`;
  }
  if (dates) return renderCalendar(parts.calendar, at.account);
  if (mail) return renderReader(mail);
  parts.reader.shown = null;
  const mails = [...box[at.folder]].sort((a, b) => new Date(b.at) - new Date(a.at)).map((one) => ({
    ...one,
    fresh: isNew(one),
    bold: at.folder === "inbox" && one.labels.includes("UNREAD") && !hasOpened(one),
  }));
  const key = (one) => `${at.account}/${at.folder}/${one.id}`;
  reconcile(parts.rows, mails, key, JSON.stringify, row);
  parts.empty.hidden = mails.length > 0;
}

const find = (id) => FOLDERS.flatMap(([folder]) => store.boxes.get(at.account)?.[folder] ?? []).find((one) => one.id === id);

function build() {
  const pane = document.getElementById("mail");
  const pick = el("select", { "aria-label": "Whose inbox and calendar", onchange: () => lookInto(pick.value, at.folder === CALENDAR ? CALENDAR : "inbox") });
  const address = el("small", { class: "address" });
  const tabs = {};
  for (const [folder, label] of TABS) {
    tabs[folder] = el("button", { type: "button", class: "tab", onclick: () => lookInto(at.account, folder) }, label);
  }
  const calendar = buildCalendar();
  const rows = el("ul", { class: "mails" });
  const empty = el("p", { class: "empty" }, "Nothing here yet.");
  const list = el("div", { class: "mail-list" }, rows, empty);
  const reader = el("article", { class: "reader", hidden: true, tabindex: "-1" });
  pane.append(
    el("div", { class: "mail-head" }, el("p", { class: "brand" }, "Google ", el("small", {}, "simulated")), el("label", {}, pick, address)),
    el("div", { class: "tabs", role: "group", "aria-label": "Folders and calendar" }, Object.values(tabs)),
    list,
    reader,
    calendar.node,
  );
  return { pick, address, tabs, rows, empty, list, reader, calendar };
}

function renderAccounts() {
  const entries = store.accounts.map((one) => ({ ...one, fresh: newIn(one.email) + newEvents(one.email) }));
  const words = (one) => `${one.name}${one.fresh ? ` · ${one.fresh} new` : ""}`;
  reconcile(parts.pick, entries, (one) => one.email, words, (one) => el("option", { value: one.email }, words(one)));
  parts.pick.value = at.account;
  parts.address.textContent = at.account;
  const all = entries.reduce((sum, one) => sum + one.fresh, 0);
  const badge = document.getElementById("mail-badge");
  badge.textContent = all;
  badge.hidden = all === 0;
}

const nameIn = (value) => /^\s*"?([^"<]+?)"?\s*</.exec(value)?.[1] ?? value.replace(/[<>]/g, "");
const header = (mail, name) => mail.headers.find(([one]) => one.toLowerCase() === name.toLowerCase())?.[1] ?? "";
const zone = () => user(store.me)?.tz;

function row(mail) {
  const who = at.folder === "inbox" ? nameIn(header(mail, "From")) : `To: ${mail.to.join(", ")}`;
  const look = ["mail-row", mail.fresh && at.folder === "inbox" ? "fresh" : "", mail.bold ? "bold" : ""].join(" ");
  const button = el(
    "button",
    { type: "button", class: look, onclick: () => open(mail) },
    el("span", { class: "from" }, who, mail.fresh && at.folder === "inbox" ? el("span", { class: "badge" }, "new") : null),
    el("time", {}, time(new Date(mail.at), zone())),
    el("span", { class: "subject" }, mail.subject || "(no subject)"),
    el("span", { class: "snippet" }, mail.body.replace(/\s+/g, " ").slice(0, 120)),
  );
  return el("li", {}, button);
}

function open(mail) {
  if (!mail) return;
  at.open = mail.id;
  markOpened(mail);
  changed();
  requestAnimationFrame(() => parts?.reader.focus());
}

function renderReader(mail) {
  const signature = JSON.stringify([mail, zone()]);
  if (parts.reader.shown === signature) return;
  parts.reader.shown = signature;
  const back = () => lookInto(at.account, at.folder);
  const bare = (name) => header(mail, name).replace(/^<([^<>]*)>$/, "$1");
  const lines = [
    ["From", bare("From")],
    ["To", bare("To")],
    ["Cc", bare("Cc")],
    ["Bcc", bare("Bcc")],
    ["Date", fullTime(new Date(mail.at), zone())],
    ["Message-ID", mail.message_id],
  ].filter(([, value]) => value);
  parts.reader.replaceChildren(
    el("button", { type: "button", class: "button", onclick: back }, "← Back"),
    el("h2", {}, mail.subject || "(no subject)"),
    el("dl", {}, lines.map(([name, value]) => [el("dt", {}, name), el("dd", {}, value)])),
    el("div", { class: "mail-body" }, mail.body),
  );
}
