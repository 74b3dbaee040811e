// Questions that are asked only after certain answers. This device decides whether a question
// applies. Where it does not, "does not apply" is the true answer: it is disguised like any other,
// so every record has as many answers, and a wait makes the time of sending show less.

import { DesignError, check } from "./coin_families.js";
import { below } from "./disguise.js";
import { pause } from "./send.js";

export const DOES_NOT_APPLY = "does not apply";
/** Milliseconds that the page waits at most for one question that was not asked. */
const LONGEST_WAIT = 20_000;

/** The conditions of a design: by attribute, the codes of earlier attributes that let it apply. */
export function readConditions({ attributes, asked_if = {} }) {
  const places = new Map(attributes.map(({ name }, i) => [name, i]));
  const read = (name, other, labels) => {
    check(places.get(other) < places.get(name), `${name}: ${other} is not asked before it`);
    const { categories } = attributes[places.get(other)];
    check(
      Array.isArray(labels) && labels.length > 0 && labels.every((one) => categories.includes(one)),
      `${name}: unknown answer to ${other} in its condition`,
    );
    return [other, labels.map((label) => categories.indexOf(label))];
  };
  return new Map(
    Object.entries(asked_if).map(([name, answers]) => {
      const own = attributes[places.get(name)];
      if (own?.categories.at(-1) !== DOES_NOT_APPLY)
        throw new DesignError(`${name}: its last category must be ${DOES_NOT_APPLY}`);
      return [name, Object.entries(answers).map(([other, labels]) => read(name, other, labels))];
    }),
  );
}

/** The true code of every attribute so far: as answered, or that it does not apply. */
function truths({ conditions, items, answers }) {
  const found = new Map();
  for (const [name, { categories }] of items) {
    const asked = isMet(conditions.get(name), found);
    found.set(name, asked ? answers.get(name) : categories.length - 1);
  }
  return found;
}

const isMet = (condition, found) =>
  (condition ?? []).every(([other, codes]) => codes.includes(found.get(other)));

export const truthOf = (page, name) => truths(page).get(name);

/** Whether a step is shown; those without questions always are. */
export const isShown = (page, { names = [] }) =>
  names.length === 0 || isMet(page.conditions.get(names[0]), truths(page));

/** Whether who is asked is a secret: the condition is about an answer that is disguised. */
export const isSecret = ({ conditions, items }, { names = [] }) =>
  (conditions.get(names[0]) ?? []).some(
    ([other]) => items.get(other).group.family !== "truthful",
  );

/** The first step before `end` that must be answered and is not: a changed answer opened it. */
export function firstOpen(page, steps, end) {
  const answered = (name) => {
    const { group } = page.items.get(name);
    return page.answers.has(name) || page.given.has(group) || page.reports.has(group);
  };
  if (page.conditions.size === 0) return end;
  const open = steps
    .slice(0, end)
    .findIndex((step) => step.names && isShown(page, step) && !step.names.every(answered));
  return open < 0 ? end : open;
}

/** The last step up to this one that everybody is shown. */
export function shownToAll({ conditions }, steps, at) {
  const conditional = ({ names = [] }) => names.some((name) => conditions.has(name));
  let found = at;
  while (conditional(steps[found])) found -= 1;
  return found;
}

/** The attributes that conditions tie to these, with them. */
export function linked({ conditions }, names) {
  const found = new Set(names);
  for (let before = 0; before < found.size; ) {
    before = found.size;
    for (const [name, answers] of conditions) {
      const tied = [name, ...answers.map(([other]) => other)];
      if (tied.some((one) => found.has(one))) tied.forEach((one) => found.add(one));
    }
  }
  return [...found];
}

// Time ---------------------------------------------------------------------------------------

/** Adds the time since the last call to the step shown then; `step` is shown now. */
export function timeStep(page, step) {
  const now = performance.now();
  const { step: before, since } = page.timed ?? {};
  if (before?.names) page.times.set(before, (page.times.get(before) ?? 0) + now - since);
  page.timed = { step, since: now };
}

/** Milliseconds to wait before sending: each question that was not asked takes as long as another,
 *  drawn by chance, has taken. Else anyone who sees the page load and send could tell how many were.
 */
export function unaskedTime(page, steps) {
  const taken = [...page.times.values()];
  const unasked = steps.filter((step) => isSecret(page, step) && !isShown(page, step));
  const one = () => Math.min(taken[Number(below(BigInt(taken.length)))], LONGEST_WAIT);
  return taken.length ? unasked.reduce((sum) => sum + one(), 0) : 0;
}

/** Waits as long as the questions that were not asked would have taken. */
export async function waitUnasked(page, told) {
  const seconds = (page.wait ?? 0) / 1000;
  page.wait = 0;
  if (seconds === 0) return;
  told.replaceChildren(...page.speaker.say("unaskedWait", { n: Math.ceil(seconds) }));
  await pause(seconds);
  told.replaceChildren(...page.speaker.say("sendingNow"));
}
