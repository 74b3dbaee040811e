// The odds that a step states: of one attribute, or of several that are answered together.

import { el } from "./elements.js";
import { folded, odds } from "./explain.js";
import { PAIRED, labelsOf, reportLabels } from "./labels.js";
import { inOwnCategories, isJoint } from "./odds.js";

/** The odds of attributes of one group; once where they read the same, else by question.
 *
 * Boxes of a multiple choice are named. What was said on an earlier step is folded away.
 */
export function oddsOfAll(page, own, asked) {
  const { speaker, oddsSaid } = page;
  if (own[0].group.family === "truthful") return [];
  const found = new Map();
  for (const item of isJoint(own[0].group) ? own.slice(0, 1) : own) {
    const made = oddsOf(page, item.group, asked, item.position);
    const text = made.textContent;
    found.set(text, { made, of: [...(found.get(text)?.of ?? []), item] });
  }
  for (const { made, of } of found.values()) {
    if (found.size > 1 || of[0].category !== null) made.prepend(aboutOf(speaker, of));
  }
  const text = [...found.keys()].join();
  if (!oddsSaid.has(text)) oddsSaid.set(text, own[0].name);
  const all = [...found.values()].map(({ made }) => made);
  return oddsSaid.get(text) === own[0].name ? all : all.map((made) => folded(speaker, made));
}

/** Which boxes, or which questions, odds are about. */
const aboutOf = (speaker, items) =>
  el(
    "p",
    { class: "about" },
    speaker.list(
      items.map(({ question, category }) =>
        category === null ? speaker.own(question.text) : speaker.label(category, question),
      ),
      "conjunction",
    ),
    ":",
  );

/** The odds of an attribute. */
function oddsOf({ speaker, published }, group, asked, position) {
  const reports = reportLabels(speaker, group, asked);
  const own = labelsOf(speaker, asked[position]);
  const labels = {
    truth: (code) => own[code].cloneNode(true),
    report: (code) => reports[Math.min(position, reports.length - 1)][code].cloneNode(true),
    same: inOwnCategories(group) && !PAIRED[group.asks],
  };
  const bound = published.disclosure_bound.attributes[asked[position].name].disguised;
  return odds(speaker, group, position, labels, bound);
}
