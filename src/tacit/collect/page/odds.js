// How often a true answer is sent as which answer, in exact fractions, and in people of 100.
// Numbers that respondents read are rounded so that nothing looks more private than it is.

import { ONE, ZERO, divided, minus, over, plus, times, total } from "./fractions.js";

/** People of 100, rounded down and rounded up. */
export const of100 = ({ n, d }) => Number((100n * n) / d);
export const of100up = ({ n, d }) => Number((100n * n + d - 1n) / d);

/** Whether the group speaks of its answers only together: a matrix over several of them. */
export const isJoint = (group) => group.family === "matrix" && group.names.length > 1;

/** P(reported | true) of the attribute at a position; of the joint answers of a joint group. */
export function chance(group, position, reported, truth) {
  return total(
    group.strategies.map((strategy, i) =>
      times(group.weights[i], BY_KIND[strategy.kind](strategy, position, reported, truth)),
    ),
  );
}

const BY_KIND = {
  keep: (_, __, reported, truth) => (reported === truth ? ONE : ZERO),
  differ: ({ units }, position, reported, truth) => {
    // Of the unit's other joint answers, those that show `reported` at this position.
    const { positions, sizes, cells } = units.find((unit) => unit.positions.includes(position));
    const showing = cells / BigInt(sizes[positions.indexOf(position)]);
    return over(reported === truth ? showing - 1n : showing, cells - 1n);
  },
  replace: ({ units, distributions }, position, reported) => {
    const found = units.findIndex((unit) => unit.positions.includes(position));
    const { positions, sizes } = units[found];
    if (sizes.length === 1) return distributions[found][reported];
    const at = positions.indexOf(position);
    const run = sizes.slice(at + 1).reduce((cells, size) => cells * size, 1);
    const shows = (cell) => Math.floor(cell / run) % sizes[at] === reported;
    return total(distributions[found].filter((_, cell) => shows(cell)));
  },
  substitute: ({ columns }, _, reported, truth) => columns[truth][reported],
};

/** True and reported categories whose odds can be told: of one attribute, or of a joint group. */
export function sizesOf(group, position) {
  const cells = group.sizes.reduce((all, size) => all * size, 1);
  const rows = group.strategies[0].columns?.[0].length ?? null;
  return isJoint(group)
    ? { truths: cells, reports: rows }
    : { truths: group.sizes[position], reports: rows ?? group.sizes[position] };
}

/** Whether reports are the true categories, so that "the same" and "another" mean something. */
export const inOwnCategories = (group) =>
  group.reported.every(({ categories }, i) => categories === group.categories[i]);

/** The smallest chance, over all true answers, that another answer than the truth is sent. */
export function leastDisguised(group, position) {
  const { truths } = sizesOf(group, position);
  const changed = Array.from({ length: truths }, (_, t) =>
    minus(ONE, chance(group, position, t, t)),
  );
  return changed.reduce((a, b) => (a.n * b.d <= b.n * a.d ? a : b));
}

/** Reports that only one true answer can lead to, with that answer: they give it away. */
export function givenAway(group, position) {
  const { truths, reports } = sizesOf(group, position);
  const found = [];
  for (let reported = 0; reported < reports; reported += 1) {
    const possible = [];
    for (let truth = 0; truth < truths && possible.length < 2; truth += 1) {
      if (chance(group, position, reported, truth).n > 0n) possible.push(truth);
    }
    if (possible.length === 1) found.push({ reported, truth: possible[0] });
  }
  return found;
}

/** P(true | reported) if all true answers were equally common; null where it is never sent. */
export function posterior(group, position, reported, truth) {
  const { truths } = sizesOf(group, position);
  const row = Array.from({ length: truths }, (_, t) => chance(group, position, reported, t));
  const sent = row.reduce(plus, ZERO);
  return sent.n === 0n ? null : divided(row[truth], sent);
}
