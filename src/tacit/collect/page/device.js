// The respondent's own coin, die or birth month: what each outcome of one throw tells her to do.
// She follows the rule herself, so her true answer is never entered.
//
// A rule is one of
//   truth            answer truthfully
//   shift by [s..]   give, to each question, the answer s places after the true one, going round
//   say [codes]      give these answers, whatever the truth
//   other            answer the personal questions instead
//   table [codes..]  give these answers, by the joint true answer
//   count outcomes   throw several times and count these outcomes; one rule for each true answer

import { DesignError } from "./disguise.js";
import { ONE, minus, over, times } from "./fractions.js";

export const OUTCOMES = { coin: 2, die: 6, birth_month: 12 };
/** Rules that are listed one by one; no device has as many outcomes. */
const MOST = 1000n;

/** The rule for each outcome of one throw, in order; an error if the device cannot make them.
 *
 * Rules to count are one for each true answer.
 */
export function rulesOf(group, device) {
  const outcomes = OUTCOMES[device];
  if (group.throws) return countRules(group, outcomes);
  if (group.strategies[0].kind === "substitute") return tableRules(group, outcomes);
  const shared = group.strategies.flatMap((strategy, i) =>
    decided(strategy, group).map(([share, rule]) => [times(group.weights[i], share), rule]),
  );
  return dealt(shared, outcomes);
}

/** Each rule as often as its share of the outcomes. */
function dealt(shared, outcomes) {
  const rules = shared.flatMap(([share, rule]) => {
    const { n, d } = times(share, over(BigInt(outcomes)));
    if (d !== 1n) throw new DesignError(`${outcomes} outcomes cannot make ${share.n}/${share.d}`);
    return Array(Number(n)).fill(rule);
  });
  if (rules.length !== outcomes) throw new DesignError("the outcomes do not add up");
  return rules;
}

/** What one strategy may come to, with shares that sum to 1. */
function decided(strategy, group) {
  if (strategy.kind === "keep") return [[ONE, { kind: "truth" }]];
  if (group.asks === "either") return [[ONE, { kind: "other" }]];
  const parts = strategy.units.map((unit, i) =>
    strategy.kind === "differ" ? shifts(unit) : draws(unit, strategy.distributions[i]),
  );
  return combined(parts).map(([share, choices]) => [share, ruleOf(strategy, group, choices)]);
}

function ruleOf({ kind, units }, group, choices) {
  const codes = Array(group.sizes.length).fill(0);
  units.forEach(({ positions }, i) => positions.forEach((at, j) => (codes[at] = choices[i][j])));
  return kind === "differ" ? { kind: "shift", by: codes } : { kind: "say", codes };
}

/** Every way to differ from the truth in a unit, all alike. */
function shifts({ sizes, cells }) {
  if (cells > MOST) throw new DesignError("too many answers for a throw");
  const share = over(1n, cells - 1n);
  return every(sizes)
    .filter((by) => by.some((s) => s > 0))
    .map((by) => [share, by]);
}

/** Every answer that may be drawn in a unit, with its chance. */
function draws({ sizes, cells }, distribution) {
  if (cells > MOST) throw new DesignError("too many answers for a throw");
  return every(sizes)
    .map((codes, i) => [distribution[i], codes])
    .filter(([share]) => share.n > 0n);
}

/** All joint codes; the last one runs fastest. */
export const every = (sizes) =>
  sizes.reduce(
    (cells, size) => cells.flatMap((cell) => Array.from({ length: size }, (_, c) => [...cell, c])),
    [[]],
  );

/** One choice a unit, independently: shares multiply. */
function combined(parts) {
  return parts.reduce(
    (found, part) => {
      if (BigInt(found.length) * BigInt(part.length) > MOST)
        throw new DesignError("too many rules");
      return found.flatMap(([share, chosen]) =>
        part.map(([other, choice]) => [times(share, other), [...chosen, choice]]),
      );
    },
    [[ONE, []]],
  );
}

function tableRules(group, outcomes) {
  const reports = every(group.reported.map(({ categories }) => categories.length));
  const columns = group.strategies[0].columns.map((column) =>
    dealt(
      column.map((share, row) => [share, reports[row]]),
      outcomes,
    ),
  );
  return Array.from({ length: outcomes }, (_, o) => ({
    kind: "table",
    codes: columns.map((column) => column[o]),
  }));
}

/** The first outcomes, as many as the share of red cards in the deck of each true answer. */
function countRules({ throws }, outcomes) {
  return throws.shares.map((share) => {
    const counted = dealt(
      [
        [share, true],
        [minus(ONE, share), false],
      ],
      outcomes,
    );
    const held = counted.flatMap((red, outcome) => (red ? [outcome] : []));
    return { kind: "count", times: throws.times, outcomes: held };
  });
}
