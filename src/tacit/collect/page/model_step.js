// The step of an accuracy round: questions that stay on this device, and what the model makes of them.
// Only whether the model was right is an answer of the survey, and it is disguised like any other.

import { oneOf } from "./controls.js";
import { button, el, heading } from "./elements.js";
import { readModel } from "./model.js";
import { oddsOfAll } from "./stated_odds.js";

/** Whether the device answers a question of the survey. */
export const isModelled = ({ model }, question) => model?.reports === question.name;

/** Asks what the model needs and what it predicts; then tells what it says, before going on. */
export function modelStep(page, item) {
  const { speaker, survey, answers, modelled } = page;
  const model = readModel(survey.model);
  const asked = [...model.questions, model.target];
  const controls = asked.map((question) => {
    const own = { ...question, kind: yesNo(question) ? "yes_no" : "choice" };
    const labels = question.categories.map((category) => speaker.label(category, own));
    return { labels, control: oneOf(speaker, labels, modelled.get(question.name)) };
  });
  const outcome = el("div", { role: "status" });
  const primary = button("primary", speaker.say("model.apply"));
  let told = null;
  return {
    badge: el("span", { class: "badge" }, speaker.say("model.stays")),
    body: [
      heading(speaker.say("model.title")),
      el("p", {}, speaker.say("model.how")),
      asked.map((question, i) =>
        el(
          "fieldset",
          {},
          el("legend", {}, el("h2", {}, speaker.own(question.text))),
          controls[i].control.node,
        ),
      ),
      oddsOfAll(page, [item], [item]),
      outcome,
    ],
    primary,
    read: () => {
      const codes = controls.map(({ control }) => control.read());
      codes.forEach((code, i) => code !== null && modelled.set(asked[i].name, code));
      const missing = codes.indexOf(null);
      if (missing >= 0) return { error: "chooseOne", control: controls[missing].control };
      const predicted = model.predict(codes.slice(0, -1));
      const right = predicted === codes.at(-1);
      answers.set(item.name, Number(right));
      if (told === `${codes}`) return null;
      told = `${codes}`;
      const answer = controls.at(-1).labels[predicted].cloneNode(true);
      outcome.replaceChildren(...said(speaker, answer, right));
      primary.replaceChildren(...speaker.say("next"));
      return { stay: true };
    },
  };
}

const yesNo = ({ categories }) => categories.join() === "no,yes";

const said = (speaker, answer, right) => [
  el(
    "div",
    { class: "outcome-box" },
    el("p", { class: "big" }, speaker.say("model.says", { answer })),
    el("p", {}, speaker.say(right ? "model.right" : "model.wrong")),
  ),
];
