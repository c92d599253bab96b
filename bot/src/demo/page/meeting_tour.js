// The second way: a time that suits three people in three zones, from the question to their calendars.

import { card, offer, polled, told, votes, words } from "./progress.js";
import { lookIntoCalendar, openedCalendar } from "./mail.js";
import { become } from "./sidebar.js";
import { ask, point } from "./mail_tour.js";
import { me, people, store } from "./store.js";

export const FIND = "@nod find 45 minutes with Bo and Cho next week for planning";
// Whoever asks, and who is asked.
const VOTERS = ["ana", "bo", "cho"];

const found = () => told(/Which time\?/) || asked();
const asked = () => polled() || agreed();
const agreed = () => told(/This works for everyone|picked this one/) || invites();
const invites = () => told(/Send this invitation\?/) || Boolean(booked());

// The latest invitation that Calendar sent.
function booked() {
  const all = [...store.calendars.values()].flatMap((one) => one.invitations.map((letter) => ({ account: one.account, ...letter })));
  return all.filter((letter) => letter.news === "invited").sort((a, b) => Date.parse(a.at) - Date.parse(b.at)).at(-1);
}

const seen = () => store.calendars.get(openedCalendar())?.invitations.some((letter) => letter.news === "invited") ?? false;

export const STEPS = [
  { title: "Find a time", is: found, now: finding },
  { title: "Ask the others", is: asked, now: asking },
  { title: "Vote", is: agreed, now: voting },
  { title: "Approve", is: () => Boolean(booked()), now: approving },
  { title: "See it booked", is: seen, now: () => ({ words: "It's now in all three calendars, each in its own time zone.", label: "Open a guest's calendar", go: () => lookIntoCalendar(booked().account, booked().event) }) },
];

const named = (handle) => people().find((one) => one.name === handle);
const isVisitor = () => me().name === store.facts.me;
const first = (one) => one.real_name.split(" ")[0];
const as = (handle, words) => ({ words, label: `Switch to ${first(named(handle))}`, go: () => become(named(handle).id) });

function finding() {
  if (!isVisitor()) return as(store.facts.me, `Ask this as ${first(named(store.facts.me))}.`);
  if (offer()) return { words: "Nod can't see your calendar yet. Press the button in its direct message.", label: "Go to the message", go: () => point(offer()) };
  return { words: `Send “${FIND}”.`, label: "Type it for me", go: () => ask(FIND) };
}

function asking() {
  const times = card(/^ask_others/);
  if (times) return { words: "All three of you are free at these times. Press Ask the others to let them vote in the thread.", label: "Go to the times", go: () => point(times) };
  if (!isVisitor()) return as(store.facts.me, "Nod has a question for you.");
  return { words: "Nod has no open question for you right now. Ask again.", label: "Type it for me", go: () => ask(FIND) };
}

function voting() {
  const vote = votes();
  if (!vote) return isVisitor() ? { words: "The vote is closed. Ask again.", label: "Type it for me", go: () => ask(FIND) } : as(store.facts.me, "You can't see the vote from here.");
  const next = VOTERS.find((one) => !hasVoted(vote, named(one).real_name));
  if (!next) return { words: "No time works for all three yet. Press a number again to take your vote back.", label: "Go to the vote", go: () => point(vote) };
  const here = "press the number of every time that works for you (times are in your time zone)";
  if (me().name === next) return { words: `As ${first(me())}, ${here}.`, label: "Go to the vote", go: () => point(vote) };
  return as(next, `It is ${first(named(next))}'s turn: ${here}.`);
}

const hasVoted = (vote, name) => new RegExp(`(✓|None of these:)[^"\\\\]*${name}`).test(words(vote));

function approving() {
  const waiting = card();
  if (waiting) return { words: "The card shows each guest's local time. Press Approve & invite.", label: "Go to the card", go: () => point(waiting) };
  if (!isVisitor()) return as(store.facts.me, `${first(named(store.facts.me))} has to approve the invitation.`);
  return { words: "Nothing is waiting for you right now. Ask again.", label: "Type it for me", go: () => ask(FIND) };
}
