// Block Kit (https://docs.slack.dev/reference/block-kit/blocks) as nodes: the blocks that a message may have.

import { connects } from "./connect.js";
import { el, link } from "./dom.js";
import { mrkdwn } from "./mrkdwn.js";
import { rich, unknown } from "./rich_text.js";

// `act(element)` is called when a button is pressed.
export function blocks(all, act) {
  return all.map((block) => el("div", { class: `block ${block.type}` }, inside(block, act)));
}

function inside(block, act) {
  switch (block.type) {
    case "header":
      return el("h2", {}, block.text.text);
    case "section":
      return section(block, act);
    case "context":
      return block.elements.map((one) => (one.type === "image" ? `[${one.alt_text}]` : el("span", {}, text(one))));
    case "divider":
      return el("hr");
    case "rich_text":
      return rich(block.elements);
    case "markdown":
      return el("div", { class: "rich" }, block.text);
    case "image":
      return `[${block.alt_text}]`;
    case "actions":
      return block.elements.map((one) => element(one, act));
    case "context_actions":
      return block.elements.flatMap((one) => small(one, act));
    default:
      return unknown(block.type);
  }
}

function section(block, act) {
  const fields = (block.fields ?? []).map((field) => el("div", { class: "rich" }, text(field)));
  return [
    block.text ? el("div", { class: "rich" }, text(block.text)) : null,
    fields.length ? el("div", { class: "fields" }, fields) : null,
    block.accessory ? element(block.accessory, act) : null,
  ];
}

const text = (object) => (object.type === "mrkdwn" ? mrkdwn(object.text) : object.text);

// Both feedback buttons have one action id; their values tell them apart.
function small(one, act) {
  if (one.type !== "feedback_buttons") return unknown(one.type);
  const button = ({ text: { text }, value, accessibility_label: label }) =>
    el("button", { type: "button", class: "button", "aria-label": label ?? text, "data-action": value, onclick: (event) => act({ ...one, value }, false, event.currentTarget) }, text);
  return [button(one.positive_button), button(one.negative_button)];
}

function element(one, act) {
  if (one.type !== "button") return unknown(one.type);
  const look = { class: `button ${one.style ?? ""}`, "aria-label": one.accessibility_label };
  if (one.url) {
    // As Slack's own client: the page opens and the app hears of the press.
    return link(one.url, one.text.text, { ...look, onclick: (event) => (connects(event, one.url, one.text.text), act(one, true)) });
  }
  const pressed = (event) => {
    if (one.confirm && !window.confirm(`${one.confirm.title.text}\n${one.confirm.text.text}`)) return;
    act(one, false, event.currentTarget);
  };
  return el("button", { type: "button", "data-action": one.action_id, ...look, onclick: pressed }, one.text.text);
}
