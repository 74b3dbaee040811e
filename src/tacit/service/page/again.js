// What is sent, as the page shows it: before, after, and when this device answers again.

import { button, el, heading } from "./elements.js";
import { questionText, reportLabel } from "./questions.js";
import { bodyOf, tokenKept } from "./send.js";

/** Each question with what is sent for it. */
export function sentList({ speaker, design, items }, record) {
  const rows = design.reported.map(({ name }) => {
    const group = design.groups.find(({ reported }) => reported.some((each) => each.name === name));
    const asked = items.has(name) ? [items.get(name)] : group.names.map((each) => items.get(each));
    const questions = asked.map((item, i) => [i ? " + " : null, questionText(speaker, item)]);
    return el(
      "div",
      {},
      el("dt", {}, questions),
      el("dd", {}, reportLabel(speaker, group, record[name], asked)),
    );
  });
  return el("dl", { class: "sent" }, rows);
}

/** The same, folded. */
export const sentDetails = (page, { record }) =>
  el("details", {}, el("summary", {}, page.speaker.say("whatWasSent")), sentList(page, record));

/** The very bytes, for those who want to see them. */
export const bytes = (page, sending) =>
  el(
    "details",
    {},
    el("summary", {}, page.speaker.say("bytes")),
    el("pre", { tabindex: "0", dir: "ltr" }, bodyOf(page, sending)),
  );

/** What a device shows that has thrown or answered before: only the same can be sent. */
export function again(page, kept, send, doNotSend) {
  const { speaker, token } = page;
  const sending = { key: kept.key, token: token ?? kept.token, record: kept.record };
  const told = kept.stored ? "again" : kept.unsent ? "unsent" : "pending";
  const kind = kept.stored ? "secondary" : "primary";
  const label = speaker.say(kept.unsent ? "send" : "sendSame");
  return {
    body: [
      heading(speaker.say(`${told}.title`)),
      el("p", {}, speaker.say(`${told}.text`)),
      sentList(page, kept.record),
      bytes(page, sending),
      el(
        "div",
        { class: "actions" },
        button(kind, label, () => send(sending)),
        kept.unsent ? button("secondary", speaker.say("doNotSend"), doNotSend) : null,
      ),
      somebodyElse(page),
    ],
    actions: [],
  };
}

/** Forgets what this device keeps, for the next person. */
export function somebodyElse({ speaker, memo, token }) {
  const start = () => {
    if (token === memo.read()?.token) tokenKept.forget(); // it was for who answered before
    memo.forget();
    location.reload();
  };
  return el(
    "section",
    { class: "else" },
    el("h2", {}, speaker.say("else.title")),
    el("p", {}, speaker.say("else.text")),
    button("secondary", speaker.say("else.button"), start),
  );
}
