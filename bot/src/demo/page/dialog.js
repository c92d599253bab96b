// A form on top of all, as both windows open one.

import { el, rememberFocus } from "./dom.js";

// `send` and `away` are what its buttons do; without `submit` there is nothing to send.
export function dialog({ look, title, parts, error, submit, close, send, away }) {
  const sends = submit ? el("button", { class: "button primary" }, submit) : null;
  const buttons = el("div", { class: "modal-buttons" }, el("button", { type: "button", class: "button", onclick: away }, close), sends);
  const submitted = (event) => {
    event.preventDefault();
    send();
  };
  const cancelled = (event) => {
    event.preventDefault();
    away();
  };
  const form = el("form", { onsubmit: submitted }, el("h2", { id: "modal-title" }, title), el("div", { class: "modal-body" }, parts), error, buttons);
  const node = el("dialog", { class: `modal ${look}`, "aria-labelledby": "modal-title", oncancel: cancelled }, form);
  const giveBack = rememberFocus();
  document.body.append(node);
  node.showModal();
  const remove = () => {
    node.remove();
    giveBack();
  };
  return { node, remove, send: sends };
}

// One input, and room for what is wrong with it.
export function field({ id, label, value, most, lines, optional }) {
  const error = el("p", { class: "field-error", id: `${id}-error`, role: "alert", hidden: true });
  const props = { id, maxlength: most, value: value ?? "", required: !optional, "aria-describedby": `${id}-error` };
  const control = el(lines ? "textarea" : "input", { ...props, rows: lines ? 10 : undefined });
  const note = optional ? el("small", {}, " (optional)") : null;
  return { control, error, node: el("div", { class: "field" }, el("label", { for: id }, label, note), control, error) };
}
