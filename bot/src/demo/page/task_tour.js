// A way: a task, from a wish to its result, in the direct messages with Nod, while its person decides what only they can.

import { mailWay, write } from "./mail_tour.js";
import { all, ofBot, onSlack, told, words } from "./progress.js";
import { line } from "./store.js";

export const TASK =
  "/nod task compare the three caterers in my mail, ask me for the date, put it into a file called comparison, " +
  "and write to the best one";

const CARD = /'s task ·/;
const ENDED = /'s task · (Done|Partly done|Not done|May not be complete|Failed|Stopped)/;

const QUEUED = /'s task · Queued/;

// One that is queued does nothing yet.
const newest = () => all().filter((message) => ofBot(message) && CARD.test(words(message)) && !QUEUED.test(words(message))).at(-1);
const begun = () => Boolean(newest());
const is = (pattern) => pattern.test(newest() ? words(newest()) : "");
const point = (text, label, message) => ({ words: text, label, go: () => mailWay.acts.point({ note: { message } }) });

function giving() {
  return { words: "For what takes several steps, give Nod a task. It goes on by itself, also if Nod is restarted.", label: "Type it for me", go: () => write(line(), TASK) };
}

// What only the person can do now, else where to watch it.
function going(wanted) {
  const { link, question, card } = onSlack({ tasks: true });
  if (is(/· (Failed|Stopped)/)) return { ...giving(), words: "The task has ended. Give it once more." };
  if (link) return { words: mailWay.words.link({ email: onSlack({ tasks: true }).email }), label: link.label, go: () => mailWay.acts.connect({ note: link }) };
  if (is(/did not work: see/)) return point("A step did not work. Its message asks whether to try it again.", "To the task", newest());
  if (card && wanted === "nod") return point("What reaches others still waits for you: read it, and approve.", "Go to the card", card.message);
  if (question) return point("It needs something that only you know. Pick a date.", "Go to the question", question.message);
  return point("Watch its card: each step is ticked off. Ask Nod something else meanwhile, if you like.", "To the task", newest());
}

export const taskSteps = [
  { title: "Give a task", is: begun, now: giving },
  { title: "Answer it", is: () => told(/Which date\? →/), now: () => going("answer") },
  { title: "Approve its email", is: () => is(/[✓◐–] 4 /) || is(ENDED), now: () => going("nod") },
  { title: "Read the result", is: () => is(ENDED) && told(/(Done|Partly done|Not done): Compare the three caterers/), now: () => going("nod") },
];
