// The families: what the coin of a group may decide, with exact chances, from its parameters.
//
// A coin picks a strategy with a known chance:
//   keep        report the truth
//   differ      report one of the other answers, all alike; for yes/no the opposite
//   replace     report a draw from a known distribution, whatever the truth
//   substitute  report a draw from the distribution that belongs to the truth
// Nothing is drawn here: disguise.js throws the coin and follows the strategy.

import {
  ONE,
  ZERO,
  divided,
  equal,
  fraction,
  ladder,
  less,
  minus,
  over,
  plus,
  times,
  total,
} from "./fractions.js";

export class DesignError extends Error {}

export function check(holds, message) {
  if (!holds) throw new DesignError(message);
}

export const product = (sizes) => sizes.reduce((cells, size) => cells * BigInt(size), 1n);

// Strategies ---------------------------------------------------------------------------------

const KEEP = { kind: "keep" };

/** Positions of answers that are handled as one, with their sizes. */
const unit = (positions, sizes) => {
  const own = positions.map((i) => sizes[i]);
  return { positions, sizes: own, cells: product(own) };
};
const eachAlone = (sizes) => sizes.map((_, i) => unit([i], sizes));
const allTogether = (sizes) => [
  unit(
    sizes.map((_, i) => i),
    sizes,
  ),
];

function distribution(values, what) {
  check(Array.isArray(values), `${what} must be a list`);
  const chances = values.map(fraction);
  check(equal(total(chances), ONE), `${what} must sum to 1`);
  return chances;
}

function replace(units, distributions) {
  units.forEach(({ cells }, i) =>
    check(BigInt(distributions[i].length) === cells, "one chance is needed for each answer"),
  );
  return { kind: "replace", units, distributions, ladders: distributions.map(ladder) };
}

/** A known distribution: shared by all attributes, by attribute name, or one joint table. */
function known(given, sizes, names, what) {
  if (!Array.isArray(given)) {
    const own = names.every((name) => Object.hasOwn(given, name));
    check(own && Object.keys(given).length === names.length, `${what}: needs one list for each attribute`);
    return replace(
      eachAlone(sizes),
      names.map((name) => distribution(given[name], what)),
    );
  }
  if (Array.isArray(given[0])) {
    return replace(allTogether(sizes), [distribution(flattened(given, sizes, what), what)]);
  }
  const shared = distribution(given, what);
  return replace(
    eachAlone(sizes),
    sizes.map(() => shared),
  );
}

function flattened(table, sizes, what) {
  check(Array.isArray(table) && table.length === sizes[0], `${what} does not fit the answers`);
  if (sizes.length === 1) return table;
  return table.flatMap((part) => flattened(part, sizes.slice(1), what));
}

const uniform = (sizes) =>
  replace(
    eachAlone(sizes),
    sizes.map((size) => Array(size).fill(over(1n, BigInt(size)))),
  );

function probability(text, what) {
  const chance = fraction(text);
  check(!less(ONE, chance), `${what} must lie between 0 and 1`);
  return chance;
}

/** How likely each number of red cards is, for a deck with this share of red. */
function redCards(red, cards) {
  let chances = [ONE];
  for (let card = 0; card < cards; card += 1) {
    const black = [...chances, ZERO].map((chance) => times(chance, minus(ONE, red)));
    chances = [ZERO, ...chances].map((chance, i) => plus(times(chance, red), black[i]));
  }
  return chances;
}

/** A report drawn from the distribution of the true answer. */
const substitute = (columns) => [
  [ONE, { kind: "substitute", columns, ladders: columns.map(ladder) }],
];

const oneYesNo = (sizes, family) =>
  check(sizes.length === 1 && sizes[0] === 2, `${family} needs one yes/no answer`);

/** The answer with this probability, else yes. */
const keepOrYes = (chance, sizes) => keepOr(chance, replace(eachAlone(sizes), [[ZERO, ONE]]));

const keepOr = (chance, otherwise) => [
  [chance, KEEP],
  [minus(ONE, chance), otherwise],
];

/** Each family: its parameters, and what its coin may decide, with the probability of each.
 *
 * A family asks for the answer, unless it asks one of two questions ("either"), only whether two
 * answers are the same ("comparison"), or whether any of two is yes ("any_yes"). Reports are the
 * true categories, or `reports`. `throws` has how many throws a respondent makes and what each of
 * them decides, by the true answer.
 */
export const FAMILIES = {
  truthful: { parameters: [], decide: () => [[ONE, KEEP]] },
  related: {
    parameters: ["theta"],
    decide: ({ theta }, sizes) =>
      keepOr(probability(theta, "theta"), { kind: "differ", units: eachAlone(sizes) }),
  },
  crosswise: {
    parameters: ["p"],
    asks: "comparison",
    decide: ({ p }, sizes) => {
      oneYesNo(sizes, "crosswise");
      return keepOr(probability(p, "p"), { kind: "differ", units: eachAlone(sizes) });
    },
  },
  triangular: {
    parameters: ["p"],
    asks: "any_yes",
    decide: ({ p }, sizes) => {
      oneYesNo(sizes, "triangular");
      return keepOrYes(minus(ONE, probability(p, "p")), sizes);
    },
  },
  mangat: {
    parameters: ["p"],
    decide: ({ p }, sizes) => {
      oneYesNo(sizes, "mangat");
      return keepOrYes(probability(p, "p"), sizes);
    },
  },
  mangat_singh: {
    parameters: ["truth", "p"],
    decide: ({ truth, p }, sizes) => {
      const first = probability(truth, "truth");
      const second = times(minus(ONE, first), probability(p, "p"));
      return keepOr(plus(first, second), { kind: "differ", units: eachAlone(sizes) });
    },
  },
  kuk: {
    parameters: ["red_yes", "red_no", "cards"],
    decide: (coin, sizes) => {
      oneYesNo(sizes, "kuk");
      const { times: cards, shares } = FAMILIES.kuk.throws(coin);
      return substitute(shares.map((red) => redCards(red, cards)));
    },
    reports: ({ cards }) => numbers(0, cards),
    throws: ({ red_yes, red_no, cards }) => {
      check(Number.isInteger(cards) && cards >= 1 && cards <= 50, "kuk: 1 to 50 cards");
      const shares = [probability(red_no, "red_no"), probability(red_yes, "red_yes")];
      return { times: cards, shares };
    },
  },
  christofides: {
    parameters: ["distribution"],
    decide: ({ distribution: shares }, sizes) => {
      oneYesNo(sizes, "christofides");
      const drawn = distribution(shares, "distribution");
      return substitute([drawn, [...drawn].reverse()]);
    },
    reports: ({ distribution: shares }) => numbers(1, shares.length),
  },
  unrelated: {
    parameters: ["theta", "personal"],
    asks: "either",
    decide: ({ theta, personal }, sizes, names) =>
      keepOr(probability(theta, "theta"), known(personal, sizes, names, "personal")),
  },
  forced: {
    parameters: ["theta", "forced"],
    decide: ({ theta, forced }, sizes, names) =>
      keepOr(probability(theta, "theta"), known(forced, sizes, names, "forced")),
  },
  uniform_perturbation: {
    parameters: ["q"],
    decide: ({ q }, sizes) => keepOr(probability(q, "q"), uniform(sizes)),
  },
  frapp: { parameters: ["lambda"], decide: decideFrapp },
  matrix: { parameters: ["matrix", "reported"], decide: decideMatrix, reports: matrixReports },
};

const numbers = (first, last) =>
  Array.from({ length: last - first + 1 }, (_, i) => String(first + i));

/** The truth is lambda times as likely as any other of the n joint answers. */
function decideFrapp({ lambda }, sizes) {
  const truth = fraction(lambda);
  const others = over(product(sizes) - 1n);
  if (!less(truth, ONE)) {
    return keepOr(divided(minus(truth, ONE), plus(truth, others)), uniform(sizes));
  }
  const kept = divided(truth, plus(truth, others));
  return keepOr(kept, { kind: "differ", units: allTogether(sizes) });
}

function decideMatrix({ matrix }, sizes) {
  const cells = Number(product(sizes));
  check(Array.isArray(matrix) && matrix.length >= cells, "matrix: too few rows");
  check(
    matrix.every((row) => row.length === cells),
    "matrix: one column for each true answer",
  );
  const columns = matrix[0].map((_, j) =>
    distribution(
      matrix.map((row) => row[j]),
      "a column",
    ),
  );
  return substitute(columns);
}

/** Names of the rows; null if the matrix reports the true categories. */
function matrixReports({ matrix, reported }, cells) {
  if (!reported && matrix.length === cells) return null;
  const categories = reported ?? matrix.map((_, i) => `r${i + 1}`);
  check(categories.length === matrix.length, "matrix: one name for each row");
  return categories;
}
