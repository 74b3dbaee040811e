// What respondents read for questions and for what is reported of them.

import { el } from "./elements.js";
import { isJoint } from "./odds.js";

/** The attributes of a question with the category of a multiple choice that each stands for. */
export const attributesOf = (question) =>
  question.kind === "multiple"
    ? question.categories.map((category) => ({ name: `${question.name}.${category}`, category }))
    : [{ name: question.name, category: null }];

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

/** What is asked of two answers that are not entered themselves, and what the codes 0 and 1 say.
 *
 * These are names of texts: `title` with How and Why at its end, options with Short.
 */
export const PAIRED = {
  comparison: { title: "crosswise", options: ["different", "same"], shown: [1, 0] },
  any_yes: { title: "triangular", options: ["bothNo", "anyYes"], shown: [0, 1] },
};

/** What is read for a reported category; of two answers, whether they agree, or any is yes.
 *
 * What questions report together is labelled by any of them.
 */
export function reportLabel(speaker, group, category, asked) {
  const labelled = ({ question }) => question.labels && Object.hasOwn(question.labels, category);
  const { question, categories } = asked.find(labelled) ?? asked[0];
  const paired = PAIRED[group.asks];
  if (!paired) return speaker.label(category, question);
  return el("bdi", {}, speaker.say(`${paired.options[categories.indexOf(category)]}Short`));
}
