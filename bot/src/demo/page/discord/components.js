// Message components (https://discord.com/developers/docs/components/reference) as nodes.

import { connects } from "../connect.js";
import { el, link } from "../dom.js";
import { unknown } from "../rich_text.js";
import { markdown } from "./markdown.js";

// `act(custom id, chosen value, node)` is called when something is pressed or chosen.
export const components = (all, act) => all.map((one) => component(one, act));

function component(one, act) {
  switch (one.type) {
    case 1:
      return el("div", { class: "row" }, components(one.components, act));
    case 2:
      return button(one, act);
    case 3:
      return select(one, act);
    case 9:
      return el("div", { class: "aside" }, el("div", {}, components(one.components, act)), component(one.accessory, act));
    case 10:
      return el("div", { class: "rich" }, markdown(one.content));
    // What is attached stands below the message.
    case 13:
      return null;
    case 14:
      return el("hr", { class: `${one.divider === false ? "bare" : ""} ${one.spacing === 2 ? "wide" : ""}` });
    case 17:
      return container(one, act);
    default:
      return unknown(`component ${one.type}`);
  }
}

function container(one, act) {
  const node = el("div", { class: "container" }, components(one.components, act));
  const colour = one.accent_color;
  if (Number.isInteger(colour)) node.style.borderLeftColor = `#${colour.toString(16).padStart(6, "0")}`;
  return one.spoiler ? el("details", {}, el("summary", {}, "Spoiler"), node) : node;
}

const STYLES = { 1: "primary", 2: "secondary", 3: "success", 4: "danger", 5: "secondary" };

function button(one, act) {
  const words = [one.emoji?.name, one.label].filter(Boolean).join(" ");
  const look = `button ${STYLES[one.style] ?? "secondary"}`;
  if (one.url) return link(one.url, `${words} ↗`, { class: look, onclick: (event) => connects(event, one.url, words) });
  const pressed = (event) => act(one.custom_id, undefined, event.currentTarget);
  return el("button", { type: "button", class: look, "data-action": one.custom_id, disabled: one.disabled, onclick: pressed }, words);
}

function select(one, act) {
  const option = ({ label, value, description }) => el("option", { value }, description ? `${label} – ${description}` : label);
  const first = el("option", { value: "", disabled: true, selected: true }, one.placeholder ?? "Make a selection");
  const chosen = (event) => act(one.custom_id, event.currentTarget.value, event.currentTarget);
  return el("select", { disabled: one.disabled, "data-action": one.custom_id, "aria-label": one.placeholder ?? "Choose", onchange: chosen }, first, one.options.map(option));
}
