// Discord's Markdown (https://support.discord.com/hc/articles/210298617) as nodes.

import { el, link } from "../dom.js";
import { goTo, here, nameOf, place } from "./guild.js";
import { stamp } from "./timestamp.js";

export function markdown(text) {
  return text.split(/(```(?:[^`]|`(?!``))+```)/).flatMap((part) => {
    const code = /^```(?:[\w+-]+\n)?\n?([\s\S]+?)\n?```$/.exec(part);
    return code ? el("pre", {}, code[1]) : lines(part);
  });
}

// What begins a line, and what its lines stand in together.
const BLOCKS = [
  [/^(#{1,3}) +(.+)$/, (found) => el(`h${found[1].length + 2}`, { class: `h${found[1].length}` }, spans(found[2]))],
  [/^-# +(.+)$/, (found) => el("small", { class: "subtext" }, spans(found[1]))],
  [/^> (.*)$/, (found) => el("div", {}, spans(found[1])), () => el("blockquote")],
  [/^( *)[-*] +(.+)$/, (found) => el("li", { class: found[1] ? "inner" : "" }, spans(found[2])), () => el("ul")],
  [/^( *)(\d+)\. +(.+)$/, (found) => el("li", { class: found[1] ? "inner" : "", value: found[2] }, spans(found[3])), () => el("ol")],
];

function lines(text) {
  const out = [];
  let around = null;
  let begun = true;
  // The line break before and after a code block is the block's.
  for (const line of text.replace(/^\n|\n$/g, "").split("\n")) {
    const at = BLOCKS.findIndex(([pattern]) => pattern.test(line));
    if (at < 0) {
      if (!begun) out.push("\n");
      out.push(...spans(line));
      [around, begun] = [null, false];
      continue;
    }
    const [pattern, make, holder] = BLOCKS[at];
    const node = make(pattern.exec(line));
    if (!holder) out.push(node);
    else if (around?.at === at) around.node.append(node);
    else out.push((around = { at, node: holder() }).node) && around.node.append(node);
    if (!holder) around = null;
    begun = true;
  }
  return text ? out : [];
}

const MENTIONS = {
  "@": (id) => el("span", { class: id === here.me ? "mention own" : "mention" }, `@${nameOf(id)}`),
  "#": (id) => el("button", { type: "button", class: "mention", onclick: () => place(id) && goTo(id) }, `#${place(id)?.name ?? "unknown"}`),
};

// In this order: what stands first wins.
const SPANS = [
  [/^\\([^\w\s])/, (found) => found[1]],
  [/^(`+)([\s\S]*?[^`])\1(?!`)/, (found) => el("code", {}, found[2].trim() || found[2])],
  [/^<(@|#)!?(\d+)>/, (found) => MENTIONS[found[1]](found[2])],
  [/^<@&\d+>/, () => el("span", { class: "mention" }, "@role")],
  [/^<t:(-?\d+)(?::([tTdDfFRsS]))?>/, (found) => stamp(Number(found[1]), found[2])],
  [/^<(https?:\/\/[^\s>]+)>/, (found) => link(found[1], found[1])],
  [/^\[((?:\\.|[^\]\\])+)\]\(<?([^\s)>]+)>?\)/, (found) => link(found[2], found[1].replace(/\\(.)/g, "$1"))],
  [/^https?:\/\/[^\s<>]*[^\s<>.,:;"'()\]]/, (found) => link(found[0], found[0])],
  [/^@(everyone|here)\b/, (found) => el("span", { class: "mention" }, found[0])],
  [/^\*\*((?:\\.|[^\\])+?)\*\*(?!\*)/, (found) => el("strong", {}, spans(found[1]))],
  [/^__((?:\\.|[^\\])+?)__(?!_)/, (found) => el("u", {}, spans(found[1]))],
  [/^~~((?:\\.|[^\\])+?)~~/, (found) => el("s", {}, spans(found[1]))],
  [/^\|\|((?:\\.|[^\\])+?)\|\|/, (found) => spoiler(found[1])],
  [/^\*(?!\s)((?:\\.|\*\*|[^\\*])+?)\*(?!\*)/, (found) => el("em", {}, spans(found[1]))],
  [/^_((?:\\.|__|[^\\_])+?)_(?!\w)/, (found) => el("em", {}, spans(found[1]))],
];

function spoiler(words) {
  const show = (event) => event.currentTarget.classList.add("open");
  return el("button", { type: "button", class: "spoiler", onclick: show }, spans(words));
}

function spans(text) {
  const nodes = [];
  let plain = "";
  for (let at = 0; at < text.length; ) {
    const rest = text.slice(at);
    // A mark within a word is none: snake_case, or an address.
    const inWord = /\w/.test(text[at - 1] ?? "") && /^[_h]/.test(rest);
    const [pattern, make] = (!inWord && SPANS.find(([one]) => one.test(rest))) || [];
    if (!pattern) {
      plain += text[at++];
      continue;
    }
    const found = pattern.exec(rest);
    nodes.push(plain, make(found));
    plain = "";
    at += found[0].length;
  }
  return [...nodes, plain].flat().filter((node) => node !== "");
}
