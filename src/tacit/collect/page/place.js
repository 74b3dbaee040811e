// Where the respondent is, for a reload of the same tab.
//
// Browsers write the storage of a tab to disk, so nothing true may be in it. When the page is
// left, answers that are complete are disguised, once, and only the result is kept. What cannot be
// kept in disguise is asked again: answers that are sent undisguised, and questions that share a
// throw with one that is still to be answered, or are tied to one by a condition. A page that is
// left on a conditional question is kept as left on the one before, or the place would tell.

import { linked, shownToAll, truthOf } from "./conditions.js";
import { reportOf } from "./disguise.js";
import { isGiven } from "./questions.js";
import { stored } from "./send.js";

/** What is kept: {language, number, step, reports, throws}, for a survey and a person. */
export function placeOf(survey, person) {
  const kept = stored("sessionStorage", `tacit:place:${survey}:${person ?? ""}`);
  let over = false;
  const forget = () => {
    over = true;
    kept.forget();
  };
  /** Called when the page is left; a second call would draw again, so it does nothing. */
  const leave = (page, steps, at) => {
    if (over || !page.questions) return;
    over = true;
    const place = shownToAll(page, steps, at);
    const reports = reportsOf(page, steps.slice(0, place));
    const open = [...page.throws].filter(([name]) => !(name in reports));
    const { number, last } = steps[place];
    kept.write({
      language: page.speaker.language,
      step: place,
      number: last ? page.questions.length + 1 : number,
      reports,
      throws: open,
    });
  };
  return { read: kept.read, forget, leave };
}

/** Disguised codes of the groups that are answered on these steps, by their first attribute. */
function reportsOf(page, passed) {
  const { design, survey, reports, given, items } = page;
  const names = new Set(passed.flatMap((step) => step.names ?? []));
  const isOpen = (name) => items.get(name).group.family === "truthful";
  const found = {};
  for (const group of design.groups) {
    const [first] = group.names;
    const tied = linked(page, group.names);
    const complete = tied.every((name) => names.has(name)) && !tied.some(isOpen);
    if (reports.has(group)) found[first] = reports.get(group);
    else if (!complete) continue;
    else if (isGiven(group, survey.device)) found[first] = given.get(group);
    else found[first] = reportOf(group, (name) => truthOf(page, name));
  }
  return found;
}

/** Takes over what was kept: reports that are drawn already, and questions that came up. */
export function restore(page, { reports, throws }) {
  page.throws = new Map(throws);
  for (const group of page.design.groups) {
    const [first] = group.names;
    if (Object.hasOwn(reports, first)) page.reports.set(group, reports[first]);
  }
}

/** The questions that are still open: from the one that was shown, then those to ask again.
 *
 * Those that others depend on come first.
 */
export function openSteps(page, questions, number) {
  const { reports, items } = page;
  const isOpen = ({ names }) => names.some((name) => !reports.has(items.get(name).group));
  const isTied = ({ names }) => linked(page, names).length > names.length;
  const again = questions
    .filter((step) => step.number < number && isOpen(step))
    .map((step) => ({ ...step, again: true }));
  return [
    ...again.filter(isTied),
    ...questions.filter((step) => step.number >= number && isOpen(step)),
    ...again.filter((step) => !isTied(step)),
  ];
}
