// What is sent, as the page shows it: before, after, and when it was disguised earlier.

import { button, el, heading } from "./elements.js";
import { shownTexts } from "./free_texts.js";
import { questionText, reportLabel } from "./labels.js";
import { somebodyElse } from "./people.js";
import { bodyOf } from "./send.js";

/** Each question with what is sent for it, and whether chance may have set that. */
function sentList({ speaker, design, items }, record, wanted = () => true) {
  const rows = design.reported.flatMap(({ name }) => {
    const group = design.groups.find(({ reported }) => reported.some((each) => each.name === name));
    const plain = isOpen(group) || record[name] === null;
    if (!wanted(plain)) return [];
    const asked = items.has(name) ? [items.get(name)] : group.names.map((each) => items.get(each));
    const questions = asked.map((item, i) => [i ? " + " : null, questionText(speaker, item)]);
    return el(
      "div",
      {},
      el("dt", {}, questions),
      el("dd", {}, sentLabel(speaker, group, record[name], asked), mark(speaker, plain)),
    );
  });
  return el("dl", { class: "sent" }, rows);
}

const isOpen = ({ family }) => family === "truthful";

/** What is read for a reported category; a missing answer has none. */
const sentLabel = (speaker, group, category, asked) =>
  category === null
    ? el("span", {}, speaker.say("preferNot"))
    : reportLabel(speaker, group, category, asked);

const mark = (speaker, plain) =>
  el(
    "span",
    { class: plain ? "badge open" : "badge" },
    speaker.say(plain ? "sentAsItIs" : "byChance"),
  );

/** What is sent: what is not disguised in the open, what chance has set behind a fold.
 *
 * Whoever sends only what she likes spoils the result (docs/decisions/0022), so the page does not
 * put it before her eyes; but whoever wants to see it can, to the last byte.
 */
export function sentParts(page, sending) {
  const { speaker, design, survey } = page;
  const why = survey.device === "browser" ? "whyFolded" : "whyOwn";
  const declined = Object.values(sending.record).includes(null);
  return [
    declined || design.groups.some(isOpen)
      ? sentList(page, sending.record, (plain) => plain)
      : null,
    shownTexts(page, sending.texts),
    el(
      "details",
      {},
      el("summary", {}, speaker.say("exactly")),
      el("p", {}, speaker.say(why)),
      sentList(page, sending.record, (plain) => !plain),
      el("pre", { tabindex: "0", dir: "ltr" }, bodyOf(page, sending)),
    ),
  ];
}

/** What was sent, folded. */
export const sentDetails = (page, { record }) =>
  el("details", {}, el("summary", {}, page.speaker.say("whatWasSent")), sentList(page, record));

/** Answers of this person that were disguised earlier: only the same can be sent. */
export function waitingStep(page, { key, record, sent }, send, doNotSend) {
  const { speaker, token } = page;
  const sending = { key, token, record };
  const told = sent ? "pending" : "unsent";
  return {
    body: [
      heading(speaker.say(`${told}.title`)),
      el("p", {}, speaker.say(`${told}.text`)),
      sentParts(page, sending),
      el(
        "div",
        { class: "actions" },
        button("primary", speaker.say(sent ? "sendSame" : "send"), () => send(sending)),
        sent ? null : button("secondary", speaker.say("doNotSend"), () => doNotSend(key)),
      ),
      somebodyElse(page),
    ],
    actions: [],
  };
}
