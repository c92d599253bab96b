// "Try this": one way after the other, each step ticked off by what really happened, in whatever order it did; after
// the first, what else there is. A step says what can be done now, and has a button only where that leads somewhere.

import { keep, kept } from "./reload.js";
import { here } from "./discord/guild.js";
import { STEPS as ON_DISCORD, ask as askOnDiscord } from "./discord/discord_tour.js";
import { documentSteps } from "./documents_tour.js";
import { documents as onDiscord } from "./discord/documents.js";
import { documents } from "./slack_documents.js";
import { el } from "./dom.js";
import { STEPS as MEETING } from "./meeting_tour.js";
import { more, triedNow } from "./suggestions.js";
import { STEPS as ON_SLACK, ask } from "./mail_tour.js";
import { store } from "./store.js";

const GUIDE = "nod-demo-guide";
const WAYS = [
  ["Slack", ON_SLACK],
  ["A document", documentSteps(documents)],
  ["A meeting", MEETING],
  ["Discord", ON_DISCORD],
  ["A document on Discord", documentSteps(onDiscord)],
];
const done = new Set();
const tried = new Set();
// Unless the visitor says so, the rest is open once all ways were gone.
let folded;
let shown = "";

// What was ticked before a reload, once it is known which start of the demo this is.
export function recallGuide() {
  const before = kept(GUIDE);
  before?.done.forEach((step) => done.add(step));
  before?.tried.forEach((title) => tried.add(title));
  folded = before?.folded;
}

const remember = () => keep(GUIDE, { done: [...done], tried: [...tried], folded });
const key = (way, at) => `${way}/${at}`;

export function renderGuide() {
  if (!store.slack || !here.guild) return;
  for (const [way, steps] of WAYS) steps.forEach((step, at) => step.is() && done.add(key(way, at)));
  triedNow().forEach((title) => tried.add(title));
  const open = WAYS.findIndex(([way, steps]) => steps.some((_, at) => !done.has(key(way, at))));
  const [way, steps] = WAYS[open] ?? [];
  const now = steps?.findIndex((_, at) => !done.has(key(way, at)));
  const next = steps?.[now].now();
  const signature = JSON.stringify([[...done], [...tried], next, open, now]);
  if (shown === signature) return;
  shown = signature;
  remember();
  const gone = WAYS.slice(0, open < 0 ? WAYS.length : open).map(([name]) => stepNode(name, "✓", "done"));
  const state = (at) => (done.has(key(way, at)) ? "done" : at === now ? "now" : "later");
  const nodes = (steps ?? []).map((step, at) => stepNode(step.title, state(at) === "done" ? "✓" : at + 1, state(at), next));
  const fold = (is) => {
    folded = is;
    remember();
  };
  const rest = open !== 0 ? [more(tried, folded ?? open > 0, { ask, askOnDiscord, fold })] : [];
  document.getElementById("guide").replaceChildren(el("h2", {}, "Try this"), el("ol", {}, gone, nodes), ...rest);
}

function stepNode(title, sign, state, next) {
  const mark = el("span", { class: "mark", "aria-hidden": "true" }, sign);
  const name = el("strong", {}, title, state === "done" ? el("span", { class: "unseen" }, " (done)") : null);
  if (state !== "now") return el("li", { class: state }, mark, name);
  const button = next.go ? el("button", { type: "button", class: "button", onclick: () => next.go() }, next.label) : null;
  return el("li", { class: state, "aria-current": "step" }, mark, name, el("span", { class: "words" }, next.words), button);
}
