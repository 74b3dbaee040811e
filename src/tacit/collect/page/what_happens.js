// What the first page tells about the disguise: a picture of it, why the totals come out right, and
// what can be guessed. Its promises follow from the design, and its numbers never look safer than
// they are.

import { OUTCOMES } from "./device.js";
import { el } from "./elements.js";
import { outcomeNames, upTo100 } from "./explain.js";
import { ONE, ZERO, equal, ladder, less, over, plus, times } from "./fractions.js";
import { PAIRED } from "./labels.js";
import { chance, givenAway, leastDisguised, of100, of100up, sizesOf } from "./odds.js";

/** A picture with more outcomes than this is given in cases of 100. */
const MOST_OUTCOMES = 1000n;
/** From this many right guesses of 100 on, the page says that a guess may be almost certain. */
const ALMOST_CERTAIN = 90;
/** As many outcomes are drawn as squares at most. */
const MOST_SQUARES = 12n;
/** Odds of one answer are computed for this many pairs of a true and a sent answer at most. */
const MOST_PAIRS = 4096;

/** Paragraphs, a picture, and a fold with numbers; nothing if no question is disguised. */
export function whatHappens(page) {
  const { speaker, design, published } = page;
  const groups = design.groups.filter(({ family }) => family !== "truthful");
  if (!groups.length) return [];
  const say = (key, values) => speaker.say(key, values);
  const pair = groups.every(({ asks }) => PAIRED[asks]) ? "Pair" : "";
  const proof = groups.some((group) => group.names.some((_, i) => givenAway(group, i).length));
  const bounds = boundsOf(published);
  return [
    el("h2", {}, say("happens")),
    el(
      "ol",
      { class: "path" },
      el("li", {}, picture(page, groups)),
      el("li", {}, say(proof ? "someProof" : `noProof${pair}`), " ", say(guessing(bounds))),
      el("li", {}, say(`totals${pair}`)),
      el("li", {}, say("see")),
    ),
    howGood(speaker, groups, bounds),
  ];
}

// The picture --------------------------------------------------------------------------------

/** What the coin of a group may decide, as [kind, share]; null where that is not one of a few. */
function decisions(group) {
  if (PAIRED[group.asks] || group.strategies[0].kind === "substitute") return null;
  const shares = new Map();
  group.strategies.forEach((strategy, i) => {
    const kind = kindOf(group, strategy);
    shares.set(kind, plus(shares.get(kind) ?? ZERO, group.weights[i]));
  });
  return [...shares].filter(([, share]) => share.n > 0n);
}

function kindOf({ asks }, { kind, units, distributions }) {
  if (kind === "keep") return asks === "either" ? "asked" : "truth";
  if (asks === "either") return "harmless";
  if (kind === "differ") return units.every(({ cells }) => cells === 2n) ? "opposite" : "another";
  return distributions.every((shares) => shares.some((share) => equal(share, ONE)))
    ? "fixed"
    : "chance";
}

/** The disguise in a picture: of the question that chance changes least, if questions differ. */
function picture({ speaker, survey }, groups) {
  const { device } = survey;
  const own = device !== "browser";
  const pictured = groups.map((group) => ({ group, found: decisions(group) }));
  const drawn = pictured.filter(({ found }) => found);
  if (!drawn.length) {
    if (groups.every(({ asks }) => PAIRED[asks])) return speaker.say(`pair_${groups[0].asks}`);
    if (!own) return speaker.say("drawsTable");
    return [speaker.say(`own_${device}`), " ", speaker.say("ownTable")];
  }
  const texts = pictured.map(({ found }) => String(found?.map(([k, { n, d }]) => [k, n, d])));
  const differ = new Set(texts).size > 1;
  const { found } = drawn.reduce((a, b) => (less(changed(b.group), changed(a.group)) ? b : a));
  const length = own ? BigInt(OUTCOMES[device]) : ladder(found.map(([, share]) => share)).length;
  return [
    el("p", {}, thrower(speaker, device, length, differ)),
    length <= MOST_SQUARES ? squares(found, length) : null,
    el(
      "dl",
      { class: "rules picture" },
      outcomesOf(speaker, device, found, length, differ).map(([outcomes, kind]) =>
        el("div", {}, el("dt", {}, outcomes), el("dd", {}, doing(speaker, own, kind))),
      ),
    ),
  ];
}

/** The smallest chance that something else than the true answer is sent. */
const changed = (group) =>
  group.names.map((_, i) => leastDisguised(group, i)).reduce((a, b) => (less(b, a) ? b : a));

/** Who throws what. */
function thrower(speaker, device, length, differ) {
  if (device !== "browser") {
    return [speaker.say(`own_${device}`), differ ? [" ", speaker.say("forExample")] : null];
  }
  if (differ || length > MOST_OUTCOMES) return speaker.say(differ ? "drawsSome" : "drawsAny");
  const thing = { 2: "draws_2", 6: "draws_6" }[length] ?? "draws";
  return speaker.say(thing, { n: String(length) });
}

/** A square for each outcome, in one colour for each decision. */
const squares = (found, length) =>
  el(
    "p",
    { class: "squares", "aria-hidden": "true" },
    found.map(([, share]) => el("span", {}, "■".repeat(Number(times(share, over(length)).n)))),
  );

/** For each decision the outcomes that lead to it; in cases of 100 if there are too many. */
function outcomesOf(speaker, device, found, length, differ) {
  const badge = (text) => el("span", { class: "outcome" }, text);
  if (device === "browser" && length > MOST_OUTCOMES) {
    return found.map(([kind, share], i) => [
      badge(speaker.say(i ? "atLeast" : "atMost", { n: (i ? of100 : of100up)(share) })),
      kind,
    ]);
  }
  const thing = device === "browser" && length === 2n && !differ ? "coin" : device;
  const names = thing === "browser" ? null : outcomeNames(speaker, thing, "short");
  let last = 0n;
  return found.map(([kind, share]) => {
    const first = last;
    last += times(share, over(length)).n;
    const [low, high] = [first, last - 1n].map((i) => (names ? names[i] : String(i + 1n)));
    return [badge(low === high ? low : `${low}–${high}`), kind];
  });
}

const GIVEN = {
  asked: "ruleTruth",
  truth: "ruleTruth",
  opposite: "ruleOpposite",
  another: "give_another",
  chance: "give_named",
  fixed: "give_named",
  harmless: "give_harmless",
};
const doing = (speaker, own, kind) => speaker.say(own ? GIVEN[kind] : `sent_${kind}`);

// What can be guessed ------------------------------------------------------------------------

/** The published bounds: of 100 guesses from all disguised answers, how many are right at most. */
function boundsOf({ disclosure_bound: { attributes } }) {
  const disguised = Object.values(attributes).filter((bound) => bound.disguised);
  return {
    together: Math.max(...disguised.map((bound) => upTo100(bound.disguised))),
    several: disguised.length > 1,
    open: disguised.some((bound) => bound.all.guess > bound.disguised.guess),
  };
}

const guessing = ({ together }) =>
  together >= 100 ? "guessAll" : together >= ALMOST_CERTAIN ? "guessMost" : "guessSome";

/** Numbers for those who want them, with what they assume. */
function howGood(speaker, groups, { together, several, open }) {
  const one = guessFromOne(groups);
  const line = (key, values) => el("p", {}, speaker.say(key, values));
  return el(
    "details",
    { class: "guess" },
    el("summary", {}, speaker.say("howGood")),
    line("guessSeen"),
    line("guessBlind"),
    one === null ? null : line("guessOne", { n: one }),
    together >= 100 ? line("boundNone") : null,
    together < 100 && (several || one === null) ? line("guessTogether", { n: together }) : null,
    open ? line("boundOpen") : null,
    line("guessAssumes"),
  );
}

/** Of 100 guesses from one sent answer how many are right at most; null if it takes too long. */
function guessFromOne(groups) {
  let most = ZERO;
  for (const group of groups) {
    for (const position of group.names.keys()) {
      const { truths, reports } = sizesOf(group, position);
      if (truths * reports > MOST_PAIRS) return null;
      const guess = rightGuesses(group, position, truths, reports);
      if (less(most, guess)) most = guess;
    }
  }
  return of100up(most);
}

/** P(the likeliest true answer is right) if all true answers are equally common. */
function rightGuesses(group, position, truths, reports) {
  let right = ZERO;
  for (let r = 0; r < reports; r += 1) {
    let best = ZERO;
    for (let t = 0; t < truths; t += 1) {
      const share = chance(group, position, r, t);
      if (less(best, share)) best = share;
    }
    right = plus(right, best);
  }
  return times(right, over(1n, BigInt(truths)));
}
