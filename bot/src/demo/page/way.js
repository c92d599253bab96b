// What the guide says now: the first row that fits the facts (see facts.js). It knows no page and no clock of its own.
//
// A way is what a visitor goes: `say` (what they write), `connect` (how they ask for a link), `turn(facts)` (whose move it
// is, if not the visitor's), `result` (the fact that is its end), `votes`, and `words` of its own.

// How long an answer may take before the guide stops promising one, and how long a run may pause between two messages;
// in milliseconds.
const PATIENCE = 30_000;
const PAUSE = 10_000;

export function step(facts, way) {
  const [state, , says] = ROWS.find(([, fits]) => fits(facts, way));
  return { state, ...says(facts, way) };
}

const point = (words, label, note) => ({ words, label, go: "point", note });
const write = (words, say) => ({ words, label: "Type it for me", go: "write", say });
const again = (words, { say }) => ({ words, label: "Ask again", go: "write", say });
const waiting = (left) => ({ words: "Nod is on it…", again: left });

const turn = (facts, way) => way.turn?.(facts) ?? facts.visitor;
const named = (facts, handle) => facts.names[handle] ?? handle;

// Whether what was asked last is what this way asks: what became of something else is no news here.
const isAsked = (facts, way) => facts.asked?.words === way.say.replace(/^@nod /, "");
const isOpen = (facts) => facts.asked && !facts.answered;
const waited = (facts) => facts.now - facts.asked.since;
const still = (facts) => facts.now - facts.moved;

const ENDS = {
  undone: "You took it back, so it wasn't sent.",
  denied: "You denied it, so it wasn't sent.",
  expired: "It expired, so it wasn't sent.",
  replaced: "A newer request took its place.",
  unknown: "Nod can't tell yet whether it was sent. Its card says what you can do.",
  failed: "It didn't work. The card says why.",
};

const ROWS = [
  ["lost", (facts) => facts.lost, () => ({ words: "The demo isn't answering. Is it still running?" })],
  ["away", (facts) => facts.away, () => ({ words: "Nod is stopped. It's back in a few seconds." })],
  ["other", (facts, way) => facts.me !== turn(facts, way), become],
  ["question", (facts) => facts.question, ({ question }) => point("Nod asks which one you mean. Pick one.", "Go to the question", question)],
  ["link", (facts) => facts.link, (facts, way) => ({ words: way.words.link(facts), label: facts.link.label, go: "connect", note: facts.link })],
  ["refused", (facts) => facts.failed, (facts, way) => write(`Nothing was connected. Ask for a new link and choose ${facts.email}.`, way.connect)],
  ["times", (facts, way) => way.votes && facts.times, (facts, way) => point(way.words.times, "Go to the times", facts.times)],
  ["vote", (facts, way) => way.votes && facts.vote && !facts.card, (facts, way) => point(way.words.vote(facts), "Go to the vote", facts.vote)],
  ["card", (facts) => facts.card, ({ card }, way) => point(way.words.card ?? `Read exactly what will go out, then press ${card.approve}.`, "Go to the card", card)],
  ["undo", (facts) => facts.undo, ({ undo }) => ({ ...point(leaves(undo.left), "Go to the card", undo), again: 1000 })],
  ["leaving", (facts) => facts.leaving, () => ({ words: "It's being sent." })],
  ["arrived", (facts, way) => facts[way.result], (facts, way) => ({ words: way.words.arrived, label: way.words.open, go: "open", result: facts[way.result] })],
  ["sent", (facts, way) => facts.done && isAsked(facts, way), () => ({ words: "It's done." })],
  ["denied", (facts, way) => way.words.denied && facts.ended === "denied" && isAsked(facts, way), (_, way) => ({ words: way.words.denied, label: way.words.open, go: "open" })],
  ["ended", (facts, way) => facts.ended && isAsked(facts, way), ({ ended }, way) => again(ENDS[ended], way)],
  ["busy", (facts) => isOpen(facts) && (facts.thinking || waited(facts) < PATIENCE), (facts) => waiting(PATIENCE - waited(facts))],
  ["silent", isOpen, (_, way) => again("There's no answer yet.", way)],
  // A run says something and goes on: from a picked name to the card, from the last vote to the invitation.
  ["between", (facts, way) => isAsked(facts, way) && still(facts) < PAUSE, (facts) => waiting(PAUSE - still(facts))],
  ["idle", () => true, (_, way) => write(way.words.idle ?? `Send “${way.say}”${way.words.where ?? ""}.`, way.say)],
];

function become(facts, way) {
  const who = turn(facts, way);
  const words = way.words.other?.(facts) ?? `You're looking as ${named(facts, facts.me)}. This is for ${named(facts, who)}.`;
  return { words, label: `Switch to ${named(facts, who)}`, go: "become", who };
}

function leaves(left) {
  return left > 0 ? `It goes out in ${left} s. Until then you can press Undo.` : "It goes out now.";
}
