// The way of a document, in Slack and in Discord alike: ask one that Nod knows, open what the answer rests on, drop one
// more, ask about it, and have it forgotten. `place` is the window: what is said there, and what can be done.

import { store } from "./store.js";

export const QUESTION = "@nod how many days of annual leave do I have?";
const KEEP = "@nod keep this";
const ASK = "@nod what do the brochures cost in the offer?";
const ABOUT = /brochure|offer/i;
const UNKNOWN = /I don.t know|do(es)? not say|found nothing/i;

const READING = /I'm reading this|I've read this, and now/;
const READ = /I've read this( again)?\. Ask me|replaces the earlier one/;
const FAILED = /I couldn't read this/;
const REMOVED = /I've forgotten what it said/;
const CARD = new RegExp([READING, READ, FAILED, REMOVED].map((one) => one.source).join("|"));

const newest = (all) => all.reduce((last, one) => (last && last.order > one.order ? last : one), undefined);

export function documentSteps(place) {
  const handbook = () => store.facts.handbook;
  const offer = () => store.facts.offer;
  const cites = (name) => (said) => said.buttons.some(({ action, label }) => /^knowledge_passage/.test(action) && label.includes(name));
  const answer = (name) => newest(place.said().filter(cites(name)));
  const opened = () => place.whispers().some(({ words }) => /Cited/.test(words) && words.includes(handbook()));
  // What Nod's latest message about the offer says of it; an answer that cites it is none.
  const card = () => newest(place.said().filter(({ words }) => CARD.test(words) && words.includes(offer())));
  const is = (state) => state.test(card()?.words ?? "");
  const hasRead = () => is(READ);
  const removed = () => is(REMOVED) || place.whispers().some(({ words }) => REMOVED.test(words) && words.includes(offer()));
  // The card of a document that was removed is as old as the document: what came after the last answer from it counts.
  const unknown = () => {
    const last = answer(offer());
    const after = (said) => !last || said.order > last.order;
    return removed() && place.said().some((said) => after(said) && UNKNOWN.test(said.words) && ABOUT.test(place.asked(said)));
  };
  // Nod's question whether it is meant, if it is about what is there now.
  const asks = () => newest(place.whispers().filter((whisper) => whisper.order > card()?.order && whisper.buttons.some(({ action }) => /^knowledge_remove/.test(action))));

  const write = (words, say) => ({ words, label: "Type it for me", go: () => place.ask(say) });
  const drop = (words) => ({ words, label: "Drop it for me", go: () => place.drop(KEEP) });

  function asking() {
    return write(`Nod knows the company's handbook, 12 pages. Write “${QUESTION}”, and it answers with the page.`, QUESTION);
  }

  function opening() {
    const last = answer(handbook());
    if (!last) return write("There is no answer from the handbook here. Ask once more.", QUESTION);
    return { words: `Press the button of ${handbook()} below the answer: Nod shows the passage that it rests on, to you alone.`, label: "To the answer", go: () => place.point(last) };
  }

  function dropping() {
    if (is(READING)) return { words: `Nod reads ${offer()}. Its message says when it is done.` };
    if (is(FAILED)) return drop(`Nod could not read ${offer()}, and says why. Drop it once more.`);
    return drop(`A printer made an offer for brochures: ${offer()}. Drop it here with the words “${KEEP}”, and send it.`);
  }

  function askingOffer() {
    if (!hasRead()) return drop(`Nod does not have ${offer()} here. Drop it once more, and send it.`);
    return write(`Write “${ASK}”.`, ASK);
  }

  function removing() {
    if (!hasRead()) return drop(`Nod does not have ${offer()} here. Drop it once more, and send it.`);
    const by = place.dropper(offer());
    if (by && by !== place.me()) return { words: `${place.nameOf(by)} dropped it, and may remove it.`, label: `Switch to ${place.nameOf(by)}`, go: () => place.become(by) };
    if (asks()) return { words: "Nod asks whether you mean it. Press Yes, remove it.", label: "To the question", go: () => place.point(asks()) };
    return write(place.removal.words(offer()), place.removal.say(offer()));
  }

  function askingAgain() {
    if (hasRead()) return removing();
    return write("Ask the same once more: what was removed is not known any more, and Nod says so.", ASK);
  }

  return [
    { title: "Ask the handbook", is: () => Boolean(answer(handbook())), now: asking },
    { title: "Open the source", is: opened, now: opening },
    { title: "Drop a PDF", is: () => hasRead() || removed(), now: dropping },
    { title: "Ask about it", is: () => Boolean(answer(offer())), now: askingOffer },
    { title: "Remove it", is: removed, now: removing },
    { title: "Ask again", is: unknown, now: askingAgain },
  ];
}
