// "Try this": one way after the other, each step ticked off by what really happened, in whatever order it did; after
// the first, what else there is. A step says what can be done now, and has a button only where that leads somewhere.

import { noteConnected } from "./connect.js";
import { keep, kept } from "./reload.js";
import { here } from "./discord/guild.js";
import { ask as askOnDiscord, discordWay } from "./discord/discord_tour.js";
import { documentSteps } from "./documents_tour.js";
import { documents as onDiscord } from "./discord/documents.js";
import { documents } from "./slack_documents.js";
import { el, reconcile } from "./dom.js";
import { showEnd } from "./end.js";
import { meetingWay } from "./meeting_tour.js";
import { MORE, renderMore, triedNow } from "./suggestions.js";
import { ask, mailWay } from "./mail_tour.js";
import { store } from "./store.js";
import { taskSteps } from "./task_tour.js";
import { trickWay } from "./trick_tour.js";
import { step } from "./way.js";

const GUIDE = "nod-demo-guide";
export const WAYS = [
  mailWay,
  trickWay,
  { name: "A document", steps: documentSteps(documents) },
  meetingWay,
  { name: "A task", steps: taskSteps },
  discordWay,
  { name: "A document on Discord", steps: documentSteps(onDiscord) },
];
const END = { words: "That was the tour. There's more to try, and you can ask Nod anything.", label: "What you saw", go: showEnd };
const done = new Set();
const tried = new Set();
let parts;
let shown = "";
// The way that is shown.
let led;
let timer;
// Whoever comes back from connecting is shown the card that they connected for, wherever it is.
let returns = false;

// What was ticked before a reload, once it is known which start of the demo this is.
export function recallGuide() {
  const before = kept(GUIDE);
  before?.done.forEach((step) => done.add(step));
  before?.tried.forEach((title) => tried.add(title));
}

const remember = () => keep(GUIDE, { done: [...done], tried: [...tried] });
const key = (way, at) => `${way}/${at}`;

// What can be done now. A way with facts is told by them; a document's steps tell themselves.
function current(way, facts, at) {
  const { away, lost } = store;
  if (!facts) return away || lost ? step({ away, lost }) : way.steps[at].now();
  const found = step(facts, way);
  return { ...found, go: found.go && (() => way.acts[found.go](found)) };
}

export function renderGuide() {
  if (!store.slack || !here.guild) return;
  const facts = WAYS.map((way) => way.facts?.());
  returns ||= noteConnected(Math.max(...facts.map((one) => one?.connectedAt ?? 0)));
  WAYS.forEach(({ name, steps }, nth) => steps.forEach((one, at) => one.is(facts[nth]) && done.add(key(name, at))));
  triedNow().forEach((title) => tried.add(title));
  // A way that was begun comes before those that were not: whoever tries Discord first is led there, and stays on it.
  const left = ({ name, steps }) => steps.filter((_, at) => !done.has(key(name, at))).length;
  const isBegun = (way) => left(way) && left(way) < way.steps.length;
  const stays = WAYS.findIndex((way) => way.name === led && isBegun(way));
  const begun = stays < 0 ? WAYS.findIndex(isBegun) : stays;
  const open = begun < 0 ? WAYS.findIndex(left) : begun;
  const way = WAYS[open];
  led = way?.name;
  const now = way?.steps.findIndex((_, at) => !done.has(key(way.name, at)));
  const next = way ? current(way, facts[open], now) : END;
  if (returns && facts[open]?.card && next?.note === facts[open].card) {
    returns = false;
    next.go();
  }
  // Seconds pass, and patience ends, without any news.
  clearTimeout(timer);
  if (next?.again) timer = setTimeout(renderGuide, next.again);
  const signature = JSON.stringify([[...done], [...tried], next?.words, next?.label, next?.note?.at, open, now]);
  if (shown === signature) return;
  shown = signature;
  remember();
  const gone = WAYS.filter((way) => !left(way)).map(({ name }) => ({ id: name, title: name, sign: "✓", state: "done" }));
  const state = (at) => (done.has(key(way.name, at)) ? "done" : at === now ? "now" : "later");
  const steps = !way ? [{ id: "end", title: "Done", sign: "✓", state: "now", next }] : way.steps.map(({ title }, at) => ({ id: key(way.name, at), title, sign: state(at) === "done" ? "✓" : at + 1, state: state(at), next: state(at) === "now" && next }));
  parts ??= build();
  document.body.classList.toggle("begun", done.size > 0);
  const sign = ({ next, ...one }) => JSON.stringify([one, next && [next.words, next.label, next.note?.at]]);
  reconcile(parts.list, [...gone, ...steps], (one) => one.id, sign, stepNode);
  parts.more.hidden = open === 0 && [...done].every((step) => step.startsWith(key(way.name, "")));
  parts.more.replaceChildren("More", el("span", { class: "wide" }, ` to try (${tried.size} of ${MORE.length})`));
  renderMore(tried, { ask, askOnDiscord });
}

function build() {
  const list = el("ol", {});
  const more = el("button", { type: "button", class: "button", popovertarget: "more" });
  document.getElementById("guide").append(el("h2", {}, "Try this"), list, more);
  return { list, more };
}

function stepNode({ title, sign, state, next }) {
  const mark = el("span", { class: "mark", "aria-hidden": "true" }, sign);
  const name = el("strong", {}, title, state === "done" ? el("span", { class: "unseen" }, " (done)") : null);
  if (state !== "now") return el("li", { class: state, title }, mark, name);
  const button = next.go ? el("button", { type: "button", class: "button", "data-action": "go", onclick: () => next.go() }, next.label) : null;
  return el("li", { class: state, "aria-current": "step" }, mark, name, el("span", { class: "words", title: next.words }, next.words), button);
}
