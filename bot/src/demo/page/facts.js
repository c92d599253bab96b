// What a window shows to have happened, in the same words for Slack and Discord (each one's progress.js takes the notes).
// Buttons count first, since they are what can be done now; words where no button is left. Pure.
//
// A note is one message: `at` and `changed` (milliseconds), `own`, `ofNod`, `asks` (whether it speaks to Nod), `whisper`,
// `words`, and `buttons` with `action`, `label` and `url`.

const ENDS = [
  ["undone", /Undone by /],
  ["denied", /Denied by /],
  ["expired", /Expired without an answer/],
  ["replaced", /Replaced by /],
  ["unknown", /→ Unknown\b/],
  ["failed", /Approved by [^]*→ Not /],
];
const LEAVING = /Approved by [^→]*→ [^→\n]*…/;
const UNTIL = /Approved by [^→]*→ [^→\n]* at (\d\d:\d\d:\d\d)/;
const DONE = /Approved by [^→]*→ \w/;
const SENT = /Approved by [^→]*→ Sent\b/;
// Seconds.
const QUARTER = 900;
// Names the person whose request it is.
const WHOSE = /(?:Only|Approved by|Undone by|Denied by) /;

const LINKED = /✓ (.* is connected|Now I can .*): \S+@/;
const REFUSED = /[Nn]othing was connected/;
// Said in the thread while the person is asked elsewhere: that is no answer yet.
const ASIDE = /Check our direct messages|^\W*Asked .* privately/;

const newest = (notes) => notes.reduce((last, one) => (last && last.at > one.at ? last : one), undefined);
const has = (pattern) => (note) => note.buttons.some(({ action }) => pattern.test(action));
export const isOffer = ({ url, label }) => Boolean(url) && /^(Rec|C)onnect /.test(label);
const offers = (note) => note.buttons.some(isOffer);

// What became of the request whose card this is.
export function outcome({ words }) {
  const end = ENDS.find(([, pattern]) => pattern.test(words));
  if (end) return end[0];
  if (LEAVING.test(words)) return "leaving";
  if (UNTIL.test(words)) return "undo";
  return DONE.test(words) ? "done" : undefined;
}

// `name` is whose eyes these are, as Nod calls them; `pressed` when they last pressed a button.
export function facts({ notes, now, name, pressed = 0, ...rest }) {
  const ofNod = notes.filter((note) => note.ofNod);
  const isMine = ({ words }) => !WHOSE.test(words) || words.includes(`Only ${name}`) || words.includes(`by ${name}`);
  const said = ofNod.filter((note) => !note.whisper && isMine(note));
  const linked = newest(ofNod.filter((note) => LINKED.test(note.words)));
  const failed = newest(ofNod.filter((note) => REFUSED.test(note.words)));
  const offer = newest(ofNod.filter(offers));
  const isUsed = offer && [linked, failed].some((one) => one && one.changed > offer.at);
  const card = newest(said.filter(has(/^approve/)));
  const undo = newest(said.filter(has(/^undo/)));
  const last = newest(said.filter((note) => outcome(note) || has(/^approve/)(note)));
  const asked = newest(notes.filter((note) => note.own && note.asks));
  // What was asked after a request had ended is about something else.
  const became = last && !(asked && asked.at > last.at) ? outcome(last) : undefined;
  const since = asked && Math.max(asked.at, linked?.changed ?? 0);
  const isAnswer = (note) => note.at > since && !offers(note) && !LINKED.test(note.words) && !ASIDE.test(note.words);
  return {
    ...rest,
    now,
    // The times of a meeting are the meeting's own (see `times`), also while the others vote.
    question: newest(said.filter((note) => has(/^answer_question/)(note) && !/Which time\?/.test(note.words))),
    link: isUsed || !offer ? undefined : { ...offer, ...offer.buttons.find(isOffer) },
    failed: failed && !(linked && linked.changed > failed.changed) ? failed : undefined,
    connected: Boolean(linked),
    connectedAt: linked?.changed,
    times: newest(said.filter(has(/^open_vote/))),
    vote: newest(ofNod.filter(has(/^vote/))),
    card: card && { ...card, approve: card.buttons.find(({ action }) => /^approve/.test(action)).label },
    undo: undo && { ...undo, left: secondsUntil(UNTIL.exec(undo.words)?.[1], now) },
    leaving: became === "leaving",
    done: became === "done",
    sent: said.some((note) => SENT.test(note.words)),
    ended: ENDS.some(([end]) => end === became) ? became : undefined,
    asked: asked && { words: asked.words.replace(/^@nod\s+/i, ""), since },
    answered: Boolean(asked) && ofNod.some(isAnswer),
    // When something last moved.
    moved: Math.max(pressed, ...ofNod.map((note) => note.changed)),
    stood: Boolean(last),
  };
}

// The seconds until a time of day; negative once it is over. Nod's clock may be in another zone than this one: zones
// differ by whole quarters of an hour, so the place within one is enough.
export function secondsUntil(clock, now) {
  if (!clock) return undefined;
  const [minutes, seconds] = clock.split(":").slice(1).map(Number);
  const left = (minutes * 60 + seconds - Math.floor(now / 1000)) % QUARTER;
  if (left < -QUARTER / 2) return left + QUARTER;
  return left > QUARTER / 2 ? left - QUARTER : left;
}
