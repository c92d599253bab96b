// The Discord window: puts its parts together.

import { readGuild } from "../polling.js";
import { changed, store } from "../store.js";
import { buildComposer, renderComposer } from "./composer.js";
import { here, isDirect, place, rooms, user } from "./guild.js";
import { renderModal } from "./modal.js";
import { buildRoom, renderRoom } from "./channel.js";
import { buildSide, renderSide } from "./sidebar.js";

let built = false;

export function renderDiscord() {
  if (!built) {
    built = true;
    document.getElementById("discord").append(...buildSide(become), buildRoom(buildComposer()));
  }
  // What was here may be gone for other eyes.
  if (!place()) here.place = rooms()[0].id;
  renderRoom();
  renderSide();
  renderComposer();
  renderModal();
}

// Looks through somebody's eyes, at the same place or at their own line to Nod.
export async function become(who) {
  const direct = isDirect(place());
  here.me = here.guild.users.find((one) => one.id === who || one.name === who).id;
  store.since = Date.now();
  await readGuild();
  if (direct) here.place = here.guild.channels.find(isDirect).id;
  changed();
}

export const isMe = (handle) => user(here.me)?.name === handle;
