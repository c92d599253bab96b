// Discord's modal: the form that is open before whoever looks. It closes when it is sent, whatever was in it.

import { dialog, field } from "../dialog.js";
import { el } from "../dom.js";
import * as door from "./actions.js";
import { here } from "./guild.js";
import { markdown } from "./markdown.js";

const TEXT = 10;
const SELECT = 3;
const LINES = 2;
let shown = null;

export function renderModal() {
  const open = here.guild.forms.at(-1);
  if (open && shown?.id === open.id) return;
  shown?.remove();
  shown = open ? build(open) : null;
}

function build({ id, modal }) {
  const fields = [];
  const part = (component) => {
    if (component.type === TEXT) return el("div", { class: "rich" }, markdown(component.content));
    const input = component.component ?? component.components[0];
    const label = component.label ?? input.label;
    const made = input.type === SELECT ? choice(input, label) : line(input, label);
    fields.push([input.custom_id, made.control]);
    return made.node;
  };
  const parts = modal.components.map(part);
  const error = el("p", { class: "field-error", role: "alert", hidden: true });
  const refused = (problem) => {
    error.textContent = problem.message;
    error.hidden = false;
  };
  const send = async () => {
    made.send.disabled = true;
    const typed = Object.fromEntries(fields.map(([name, control]) => [name, control.value]));
    await door.submit(typed).catch(refused);
    made.send.disabled = false;
  };
  const away = () => door.close().catch(refused);
  const made = dialog({ look: "discord-look", title: modal.title, parts, error, submit: "Submit", close: "Cancel", send, away });
  return { id, remove: made.remove };
}

const line = (input, label) =>
  field({ id: `field-${input.custom_id}`, label, value: input.value, most: input.max_length, lines: input.style === LINES, optional: input.required === false });

function choice(input, label) {
  const option = (one) => el("option", { value: one.value, selected: one.default }, one.label);
  const control = el("select", { "aria-label": label }, input.options.map(option));
  return { control, node: el("label", { class: "field" }, label, control) };
}
