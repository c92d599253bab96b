// A way: a time that suits three people in three zones, from the question to their calendars.

import { lookIntoCalendar } from "./mail.js";
import { mailWay } from "./mail_tour.js";
import { onSlack, told } from "./progress.js";
import { people } from "./store.js";

export const FIND = "@nod find 45 minutes with Bo and Cho next week for planning";
// Whoever asks, and who is asked.
const VOTERS = ["ana", "bo", "cho"];

const booked = ({ event, looked }) => Boolean(event) || looked;
const agreed = (facts) => told(/This works for everyone|picked this one|Send this invitation\?/) || booked(facts);
const asked = (facts) => told(/When works for you\?/) || agreed(facts);

const fullName = (handle) => people().find((one) => one.name === handle).real_name;
const hasVoted = ({ words }, name) => new RegExp(`(✓|None of these work:)[^\\n]*${name}`).test(words);
const next = ({ vote }) => VOTERS.find((one) => !hasVoted(vote, fullName(one)));
const HOW = "press the number of every time that works for you (times are in your time zone)";

export const meetingWay = {
  name: "A meeting",
  facts: onSlack,
  say: FIND,
  connect: "/nod connect google",
  result: "event",
  votes: true,
  // Once everybody voted it is nobody's turn: whoever looks may change a vote.
  turn: (facts) => (facts.vote && !facts.card ? next(facts) ?? facts.me : facts.visitor),
  words: {
    link: () => "Nod can't see your calendar yet. Allow it, and Nod picks up where it left off.",
    times: "All three of you are free at these times. Press Ask the others to let them vote in the thread.",
    vote: (facts) => (next(facts) ? `As ${facts.names[facts.me]}, ${HOW}.` : "No time works for all three yet. Press a number again to take your vote back."),
    other: (facts) => (facts.vote && !facts.card && next(facts) ? `It's ${facts.names[next(facts)]}'s turn: ${HOW}.` : undefined),
    arrived: "It's now in all three calendars, each in its own time zone.",
    open: "Open a guest's calendar",
  },
  steps: [
    { title: "Find a time", is: (facts) => told(/Which time\?/) || asked(facts) },
    { title: "Ask the others", is: asked },
    { title: "Vote", is: agreed },
    { title: "Approve", is: booked },
    { title: "See it booked", is: ({ looked }) => looked },
  ],
  acts: { ...mailWay.acts, open: ({ result }) => lookIntoCalendar(result.account, result.event) },
};
