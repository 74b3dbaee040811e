// What respondents read for questions and for what is reported of them.

import { el } from "./elements.js";
import { isJoint } from "./odds.js";

/** The text of an attribute's question; of a multiple choice with its category. */
export const questionText = (speaker, { question, category }) =>
  category === null
    ? speaker.own(question.text)
    : el("span", {}, speaker.own(question.text), " – ", speaker.label(category, question));

/** What is read for the categories of an attribute. */
export const labelsOf = (speaker, { categories, question }) =>
  categories.map((category) => speaker.label(category, question));

/** Labels of what is reported of a group, a list for each reported attribute. */
export const reportLabels = (speaker, group, asked) =>
  group.reported.map(({ categories }, i) =>
    categories.map((category) =>
      reportLabel(speaker, group, category, isJoint(group) ? asked : [asked[i]]),
    ),
  );

/** What is read for a reported category; of two answers that are compared, whether they agree.
 *
 * What questions report together is labelled by any of them.
 */
export function reportLabel(speaker, group, category, asked) {
  const labelled = ({ question }) => question.labels && Object.hasOwn(question.labels, category);
  const { question, categories } = asked.find(labelled) ?? asked[0];
  if (group.asks !== "comparison") return speaker.label(category, question);
  return el("bdi", {}, speaker.say(category === categories[1] ? "sameShort" : "differentShort"));
}
