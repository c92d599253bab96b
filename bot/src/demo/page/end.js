// The end of the guide: what was seen, counted from what the windows show, and how to run Nod for real.

import { el } from "./dom.js";
import { told as toldOnDiscord } from "./discord/progress.js";
import { all, ofBot, sent, told, words } from "./progress.js";
import { store } from "./store.js";

const REAL = [
  "cargo build --release -p nod-bot --no-default-features",
  "./target/release/nod manifest slack",
  "./target/release/nod doctor",
  "./target/release/nod run",
];

const many = (count, one, several = `${one}s`) => (count === 1 ? `1 ${one}` : `${count} ${several}`);
const count = (pattern) => all().filter((message) => ofBot(message) && pattern.test(words(message))).length;

function seen() {
  const booked = new Set([...store.calendars.values()].flatMap((one) => one.invitations.filter((letter) => letter.news === "invited").map((letter) => letter.event)));
  const lines = [
    [sent().length, (found) => `${many(found, "email")} sent, exactly as shown`],
    [count(/Undone by /), (found) => `${many(found, "request")} taken back`],
    [count(/records@meridian-secure[^]*Denied by /), () => "a trick stopped"],
    [booked.size, (found) => `${many(found, "meeting")} agreed on and booked`],
    [store.kills, () => "killed in the middle of sending, and still only one email"],
    [store.stops, (found) => `${many(found, "restart")}, and nothing forgotten`],
    [told(/Stopped|Sent/) && toldOnDiscord(/Sent/) ? 1 : 0, () => "the same on Slack and on Discord"],
  ];
  return lines.filter(([found]) => found > 0).map(([found, say]) => say(found));
}

export function showEnd() {
  const over = document.getElementById("end");
  const lines = seen();
  over.replaceChildren(
    el("h2", {}, lines.length ? "What you saw" : "Nothing was sent, and nothing will be"),
    el("ul", { class: "seen" }, lines.map((line) => el("li", {}, line))),
    el("h2", {}, "Run it for real"),
    el("p", {}, "Build Nod, make the Slack app from the second command's output, put its tokens and a model into the environment, and let the third one look over everything:"),
    el("pre", {}, REAL.join("\n")),
    el("p", {}, "The README has every step, for Discord and Google too."),
  );
  over.showPopover();
}
