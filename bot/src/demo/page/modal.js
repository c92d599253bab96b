// Slack's modal (https://docs.slack.dev/surfaces/modals): the form that is open before the visitor, on top of all.
// It is built once for each view and patched after that, so that what is being typed stays.

import * as api from "./api.js";
import { blocks } from "./blocks.js";
import { el } from "./dom.js";
import { store } from "./store.js";

let shown = null;

export function renderModal() {
  const open = store.slack.views.at(-1);
  if (open && shown?.id === open.id && shown.made === JSON.stringify(open.view)) return patch(open);
  shown?.dialog.remove();
  shown = open ? build(open) : null;
}

function build(open) {
  const { view } = open;
  const fields = new Map();
  const parts = view.blocks.map((block) => {
    if (block.type !== "input") return blocks([block], () => {});
    const field = input(block);
    fields.set(block.block_id, field);
    return field.node;
  });
  const error = el("p", { class: "field-error", role: "alert", hidden: true });
  const send = view.submit ? el("button", { class: "button primary" }, view.submit.text) : null;
  const close = el("button", { type: "button", class: "button", onclick: () => away(open) }, view.close?.text ?? "Close");
  const title = el("h2", { id: "modal-title" }, view.title.text);
  const body = el("div", { class: "modal-body" }, parts);
  const form = el("form", {}, title, body, error, el("div", { class: "modal-buttons" }, close, send));
  const dialog = el("dialog", { class: "modal", "aria-labelledby": "modal-title" }, form);
  shown = { id: open.id, made: JSON.stringify(view), dialog, fields, error, send };
  form.addEventListener("submit", (event) => {
    event.preventDefault();
    submit(open);
  });
  dialog.addEventListener("cancel", (event) => {
    event.preventDefault();
    away(open);
  });
  document.body.append(dialog);
  dialog.showModal();
  return shown;
}

function input(block) {
  const { element } = block;
  const id = `field-${block.block_id}`;
  const props = {
    id,
    maxlength: element.max_length,
    value: element.initial_value ?? "",
    required: !block.optional,
    "aria-describedby": `${id}-error`,
  };
  const control = el(element.multiline ? "textarea" : "input", { ...props, rows: element.multiline ? 10 : undefined });
  const optional = block.optional ? el("small", {}, " (optional)") : null;
  const error = el("p", { class: "field-error", id: `${id}-error`, role: "alert", hidden: true });
  return { control, error, node: el("div", { class: "field" }, el("label", { for: id }, block.label.text, optional), control, error) };
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
