// Slack's dates in the reader's words and zone
// (https://docs.slack.dev/reference/block-kit/block-elements/date-element#date-format-strings).

import { el, fullTime } from "./dom.js";
import { me } from "./store.js";

const CLOCK = { hour: "2-digit", minute: "2-digit" };
const DATE = { day: "numeric", month: "long" };
const YEAR = { year: "numeric" };
const STYLES = {
  date: { ...DATE, ...YEAR },
  date_short: { ...DATE, ...YEAR, month: "short" },
  date_long: { ...DATE, ...YEAR, weekday: "long" },
  date_long_full: { ...DATE, ...YEAR },
  date_slash: { day: "2-digit", month: "2-digit", ...YEAR },
  time: CLOCK,
  time_secs: { ...CLOCK, second: "2-digit" },
};
const DAYS = { "-1": "yesterday", 0: "today", 1: "tomorrow" };

// Where the format has something in it that is not known here, the fallback stands for it, as in Slack.
export function moment(seconds, format, fallback) {
  const date = new Date(seconds * 1000);
  let known = Number.isFinite(seconds);
  const words = format.replace(/\{(\w+)\}/g, (_, name) => {
    const said = known && token(date, name);
    known &&= Boolean(said);
    return said;
  });
  if (!known || !words) return fallback ?? "";
  return el("time", { datetime: date.toISOString(), title: fullTime(date, me()?.tz) }, words[0].toUpperCase() + words.slice(1));
}

function token(date, name) {
  if (name === "day_divider_pretty") return near(date) ?? written(date, { ...DATE, weekday: "long", ...(isThisYear(date) ? {} : YEAR) });
  if (name === "date_num") return dayOf(date);
  const plain = name.replace(/_pretty$/, "");
  const style = STYLES[plain];
  return style && ((plain !== name && near(date)) || written(date, style));
}

const written = (date, style, locale = "en-GB") => new Intl.DateTimeFormat(locale, { timeZone: me()?.tz, ...style }).format(date);
const dayOf = (date) => written(date, { dateStyle: "short" }, "en-CA");
const isThisYear = (date) => dayOf(date).slice(0, 4) === dayOf(new Date()).slice(0, 4);
const near = (date) => DAYS[Math.round((Date.parse(dayOf(date)) - Date.parse(dayOf(new Date()))) / 86_400_000)];
