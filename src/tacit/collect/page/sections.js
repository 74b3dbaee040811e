// Sections: a heading above the questions that belong together, and a text before the first.

import { el, fresh, heading } from "./elements.js";

/** The steps with their sections; `opens` marks the first step of a section that has a text. */
export function inSections({ survey, items }, steps) {
  const names = survey.questions.map(({ name }) => name);
  const starts = (survey.sections ?? []).map((section) => [names.indexOf(section.first), section]);
  let before = null;
  return steps.map((step) => {
    const at = names.indexOf(items.get(step.names[0]).question.name);
    const begun = starts.filter(([start]) => start <= at).sort(([a], [b]) => b - a);
    const section = begun[0]?.[1] ?? null;
    const opens = section !== before && Boolean(section?.text);
    before = section;
    return { ...step, section, opens };
  });
}

/** A step of its own for the text of a section: screen readers begin at its heading. */
export const sectionStep = ({ number, section }) => ({
  number, // the place of the question that follows: a reload leads there
  show: ({ speaker }) => ({
    body: [heading(speaker.own(section.title)), speaker.own(section.text, "p", { class: "lead" })],
  }),
});

/** The section of a question, above it; `id` names the form, so that screen readers say it too. */
export function sectionName({ speaker }, { section }) {
  if (!section) return { node: null, id: null };
  const id = fresh();
  return { node: el("p", { class: "section", id }, speaker.own(section.title)), id };
}
