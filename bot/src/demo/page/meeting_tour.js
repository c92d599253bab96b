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
const agreed = () => told(/This suits everybody|chose this/) || invites();
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
  { title: "See it booked", is: seen, now: () => ({ words: "It stands in three calendars now, each by its own clocks.", label: "Open a guest's", go: () => lookIntoCalendar(booked().account, booked().event) }) },
];

const named = (handle) => people().find((one) => one.name === handle);
const isVisitor = () => me().name === store.facts.me;
const first = (one) => one.real_name.split(" ")[0];
const as = (handle, words) => ({ words, label: `Become ${first(named(handle))}`, go: () => become(named(handle).id) });

function finding() {
  if (!isVisitor()) return as(store.facts.me, `This is asked as ${first(named(store.facts.me))}.`);
  if (offer()) return { words: "Nod may not look at your calendar yet. Follow the button in its message to you.", label: "To the message", go: () => point(offer()) };
  return { words: `Write “${FIND}” and send it.`, label: "Write it for me", go: () => ask(FIND) };
}

function asking() {
  const times = card(/^ask_others/);
  if (times) return { words: "All three are free then, as their calendars say. Press Ask the others, and it is put to them in the thread.", label: "To the times", go: () => point(times) };
  if (!isVisitor()) return as(store.facts.me, "Nod's question waits there.");
  return { words: "No question of Nod's waits for you now. Ask once more.", label: "Write it for me", go: () => ask(FIND) };
}

function voting() {
  const vote = votes();
  if (!vote) return isVisitor() ? { words: "Nobody is asked any more. Ask once more.", label: "Write it for me", go: () => ask(FIND) } : as(store.facts.me, "The vote is not in sight from here.");
  const next = VOTERS.find((one) => !hasVoted(vote, named(one).real_name));
  if (!next) return { words: "Nothing suits all three yet: a second press takes a choice back.", label: "To the vote", go: () => point(vote) };
  const here = "press the number of each time that suits you; the times are by your own clocks";
  if (me().name === next) return { words: `As ${first(me())}, ${here}.`, label: "To the vote", go: () => point(vote) };
  return as(next, `It is ${first(named(next))}'s turn: ${here}.`);
}

const hasVoted = (vote, name) => new RegExp(`(✓|None of these:)[^"\\\\]*${name}`).test(words(vote));

function approving() {
  const waiting = card();
  if (waiting) return { words: "The card says what time it is for each guest. Press Approve & invite.", label: "To the card", go: () => point(waiting) };
  if (!isVisitor()) return as(store.facts.me, `The invitation is ${first(named(store.facts.me))}'s to approve.`);
  return { words: "No invitation waits for you now. Ask once more.", label: "Write it for me", go: () => ask(FIND) };
}
