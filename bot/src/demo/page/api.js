// The demo server's few routes. Every failure becomes an Error with a sentence.

import { begunAnew } from "./reload.js";

async function answered(request) {
  let response;
  try {
    response = await request;
  } catch (error) {
    if (error.name === "AbortError") throw error;
    throw new Error("The demo isn't answering. Is it still running?");
  }
  if (begunAnew(response.headers.get("x-nod-demo"))) throw new Error("The demo was restarted.");
  const body = await response.json().catch(() => null);
  if (!response.ok) throw new Error(body?.error ?? `The demo answered with an error (${response.status}).`);
  return body;
}

export function look(door, params, signal) {
  const query = new URLSearchParams(params);
  return answered(fetch(`/sandbox/${door}?${query}`, { signal }));
}

function post(path, body) {
  const headers = { "content-type": "application/json" };
  return answered(fetch(path, { method: "POST", headers, body: JSON.stringify(body) }));
}

export const act = (door, body) => post(`/sandbox/${door}`, body);

// A file of the demo's own, as if it were chosen from the visitor's disk.
export async function file(name) {
  const response = await fetch(`/${name}`).catch(() => null);
  if (!response?.ok) throw new Error("The demo isn't answering. Is it still running?");
  return new File([await response.blob()], name, { type: response.headers.get("content-type") });
}

export const facts = () => answered(fetch("/facts"));
export const nod = () => answered(fetch("/demo/state"));
export const restart = () => post("/demo/restart", {});
export const kill = () => post("/demo/kill", {});
export const workspace = (user) => look("slack/state", user ? { user } : {});
export const workspaceNews = (since, signal) => look("slack/events", { since }, signal);
export const accounts = () => look("google/accounts", {});
export const mailbox = (account) => look("google/mailbox", { account });
export const calendar = (account) => look("google/calendar", { account, weeks: 3 });
export const mailboxNews = (account, since, signal) => look("google/mailbox", { account, since }, signal);
export const say = (user, channel, thread, text, file) => act("slack/say", { user, channel, thread, text, file });
export const slash = (user, channel, command, text) => act("slack/slash", { user, channel, command, text });
export const press = (user, channel, ts, { action_id, type, value }) =>
  act("slack/press", { user, channel, ts, action_id, value: type === "feedback_buttons" ? value : undefined });
export const home = (user) => act("slack/home", { user });
export const pressHome = (user, button) => act("slack/press_home", { user, button });
export const assistant = (user) => act("slack/assistant", { user });
export const pick = (user, channel, ts, shortcut) => act("slack/pick", { user, channel, ts, shortcut });
export const submit = (user, view, typed) => act("slack/submit", { user, view, typed });
export const closeForm = (user, view) => act("slack/close", { user, view });
