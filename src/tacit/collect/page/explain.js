// Odds and rules in words: what chance does to an answer, what a throw tells a respondent to do.

import { every, rulesOf } from "./device.js";
import { el } from "./elements.js";
import { ZERO, equal, less, minus, ONE } from "./fractions.js";
import {
  chance,
  givenAway,
  isJoint,
  leastDisguised,
  of100,
  of100up,
  posterior,
  sizesOf,
} from "./odds.js";

/** Odds are tabled for this many answers at most. */
const TABLED = 8;
/** Answers that fit side by side on a phone. */
const NARROW = 4;
/** Answers that give the truth away are named up to this many. */
const NAMED = 4;

/** A number of people rounded down: "fewer than 1" where that is 0, but not nobody.
 *
 * `n` selects singular or plural.
 */
function fewest(speaker, share) {
  const n = of100(share);
  if (n === 0 && less(ZERO, share)) return { n: 1, count: speaker.plain("fewerThanOne") };
  return { n, count: String(n) };
}

// Odds ---------------------------------------------------------------------------------------

/** Sentences and a table on the odds of one attribute of a group.
 *
 * `labels` has what is read for a code, `truth` and `report`, and whether these are the `same`;
 * `bound` is what all disguised answers together may reveal of this one.
 */
export function odds(speaker, group, position, labels, bound) {
  const { truths, reports } = sizesOf(group, position);
  const listable = truths <= TABLED && reports <= TABLED;
  const sentences = labels.same
    ? changes(speaker, group, position, labels, truths)
    : guesses(speaker, group, position, truths, reports, listable);
  const more = [
    el("p", {}, togetherHere(speaker, bound)),
    group.asks === "either" ? el("p", {}, asked(speaker, group)) : null,
    listable && !isJoint(group)
      ? [senders(speaker, group, position, labels), table(speaker, group, position, labels)]
      : null,
  ];
  return el(
    "div",
    { class: "odds" },
    sentences.map((sentence) => el("p", {}, sentence)),
    warnings(speaker, group, position, labels).map((told) => el("p", { class: "warning" }, told)),
    more.flat().some(Boolean)
      ? el("details", {}, el("summary", {}, speaker.say("moreOdds")), more)
      : null,
  );
}

/** The same with all but its warnings folded away: they were said before. */
export function folded(speaker, made) {
  const details = made.querySelector("details");
  details.querySelector("summary").replaceChildren(...speaker.say("oddsBefore"));
  details.querySelector("summary").after(...made.querySelectorAll(":scope > p:not(.warning)"));
  return made;
}

// What all disguised answers together may reveal, as it was computed when the survey was published.

export const upTo100 = ({ guess }) => Math.ceil(100 * guess - 1e-9);

/** Of one answer, with what is assumed. */
function togetherHere(speaker, bound) {
  const n = upTo100(bound);
  return speaker.say(n < 100 ? "boundHere" : "boundNone", { n });
}

/** What an answer tells for certain, and what answers of one throw tell together. */
function warnings(speaker, group, position, labels) {
  const found = givenAway(group, position);
  const told = ({ reported, truth }) =>
    speaker.say("givesAway", { reported: labels.report(reported), truth: labels.truth(truth) });
  const many = found.length > NAMED || (found.length > 0 && isJoint(group));
  return [
    ...(many ? [speaker.say("givesAwaySome")] : found.map(told)),
    ...(group.names.length > 1 ? [speaker.say("together")] : []),
  ];
}

/** How many send another answer than the true one. */
function changes(speaker, group, position, labels, truths) {
  if (isJoint(group)) {
    return [speaker.say("oddsJoint", fewest(speaker, leastDisguised(group, position)))];
  }
  if (truths > 2) {
    return [speaker.say("oddsOther", fewest(speaker, leastDisguised(group, position)))];
  }
  const both = [0, 1].map((truth) => chance(group, position, 1 - truth, truth));
  if (equal(...both)) return [speaker.say("oddsBoth", fewest(speaker, both[0]))];
  return [0, 1].map((truth) =>
    speaker.say("oddsYesNo", {
      ...fewest(speaker, chance(group, position, 1 - truth, truth)),
      truth: labels.truth(truth),
      reported: labels.report(1 - truth),
    }),
  );
}

/** How often whoever sees a report guesses right, where reports are not the true categories. */
function guesses(speaker, group, position, truths, reports, listable) {
  if (!listable) return [];
  let most = ZERO;
  for (let r = 0; r < reports; r += 1) {
    for (let t = 0; t < truths; t += 1) {
      const share = posterior(group, position, r, t);
      if (share && less(most, share)) most = share;
    }
  }
  return [speaker.say("oddsGuess", { n: of100up(most) })];
}

const asked = (speaker, group) => speaker.say("oddsAsked", { n: of100up(group.weights[0]) });

/** Of those who send an answer, how many truly have another. */
function senders(speaker, group, position, labels) {
  if (!labels.same) return null;
  const { reports } = sizesOf(group, position);
  const said = Array.from({ length: reports }, (_, r) => {
    const truthful = posterior(group, position, r, r);
    if (!truthful) return null; // never sent
    const hidden = fewest(speaker, minus(ONE, truthful));
    return el("li", {}, speaker.say("oddsSent", { ...hidden, reported: labels.report(r) }));
  });
  return [el("p", {}, speaker.say("oddsSentIf")), el("ul", {}, said)];
}

/** Of 100 people with each true answer, how many send what: a table if it is narrow, or lists. */
function table(speaker, group, position, labels) {
  const { truths, reports } = sizesOf(group, position);
  const cell = (r, t) => {
    const share = chance(group, position, r, t);
    return labels.same && r === t ? of100up(share) : of100(share);
  };
  const range = (size) => Array.from({ length: size }, (_, i) => i);
  const made = reports > NARROW ? lists : narrow;
  return made(speaker, range(truths), range(reports), labels, cell);
}

const narrow = (speaker, truths, reports, labels, cell) =>
  el(
    "table",
    {},
    el("caption", {}, speaker.say("oddsTable")),
    el(
      "thead",
      {},
      el(
        "tr",
        {},
        el("td"),
        reports.map((r) => el("th", { scope: "col" }, labels.report(r))),
      ),
    ),
    el(
      "tbody",
      {},
      truths.map((t) =>
        el(
          "tr",
          {},
          el("th", { scope: "row" }, labels.truth(t)),
          reports.map((r) => el("td", {}, cell(r, t))),
        ),
      ),
    ),
  );

const lists = (speaker, truths, reports, labels, cell) => [
  el("p", {}, speaker.say("oddsLists")),
  el(
    "dl",
    {},
    truths.flatMap((t) => [
      el("dt", {}, labels.truth(t)),
      el("dd", {}, speaker.list(reports.map((r) => el("span", {}, labels.report(r), ` ${cell(r, t)}`)), "unit")),
    ]),
  ),
];

// Rules of an own device ---------------------------------------------------------------------

/** What the outcomes of a device are called. */
export function outcomeNames(speaker, device, month = "long") {
  if (device === "coin") return [speaker.plain("heads"), speaker.plain("tails")];
  if (device === "die") return ["1", "2", "3", "4", "5", "6"];
  const named = new Intl.DateTimeFormat(speaker.page, { month, timeZone: "UTC" });
  return Array.from({ length: 12 }, (_, i) => named.format(Date.UTC(2020, i, 1)));
}

/** Outcomes that follow each other, as [first, last]. */
function runs(outcomes) {
  const found = [];
  for (const o of outcomes) {
    if (found.length && found.at(-1)[1] === o - 1) found.at(-1)[1] = o;
    else found.push([o, o]);
  }
  return found;
}

/** Outcomes that share a rule, in order. */
function alike(rules) {
  const found = new Map();
  rules.forEach((rule, i) => {
    const key = JSON.stringify(rule);
    found.set(key, { rule, outcomes: [...(found.get(key)?.outcomes ?? []), i] });
  });
  return [...found.values()];
}

/** The rules of a group as a list: outcomes, then what to do.
 *
 * `items` has, for each attribute of the group, `question` (an element), `personal` (or null) and
 * `labels`; `reports` the labels of what is reported where that is not the attributes themselves.
 */
export function ruleList(speaker, group, device, items, reports) {
  const names = outcomeNames(speaker, device);
  const rules = rulesOf(group, device);
  const counts = rules[0].kind === "count";
  const lines = counts ? countLines : rules[0].kind === "table" ? tableLines : ruleLines;
  const often = device === "birth_month" ? "countPeople" : "countTimes";
  const list = el(
    "dl",
    { class: "rules" },
    lines(speaker, group, rules, items, reports).map(([outcomes, doing]) =>
      el(
        "div",
        {},
        el(
          "dt",
          {},
          runs(outcomes).map(([low, high]) =>
            el(
              "span",
              { class: "outcome" },
              low === high ? names[low] : `${names[low]}–${names[high]}`,
            ),
          ),
        ),
        el("dd", {}, doing),
      ),
    ),
  );
  return counts ? [el("p", {}, speaker.say(often, { n: rules[0].times })), list] : list;
}

/** For each true answer, the outcomes to count. */
const countLines = (speaker, group, rules, items) =>
  rules.map(({ outcomes }, truth) => [
    outcomes,
    speaker.say(outcomes.length ? "countThese" : "countNone", {
      truth: items[0].labels[truth].cloneNode(true),
    }),
  ]);

function ruleLines(speaker, group, rules, items) {
  return alike(rules).map(({ rule, outcomes }) => [outcomes, doing(speaker, group, rule, items)]);
}

/** What one rule asks for; said once where it is the same for all questions of the group. */
function doing(speaker, group, rule, items) {
  if (rule.kind === "truth") return speaker.say("ruleTruth");
  const each = items.map((item, i) => one(speaker, rule, item, i, group.sizes[i]));
  const texts = each.map((said) => said.map((part) => part.textContent ?? part).join(""));
  if (new Set(texts).size === 1) return each[0];
  return el(
    "ul",
    {},
    items.map((item, i) => el("li", {}, [item.question.cloneNode(true), ": ", each[i]])),
  );
}

function one(speaker, rule, item, i, size) {
  if (rule.kind === "say")
    return speaker.say("ruleSay", { answer: item.labels[rule.codes[i]].cloneNode(true) });
  if (rule.kind === "other")
    return speaker.say("ruleOther", { question: item.personal.cloneNode(true) });
  const places = rule.by[i];
  if (places === 0) return speaker.say("ruleTruth");
  return size === 2 ? speaker.say("ruleOpposite") : speaker.say("ruleAfter", { n: places });
}

/** A matrix: for each true answer, what each outcome asks for. */
function tableLines(speaker, group, rules, items, reports) {
  const truths = every(group.sizes);
  const answer = (codes) =>
    speaker.list(
      codes.map((code, i) => reports[i][code].cloneNode(true)),
      "conjunction",
    );
  const merged = alike(rules);
  return merged.map(({ rule, outcomes }) => [
    outcomes,
    el(
      "ul",
      {},
      truths.map((codes, cell) => {
        const truth = speaker.list(
          codes.map((code, i) => items[i].labels[code].cloneNode(true)),
          "conjunction",
        );
        return el(
          "li",
          {},
          speaker.say("ruleTable", {
            truth: el("span", {}, truth),
            answer: el("span", {}, answer(rule.codes[cell])),
          }),
        );
      }),
    ),
  ]);
}
