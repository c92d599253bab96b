// Slack's modal (https://docs.slack.dev/surfaces/modals): the form that is open before the visitor, on top of all.
// It is built once for each view and patched after that, so that what is being typed stays.

import * as api from "./api.js";
import { blocks } from "./blocks.js";
import { dialog, field } from "./dialog.js";
import { el } from "./dom.js";
import { store } from "./store.js";

let shown = null;

export function renderModal() {
  const open = store.slack.views.at(-1);
  if (open && shown?.id === open.id && shown.made === JSON.stringify(open.view)) return patch(open);
  shown?.remove();
  shown = open ? build(open) : null;
}

function build(open) {
  const { view } = open;
  const fields = new Map();
  const parts = view.blocks.map((block) => {
    if (block.type !== "input") return blocks([block], () => {});
    const made = input(block);
    fields.set(block.block_id, made);
    return made.node;
  });
  const error = el("p", { class: "field-error", role: "alert", hidden: true });
  const made = dialog({
    title: view.title.text,
    parts,
    error,
    submit: view.submit?.text,
    close: view.close?.text ?? "Close",
    send: () => submit(open),
    away: () => away(open),
  });
  return { id: open.id, made: JSON.stringify(view), remove: made.remove, fields, error, send: made.send };
}

function input({ block_id, element, label, optional }) {
  const [value, most, lines] = [element.initial_value, element.max_length, element.multiline];
  return field({ id: `field-${block_id}`, label: label.text, value, most, lines, optional });
}

async function submit(open) {
  const { fields, send } = shown;
  const typed = Object.fromEntries([...fields].map(([id, field]) => [id, field.control.value]));
  if (send) send.disabled = true;
  try {
    await api.submit(store.me, open.id, typed);
    say("");
  } catch (problem) {
    if (send) send.disabled = false;
    say(problem.message);
  }
}

// What Nod has to say to what was sent stands beside the fields.
function patch(open) {
  const errors = open.answer?.errors ?? {};
  if (shown.answer === JSON.stringify(open.answer)) return;
  shown.answer = JSON.stringify(open.answer);
  if (shown.send) shown.send.disabled = false;
  for (const [id, field] of shown.fields) {
    field.error.textContent = errors[id] ?? "";
    field.error.hidden = !errors[id];
    field.control.setAttribute("aria-invalid", String(Boolean(errors[id])));
  }
  shown.fields.get(Object.keys(errors)[0])?.control.focus();
}

async function away(open) {
  try {
    await api.closeForm(store.me, open.id);
  } catch (problem) {
    say(problem.message);
  }
}

function say(words) {
  if (!shown) return;
  shown.error.textContent = words;
  shown.error.hidden = !words;
}
