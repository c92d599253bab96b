// Writes down each sentence of the guide, and holds it against what Slack or Discord shows at that moment. It reads their
// state as it comes, without the guide's own understanding of it. Notes too how high the header was. The argument is the window: slack or discord.
const [view] = arguments;
return Promise.all([import("/store.js"), import("/discord/guild.js")]).then(([{ store }, { here }]) => {
  const told = (window.told = { said: [], lies: [], heights: [] });
  const seen = (pattern, on) => pattern.test(JSON.stringify(on.channels) + JSON.stringify(on.ephemerals));
  const sent = () => [...store.boxes.values()].some((box) => box.sent.length);
  // What a sentence may only be said with, by the kinds of buttons that are there.
  const NEEDS = [
    [/then press Approve/, (on) => seen(/"approve:/, on)],
    [/It goes out/, (on) => seen(/"undo:/, on)],
    [/free at these times/, (on) => seen(/"open_vote:/, on)],
    [/press the number/, (on) => seen(/"vote:/, on)],
    [/asks which one/, (on) => seen(/"answer_question:/, on)],
    [/needs your account|your calendar yet/, (on) => seen(/"Connect /, on)],
    [/press Deny/, (on) => seen(/"deny:/, on)],
    [/Nothing left/, (on) => seen(/Denied by/, on)],
    [/It's sent/, sent],
    [/took it back/, (on) => seen(/Undone by/, on)],
  ];
  const look = () => {
    const step = document.querySelector("#guide .now");
    const words = step?.querySelector(".words")?.textContent ?? "";
    if (!words || told.said.at(-1) === words) return;
    told.said.push(words);
    const on = view === "discord" ? here.guild : store.slack;
    for (const [said, needs] of NEEDS) if (said.test(words) && !needs(on)) told.lies.push(`“${words}” without ground`);
    const asksToAsk = /^Send|no answer|Ask again/.test(words);
    if (asksToAsk && seen(/"(approve|undo):/, on)) told.lies.push(`“${words}” while a request is open`);
  };
  new MutationObserver(look).observe(document.getElementById("guide"), { childList: true, subtree: true, characterData: true });
  const header = document.querySelector("header");
  // Its breadth may change: a window is made smaller.
  new ResizeObserver(() => told.heights.at(-1) === header.offsetHeight || told.heights.push(header.offsetHeight)).observe(header);
  look();
  return true;
});
