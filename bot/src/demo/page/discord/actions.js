// What one does in Discord, as whoever looks. What is answered to a press, a command or a form tells whether the
// app heard of it.

import { act, look } from "../api.js";
import { here } from "./guild.js";

export const guild = (user) => look("discord/state", user ? { user } : {});
export const guildNews = (since, signal) => look("discord/events", { since }, signal);

const as = (door, body) => act(`discord/${door}`, { user: here.me, channel: here.place, ...body });

export const say = (text, file, reply_to) => as("say", { text, file, reply_to });
export const slash = (command, options) => heard(as("slash", { command, options }));
export const complete = async (command, options) => (await as("complete", { command, options })).choices ?? [];
export const pick = (ts, entry) => heard(as("pick", { ts, entry }));
export const press = (ts, custom_id, value) => heard(as("press", { ts, custom_id, value }), "This interaction failed.");
export const submit = (typed) => heard(as("submit", { typed }), "Something went wrong. Try again.");
export const close = () => as("close", {});

async function heard(sent, failed = "The application did not respond.") {
  const { state } = await sent;
  if (state !== "acknowledged") throw new Error(failed);
}
