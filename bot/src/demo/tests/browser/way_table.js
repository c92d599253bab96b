// Facts, and what the guide says of them. Runs on the page; returns the rows that do not hold.
const SAY = "tell Bo I'm late";
const NOW = 1_000_000;
const none = { me: "ana", visitor: "ana", names: { ana: "Ana", bo: "Bo" }, email: "ana@acme.test", now: NOW, moved: 0, answered: false };
const mail = { say: `@nod ${SAY}`, connect: "/nod connect google", result: "mail", words: { link: () => "a link", arrived: "arrived", open: "Open" } };
const trick = { ...mail, words: { ...mail.words, idle: "let it read", card: "press Deny", denied: "nothing left" } };
const turnOfBo = { ...mail, votes: true, turn: () => "bo", words: { ...mail.words, times: "times", vote: () => "vote" } };
const meeting = { ...turnOfBo, turn: undefined };
const asked = (ago, words = SAY) => ({ asked: { words, since: NOW - ago }, moved: NOW - ago });
const answered = (ago, still) => ({ ...asked(ago), answered: true, moved: NOW - still });
const [card, undo, other] = [{ approve: "Approve & send" }, { left: 7 }, "what's new?"];

const TABLE = [
  // what holds, the way, the state, and words of it
  [{}, mail, "idle", "Send “@nod tell Bo I'm late”"],
  [{ lost: true, away: true }, mail, "lost", "isn't answering"],
  [{ lost: true, card }, mail, "lost", "isn't answering"],
  [{ away: true }, mail, "away", "stopped"],
  [{ away: true, card }, mail, "away", "stopped"],
  [{ away: true, me: "bo" }, mail, "away", "stopped"],
  [{ me: "bo" }, mail, "other", "This is for Ana"],
  [{ me: "bo", card }, mail, "other", "You're looking as Bo"],
  [{}, turnOfBo, "other", "This is for Bo"],
  [{ question: {} }, mail, "question", "which one"],
  [{ question: {}, ...asked(1000) }, mail, "question", "which one"],
  [{ question: {}, link: {} }, mail, "question", "which one"],
  [{ link: { label: "Connect Google" } }, mail, "link", "a link"],
  [{ link: { label: "Connect Google" }, ...asked(60_000) }, mail, "link", "a link"],
  [{ link: { label: "Connect Google" }, failed: {} }, mail, "link", "a link"],
  [{ failed: {} }, mail, "refused", "Nothing was connected"],
  [{ failed: {}, ...asked(1000) }, mail, "refused", "ana@acme.test"],
  [{ times: {} }, mail, "idle", "Send"],
  [{ times: {} }, meeting, "times", "times"],
  [{ vote: {} }, meeting, "vote", "vote"],
  [{ vote: {}, card }, meeting, "card", "Approve & send"],
  [{ card }, mail, "card", "Approve & send"],
  [{ card, undo }, mail, "card", "Approve & send"],
  [{ card, ...asked(60_000) }, mail, "card", "Approve & send"],
  [{ card: { approve: "Approve & invite" } }, mail, "card", "Approve & invite"],
  [{ undo }, mail, "undo", "in 7 s"],
  [{ undo: { left: 0 } }, mail, "undo", "now"],
  [{ undo: { left: undefined } }, mail, "undo", "now"],
  [{ undo, ...asked(60_000) }, mail, "undo", "Undo"],
  [{ leaving: true, ...asked(60_000) }, mail, "leaving", "being sent"],
  [{ mail: {}, done: true, ...asked(60_000) }, mail, "arrived", "arrived"],
  [{ mail: {}, card }, mail, "card", "Approve & send"],
  [{ done: true, ...asked(60_000) }, mail, "sent", "done"],
  [{ done: true, ...asked(60_000, other) }, mail, "silent", "no answer"],
  [{ ended: "undone", ...answered(9000, 0) }, mail, "ended", "took it back"],
  [{ ended: "denied", ...answered(9000, 0) }, mail, "ended", "denied"],
  [{ ended: "denied", ...answered(9000, 0) }, trick, "denied", "nothing left"],
  [{ ended: "expired", ...answered(9000, 0) }, trick, "ended", "expired"],
  [{ ended: "denied", ...asked(9000, other), answered: true }, trick, "idle", "let it read"],
  [{ card }, trick, "card", "press Deny"],
  [{}, trick, "idle", "let it read"],
  [{ ended: "expired", ...answered(9000, 0) }, mail, "ended", "expired"],
  [{ ended: "unknown", ...answered(9000, 0) }, mail, "ended", "can't tell"],
  [{ ended: "failed", ...answered(9000, 0) }, mail, "ended", "didn't work"],
  [{ ended: "undone", ...asked(60_000, other), answered: true }, mail, "idle", "Send"],
  [asked(1000), mail, "busy", "on it"],
  [asked(29_000, other), mail, "busy", "on it"],
  [asked(31_000), mail, "silent", "no answer"],
  [{ ...asked(90_000), thinking: true }, mail, "busy", "on it"],
  [answered(40_000, 1000), mail, "between", "on it"],
  [answered(40_000, 11_000), mail, "idle", "Send"],
];

// Messages, and what became of the request.
const ENDS = [
  ["Approved by Ana Silva 23:25 WET → Sending at 23:25:26 WET\n[Undo]", "undo"],
  ["Approved by Ana Silva 23:25 WET → Sending…", "leaving"],
  ["Approved by Ana Silva 23:25 WET → Sent 23:25 WET", "done"],
  ["Approved by Ana Silva → Undone by Ana Silva 23:25 WET. Not sent.", "undone"],
  ["Denied by Ana Silva 23:25 WET (too early…). Not sent.", "denied"],
  ["Expired without an answer. Not sent.", "expired"],
  ["Replaced by a newer card.", "replaced"],
  ["Approved by Ana Silva 23:25 WET → Unknown 23:26 WET. I can't tell yet", "unknown"],
  ["Approved by Ana Silva 23:25 WET → Not sent 23:26 WET", "failed"],
  ["Send this email?\nHi Bo… → soon", undefined],
];

return Promise.all([import("/way.js"), import("/facts.js")]).then(([{ step }, { facts, outcome, secondsUntil }]) => {
  const wrong = [];
  const holds = (what, is, should) => is !== should && wrong.push(`${what}: ${is} instead of ${should}`);
  for (const [given, way, state, words] of TABLE) {
    const found = step({ ...none, ...given }, way);
    holds(JSON.stringify(given), found.state, state);
    if (!found.words.includes(words)) wrong.push(`${state} says “${found.words}”`);
    if (Boolean(found.label) !== Boolean(found.go)) wrong.push(`${state} has a button that leads nowhere`);
  }
  for (const [words, end] of ENDS) holds(words, outcome({ words }), end);
  const noon = Date.parse("2026-03-06T12:00:00Z");
  for (const [clock, left] of [["12:00:07", 7], ["12:00:00", 0], ["11:59:58", -2], [undefined, undefined]]) holds(clock, secondsUntil(clock, noon), left);
  holds("another zone", secondsUntil("17:45:07", noon), 7);
  holds("midnight", secondsUntil("00:00:04", Date.parse("2026-03-06T23:59:58Z")), 6);
  // Another person's card is none of mine, and messages come in any order.
  const note = (at, words, action, more) => ({ at, changed: at, words, ofNod: true, buttons: action ? [{ action, label: "Approve & send" }] : [], ...more });
  const read = (...notes) => facts({ ...none, notes, name: "Ana Silva" });
  holds("a card of Bo's", Boolean(read(note(1, "Only Bo Lind can approve this.", "approve:1")).card), false);
  holds("two cards", read(note(2, "Only Ana Silva can approve this.", "approve:2"), note(1, "Only Ana Silva can approve this.", "approve:1")).card.at, 2);
  holds("a vote's times", Boolean(read(note(1, "Which time?", "answer_question:1")).question), false);
  const link = note(5, "I need access", "", { buttons: [{ action: "", label: "Connect Google", url: "http://x" }] });
  holds("a link", read(link).link?.at, 5);
  holds("a link that was used", read(link, note(6, "✓ Google is connected: ana@acme.test")).link, undefined);
  holds("a link after a refusal", read(note(4, "No problem, nothing was connected."), link).link?.at, 5);
  const ask = { at: 7, changed: 7, words: "@nod tell Bo I'm late", own: true, asks: true, buttons: [] };
  holds("asked after an end", read(note(3, "Denied by Ana Silva 23:25"), ask).ended, undefined);
  holds("sent elsewhere", read(ask, note(8, "Ana Silva, I need access to your account first. Check our direct messages.")).answered, false);
  return wrong;
});
