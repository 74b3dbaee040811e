// Free texts: written in the respondent's own words and not disguised. They are in this page's
// memory until they are sent, never in the browser's storage. The server stores them apart.

import { el, fresh, heading } from "./elements.js";

/** The key of texts that are all empty: nothing is stored under it. */
const NO_KEY = "0".repeat(32);
/** No letter is written longer in JSON than a control character. */
const LONGEST_LETTER = "\u0001";

const fields = ({ free_texts: found }) => found ?? [];

/** A step for each text field, after the questions; `last` as the review, which a reload leads to. */
export const freeTextSteps = (survey) =>
  fields(survey).map((field) => ({ last: true, field, show: (page) => fieldStep(page, field) }));

function fieldStep({ speaker, texts }, { name, text, help, letters }) {
  const [id, warning, limit] = [fresh(), fresh(), fresh()];
  const area = el(
    "textarea",
    {
      id,
      rows: 6,
      maxlength: letters,
      autocomplete: "off",
      spellcheck: "false", // some browsers send what is checked to a server
      dir: "auto",
      "aria-describedby": `${warning} ${limit}`,
    },
    texts.get(name) ?? "",
  );
  return {
    badge: el("span", { class: "badge open" }, speaker.say("sentAsItIs")),
    body: [
      heading(el("label", { for: id }, speaker.own(text))),
      help ? speaker.own(help, "p", { class: "help" }) : null,
      el("p", { class: "note", id: warning }, speaker.say("textWarning")),
      area,
      el("p", { class: "small", id: limit }, speaker.say("textLimit", { n: letters })),
    ],
    read: () => {
      texts.set(name, area.value);
      return null;
    },
  };
}

/** What was written, with a key of its own, for `bodyOf`; nothing if the survey has no fields. */
export const writtenTexts = ({ survey, texts }, key) =>
  fields(survey).length ? { key, values: new Map(texts) } : undefined;

/** The part of a submission with the texts; after a reload they are empty. */
export const sentTexts = (survey, written) =>
  fields(survey).length
    ? {
        text_key: written?.key ?? NO_KEY,
        texts: Object.fromEntries(
          fields(survey).map(({ name }) => [name, written?.values.get(name) ?? ""]),
        ),
      }
    : {};

/** The same as long as it can be. */
export const longestTexts = (survey) =>
  fields(survey).length
    ? {
        text_key: NO_KEY,
        texts: Object.fromEntries(
          fields(survey).map(({ name, letters }) => [name, LONGEST_LETTER.repeat(letters)]),
        ),
      }
    : {};

/** The texts as the review shows them; null if nothing was written. */
export function shownTexts({ speaker, survey }, written) {
  const rows = fields(survey)
    .filter(({ name }) => written?.values.get(name)?.trim())
    .map(({ name, text }) =>
      el(
        "div",
        {},
        el("dt", {}, speaker.own(text)),
        el(
          "dd",
          {},
          el("span", { class: "written", dir: "auto" }, written.values.get(name)),
          el("span", { class: "badge open" }, speaker.say("sentAsItIs")),
        ),
      ),
    );
  return rows.length ? el("dl", { class: "sent texts" }, rows) : null;
}
