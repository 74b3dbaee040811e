// Why the survey cannot be answered now.

import { el, heading } from "./elements.js";

/** Why a server may refuse what is sent; anything else is an error of the program. */
export const REFUSALS = [
  "wrong-fingerprint",
  "changed",
  "link-used",
  "not-yet-open",
  "closed",
  "full",
  "not-found",
];

/** The date on this device, so many days later. */
export const today = (shift) =>
  new Date(Date.now() + shift * 86_400_000).toISOString().slice(0, 10);

/** A page that only says something. */
export const notice = (page, type) => ({
  body: [heading(page.speaker.say(`${type}.title`)), el("p", {}, text(page, type))],
  actions: [],
});

/** What a notice says: of a survey that is not open, also from or until which day. */
function text({ speaker, survey }, type) {
  const ended = survey.closes < today(0) ? survey.closes : null;
  const day = { "not-yet-open": survey.opens, closed: ended }[type];
  const said = speaker.say(`${type}.text`);
  return day ? [...speaker.say(`${type}.day`, { day: speaker.day(day) }), " ", ...said] : said;
}
