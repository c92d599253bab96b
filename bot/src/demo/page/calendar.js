// Anybody's calendar: what is to come, day by day, by the clocks of whose it is.

import { el, reconcile } from "./dom.js";
import { store } from "./store.js";

const MARKS = { accepted: ["✓", "is coming"], declined: ["✗", "isn't coming"], tentative: ["?", "might come"], needsAction: ["…", "hasn't answered"] };

// What stood there when the page was opened, by account; what came later is new until it was looked at.
const before = new Map();
const looked = new Set();
let pointed = null;
let inView = true;

// Called with each calendar that was read.
export function noteEvents({ account, days }) {
  if (!before.has(account)) before.set(account, new Set(days.flatMap((day) => day.events.map((one) => one.id))));
}

const events = (account) => (store.calendars.get(account)?.days ?? []).flatMap((day) => day.events);
const isNew = (account, event) => !(before.get(account)?.has(event.id) ?? true);
const key = (account, event) => `${account}/${event.id}`;

export const newEvents = (account) => events(account).filter((one) => isNew(account, one) && !looked.has(key(account, one))).length;
export const hasLooked = (account, id) => looked.has(`${account}/${id}`);

// Has this event in view once the calendar is shown.
export function pointAtEvent(id) {
  pointed = id;
  inView = false;
}

export function buildCalendar() {
  const about = el("p", { class: "zone" });
  const list = el("div", { class: "agenda" });
  return { node: el("div", { class: "calendar", hidden: true, tabindex: "0", role: "region", "aria-label": "Calendar" }, about, list), about, list };
}

// What is shown now is new no more.
export function markLooked(account) {
  for (const event of events(account)) looked.add(key(account, event));
}

export function renderCalendar(parts, account) {
  const calendar = store.calendars.get(account);
  if (!calendar) return;
  parts.about.textContent = `${calendar.name}'s time: ${placed(calendar.zone)}. This week and the next two.`;
  const today = dayIn(new Date(), calendar.zone);
  const days = calendar.days.filter(({ date, events }) => date >= today && (events.length || date === today)).map((day) => ({ ...day, today, account }));
  const sign = (day) => JSON.stringify([day, pointed]);
  reconcile(parts.list, days, (day) => `${account}/${day.date}`, sign, (day) => dayNode(calendar, day));
  const found = pointed && !inView && parts.list.querySelector(`[data-event="${CSS.escape(pointed)}"]`);
  if (!found) return;
  inView = true;
  requestAnimationFrame(() => found.scrollIntoView({ block: "center" }));
}

function dayNode(calendar, { date, events, today }) {
  const cards = events.map((event) => eventNode(calendar, event, date));
  const words = `${date === today ? "Today, " : ""}${noon(date, { weekday: "long", day: "numeric", month: "long" })}`;
  return el("section", {}, el("h3", {}, words), cards.length ? cards : el("p", { class: "nothing" }, "Nothing on this day."));
}

function eventNode(calendar, event, date) {
  const { account, zone } = calendar;
  const own = event.guests.find((guest) => guest.email === account);
  const look = ["event", isNew(account, event) ? "fresh" : "", own?.response === "needsAction" ? "asked" : "", own?.response === "declined" ? "declined" : "", event.free ? "free" : "", event.id === pointed ? "pointed" : ""];
  return el(
    "article",
    { class: look.filter(Boolean).join(" "), "data-event": event.id },
    el("p", { class: "when" }, when(event, zone, date)),
    el(
      "div",
      {},
      el("h4", {}, event.title || "(no title)", isNew(account, event) ? el("span", { class: "badge" }, "new") : null),
      about(account, event, own).map((line) => el("p", {}, line)),
      event.guests.length ? el("ul", { class: "guests" }, event.guests.map(guestNode)) : null,
    ),
  );
}

// What is said of an event below its title, a line each.
function about(account, event, own) {
  const marks = [event.series ? "repeats" : "", event.private ? "private" : "", event.free ? "shown as free" : ""].filter(Boolean).join(" · ");
  const asked = own?.response === "needsAction" ? `Invitation from ${nameOf(event.organizer)}, no answer yet` : `From ${nameOf(event.organizer)}`;
  const line = [event.organizer === account ? "" : asked, event.location, marks].filter(Boolean).join(" · ");
  return [line, event.description, event.link ? `Google Meet: ${event.link.replace("https://", "")}` : ""].filter(Boolean);
}

function guestNode(guest) {
  const [mark, words] = MARKS[guest.response] ?? MARKS.needsAction;
  const name = nameOf(guest.email);
  return el("li", { class: guest.response, title: `${name} ${words}` }, el("span", { "aria-hidden": "true" }, mark), ` ${name}`, el("span", { class: "unseen" }, ` ${words}`));
}

const nameOf = (email) => store.accounts.find((one) => one.email === email)?.name ?? email;

function when(event, zone, date) {
  if (event.all_day) return "All day";
  const [from, to] = [new Date(event.start), new Date(event.end)];
  const clock = (at) => new Intl.DateTimeFormat("en-GB", { timeZone: zone, hour: "2-digit", minute: "2-digit" }).format(at);
  return `${dayIn(from, zone) === date ? clock(from) : "…"}–${dayIn(to, zone) === date ? clock(to) : "…"}`;
}

// "2026-11-24", as the calendar's days are called.
const dayIn = (at, zone) => new Intl.DateTimeFormat("en-CA", { timeZone: zone, dateStyle: "short" }).format(at);
const noon = (date, options) => new Intl.DateTimeFormat("en-GB", { timeZone: "UTC", ...options }).format(new Date(`${date}T12:00:00Z`));

function placed(zone) {
  const offset = new Intl.DateTimeFormat("en-GB", { timeZone: zone, timeZoneName: "shortOffset" }).formatToParts(new Date());
  return `${zone.split("/").pop().replaceAll("_", " ")} (${offset.find((part) => part.type === "timeZoneName").value})`;
}
