// A command that was chosen, with a box for each of its options.

import { el } from "../dom.js";
import * as door from "./actions.js";

// Kinds of options (https://discord.com/developers/docs/interactions/application-commands).
const [INTEGER, BOOLEAN, NUMBER] = [4, 5, 10];
const PAUSE = 200;

// `leave()` goes back to plain words, `sent()` once it was given; `refused(words)` says why it was not.
export function commandForm(command, suggest, { leave, sent, refused }) {
  const inputs = (command.options ?? []).map((option) => optionInput(command, option, suggest, values));
  function values() {
    const filled = inputs.filter(({ input }) => input.value.trim());
    return Object.fromEntries(filled.map(({ option, input }) => [option.name, typed(option, input)]));
  }
  // Who types goes on as one reads a command: `forget:` is the option of that name.
  const named = (event) => {
    const meant = inputs.find(({ option }) => event.target.value === `${option.name}:`);
    if (!meant) return;
    event.target.value = "";
    meant.input.focus();
  };
  const give = async (event) => {
    event.preventDefault();
    suggest.hide();
    try {
      await door.slash(command.name, values());
      sent();
    } catch (problem) {
      refused(problem.message);
    }
  };
  const keys = (event) => {
    if (suggest.key(event)) return;
    if (event.key === "Escape" || (event.key === "Backspace" && !inputs.some(({ input }) => input.value))) {
      event.preventDefault();
      suggest.hide();
      leave();
    }
  };
  const button = el("button", { class: "send", type: "submit", "aria-label": "Send the command" }, "➤");
  const form = el("form", { class: "command", onsubmit: give, onkeydown: keys, oninput: named }, el("strong", {}, `/${command.name}`), inputs.map(({ node }) => node), button);
  const focus = () => (inputs[0]?.input ?? button).focus();
  return { node: form, focus, input: (name) => inputs.find(({ option }) => option.name === name)?.input };
}

function optionInput(command, option, suggest, values) {
  const input = el("input", { "aria-label": `${option.name}: ${option.description}`, placeholder: option.description, required: option.required, autocomplete: "off" });
  const chosen = ({ name, value }) => {
    input.value = name;
    input.chosen = value;
  };
  let asked = 0;
  let timer = null;
  const left = () => document.activeElement !== input;
  const offer = async (mine) => {
    if (left()) return;
    if (option.choices?.length) return suggest.show(option.choices.filter(({ name }) => name.startsWith(input.value)), chosen);
    if (!option.autocomplete) return suggest.hide();
    const choices = await door.complete(command.name, { ...values(), [option.name]: input.value }).catch(() => []);
    // Only the answer to what was typed last counts, and only while one is still there.
    if (mine === asked && !left()) suggest.show(choices, chosen);
  };
  const changed = () => {
    delete input.chosen;
    clearTimeout(timer);
    timer = setTimeout(offer, PAUSE, ++asked);
  };
  input.addEventListener("input", changed);
  input.addEventListener("focus", () => offer(++asked));
  input.addEventListener("blur", () => suggest.hide());
  return { option, input, node: el("label", {}, el("span", {}, option.name), input) };
}

function typed({ type }, input) {
  const value = input.chosen ?? input.value.trim();
  if (type === INTEGER || type === NUMBER) return Number(value);
  return type === BOOLEAN ? /^(true|yes)$/i.test(value) : value;
}
