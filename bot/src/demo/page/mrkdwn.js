// Slack's mrkdwn (https://docs.slack.dev/messaging/formatting-message-text) as nodes.

import { el, link } from "./dom.js";
import { moment } from "./slack_date.js";
import { nameOf, store } from "./store.js";

const unescaped = (text) => text.replaceAll("&lt;", "<").replaceAll("&gt;", ">").replaceAll("&amp;", "&");

const STYLES = [
  [/^\*(?=\S)([^*\n]*\S)\*(?!\w)/, "strong"],
  [/^_(?=\S)([^_\n]*\S)_(?!\w)/, "em"],
  [/^~(?=\S)([^~\n]*\S)~(?!\w)/, "s"],
];

export function mrkdwn(text) {
  const nodes = [];
  const parts = text.split(/```\n?([\s\S]*?)```/);
  parts.forEach((part, at) => {
    if (at % 2 === 1) nodes.push(el("pre", {}, unescaped(part)));
    else nodes.push(...lines(part));
  });
  return nodes;
}

// Lines that begin with > are a quote together.
function lines(text) {
  const nodes = [];
  let quote = null;
  text.split("\n").forEach((line, at, all) => {
    const quoted = /^(?:&gt;|>) ?(.*)$/.exec(line);
    if (quoted) {
      if (!quote) nodes.push((quote = el("blockquote")));
      else quote.append("\n");
      quote.append(...spans(quoted[1]));
      return;
    }
    quote = null;
    nodes.push(...spans(line));
    if (at < all.length - 1) nodes.push("\n");
  });
  return nodes;
}

function spans(text) {
  const nodes = [];
  let plain = "";
  const flush = () => {
    if (plain) nodes.push(unescaped(plain));
    plain = "";
  };
  for (let at = 0; at < text.length; ) {
    const rest = text.slice(at);
    const starts = at === 0 || /[\s([{"'“‘*_~>-]/.test(text[at - 1]);
    const found = token(rest) ?? (starts ? styled(rest) : null);
    if (found) {
      flush();
      nodes.push(found.node);
      at += found.length;
    } else {
      plain += text[at++];
    }
  }
  flush();
  return nodes;
}

function token(rest) {
  const code = /^`([^`\n]+)`/.exec(rest);
  if (code) return { node: el("code", {}, unescaped(code[1])), length: code[0].length };
  const angled = /^<([^<>\n]+)>/.exec(rest);
  return angled ? { node: reference(angled[1]), length: angled[0].length } : null;
}

function styled(rest) {
  for (const [pattern, tag] of STYLES) {
    const found = pattern.exec(rest);
    if (found) return { node: el(tag, {}, spans(found[1])), length: found[0].length };
  }
  return null;
}

function reference(inside) {
  const [target, label] = inside.split(/\|(.*)/s);
  if (target.startsWith("@")) return mention(target.slice(1));
  if (target.startsWith("#")) return channelName(target.slice(1), label);
  if (target.startsWith("!date^")) return date(target, unescaped(label ?? ""));
  if (target.startsWith("!")) return el("span", { class: "mention" }, `@${target.slice(1).split("^")[0]}`);
  return link(unescaped(target), unescaped(label ?? target.replace(/^mailto:/, "")));
}

export function mention(id) {
  return el("span", { class: id === store.me ? "mention own" : "mention" }, `@${nameOf(id)}`);
}

export function channelName(id, label) {
  const found = store.slack.channels.find((one) => one.id === id);
  return el("span", { class: "mention" }, `#${found?.name ?? label ?? id}`);
}

function date(target, label) {
  const [, seconds, format] = target.split("^");
  return moment(Number(seconds), format ?? "", label);
}
