// `<t:1700000000:R>` in the reader's words and zone (https://discord.com/developers/docs/reference#message-formatting).

import { el, fullTime } from "../dom.js";
import { zone } from "./guild.js";

const CLOCK = { hour: "2-digit", minute: "2-digit" };
const DAY = { day: "numeric", month: "long", year: "numeric" };
const STYLES = {
  t: CLOCK,
  T: { ...CLOCK, second: "2-digit" },
  d: { day: "2-digit", month: "2-digit", year: "numeric" },
  D: DAY,
  f: { ...DAY, ...CLOCK },
  F: { ...DAY, ...CLOCK, weekday: "long" },
};
const UNITS = [["year", 31_536_000], ["month", 2_592_000], ["day", 86_400], ["hour", 3_600], ["minute", 60], ["second", 1]];

export function stamp(seconds, style = "f") {
  const date = new Date(seconds * 1000);
  const words = style === "R" ? relative(seconds) : written(date, STYLES[style] ?? STYLES.f);
  return el("time", { class: "stamp", datetime: date.toISOString(), title: fullTime(date, zone()) }, words);
}

export const written = (date, style) => new Intl.DateTimeFormat("en-GB", { timeZone: zone(), ...style }).format(date);
export const day = (date) => written(date, DAY);

function relative(seconds) {
  const away = seconds - Date.now() / 1000;
  const [unit, size] = UNITS.find(([, size]) => Math.abs(away) >= size) ?? UNITS.at(-1);
  return new Intl.RelativeTimeFormat("en", { numeric: "auto" }).format(Math.round(away / size), unit);
}
