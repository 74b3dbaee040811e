// The coin. This module reads a published design, the same JSON that the survey's analysts read,
// and disguises answers by it on this device. It asks for nothing and sends nothing.
//
// A design's group is disguised by one coin. The coin picks a strategy with a known chance:
//   keep        report the truth
//   differ      report one of the other answers, all alike; for yes/no the opposite
//   replace     report a draw from a known distribution, whatever the truth
//   substitute  report a draw from the distribution that belongs to the truth
// Answers are codes here: the position of a category in its attribute's list, from 0.
// All chances are exact fractions and all draws exact: whole random numbers from the browser's
// cryptographic source, compared with whole thresholds. There is no floating point in between.

import {
  ONE,
  divided,
  equal,
  fraction,
  ladder,
  less,
  minus,
  over,
  plus,
  total,
  ZERO,
} from "./fractions.js";

export class DesignError extends Error {}

function check(holds, message) {
  if (!holds) throw new DesignError(message);
}

// Drawing ------------------------------------------------------------------------------------

/** A whole random number from 0 to n - 1, all alike: just enough bits, thrown again if too large. */
export function below(n) {
  const bits = (n - 1n).toString(2).length;
  const words = new BigUint64Array((bits + 63) >> 6);
  for (;;) {
    crypto.getRandomValues(words);
    const all = words.reduce((joined, word) => (joined << 64n) | word, 0n);
    const drawn = BigInt.asUintN(bits, all);
    if (drawn < n) return drawn;
  }
}

/** A position, drawn as often as its chance says: the first threshold above a random number. */
export function draw({ length, steps }) {
  const drawn = below(length);
  return steps.findIndex((step) => drawn < step);
}

// Several answers as one joint code and back; the last one runs fastest.

const product = (sizes) => sizes.reduce((cells, size) => cells * BigInt(size), 1n);

const joined = (codes, sizes) =>
  codes.reduce((cell, code, i) => cell * BigInt(sizes[i]) + BigInt(code), 0n);

function parted(cell, sizes) {
  const codes = [];
  for (const size of [...sizes].reverse()) {
    codes.unshift(Number(cell % BigInt(size)));
    cell /= BigInt(size);
  }
  return codes;
}

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
    check(own && Object.keys(given).length === names.length, `${what}: one list an attribute`);
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

const keepOr = (chance, otherwise) => [
  [chance, KEEP],
  [minus(ONE, chance), otherwise],
];

/** Each family: its parameters, and what its coin may decide, with the probability of each.
 *
 * A family asks for the answer, unless it asks one of two questions ("either") or only whether two
 * answers are the same ("comparison").
 */
const FAMILIES = {
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
      check(sizes.length === 1 && sizes[0] === 2, "crosswise needs one yes/no answer");
      return keepOr(probability(p, "p"), { kind: "differ", units: eachAlone(sizes) });
    },
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
  matrix: { parameters: ["matrix", "reported"], decide: decideMatrix },
};

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
  return [[ONE, { kind: "substitute", columns, ladders: columns.map(ladder) }]];
}

// Reading ------------------------------------------------------------------------------------

/** A group of attributes with its coin; refused unless all of it is understood and adds up. */
export function readGroup(attributes, coin) {
  check(Object.hasOwn(FAMILIES, coin.family), `unknown family: ${coin.family}`);
  const { parameters, asks = "answer", decide } = FAMILIES[coin.family];
  for (const key of Object.keys(coin)) {
    const allowed = key === "family" || parameters.includes(key);
    check(allowed, `unknown parameter of ${coin.family}: ${key}`);
  }
  const names = attributes.map(({ name }) => name);
  const sizes = attributes.map(({ categories }) => categories.length);
  const weighted = decide(coin, sizes, names);
  const weights = weighted.map(([weight]) => weight);
  check(equal(total(weights), ONE), "the chances of a coin must sum to 1");
  check(
    weights.every((weight) => !less(weight, ZERO)),
    "a chance must not be negative",
  );
  return {
    family: coin.family,
    asks,
    coin,
    names,
    sizes,
    categories: attributes.map(({ categories }) => categories),
    weights,
    strategies: weighted.map(([, strategy]) => strategy),
    ladder: ladder(weights),
    reported: reportedAttributes(attributes, coin),
  };
}

/** What is reported of a group: its attributes, or one of its own where a matrix says so. */
function reportedAttributes(attributes, { matrix, reported }) {
  const cells = Number(product(attributes.map(({ categories }) => categories.length)));
  if (!matrix || (!reported && matrix.length === cells)) return attributes;
  const categories = reported ?? matrix.map((_, i) => `r${i + 1}`);
  check(categories.length === matrix.length, "matrix: one name for each row");
  return [{ name: attributes.map(({ name }) => name).join("+"), categories }];
}

/** The design that a design file describes, ready to throw; an error if anything is amiss. */
export function readDesign(data) {
  check(data?.tacit === "design" && data.version === 1, "not a design that this page can read");
  const byName = new Map(data.attributes.map((attribute) => [attribute.name, attribute]));
  for (const { name, categories } of byName.values()) {
    check(new Set(categories).size === categories.length, `${name}: a category comes twice`);
    check(categories.length >= 2, `${name}: fewer than two categories`);
  }
  const groups = data.groups.map(({ attributes, coin }) => {
    check(
      attributes.every((name) => byName.has(name)),
      "a group names an unknown attribute",
    );
    return readGroup(
      attributes.map((name) => byName.get(name)),
      coin,
    );
  });
  const grouped = groups.flatMap(({ names }) => names);
  const once = new Set(grouped).size === grouped.length && grouped.length === byName.size;
  check(once && byName.size === data.attributes.length, "each attribute belongs to one group");
  return { attributes: [...byName.values()], groups, reported: inOrder(data.attributes, groups) };
}

/** Reported attributes in the order of the true ones; a joint one stands at its first. */
function inOrder(attributes, groups) {
  const place = new Map(attributes.map(({ name }, i) => [name, i]));
  const placed = groups.flatMap(({ names, reported }) => {
    const first = Math.min(...names.map((name) => place.get(name)));
    const joint = reported.length < names.length;
    return reported.map((each, i) => [joint ? first : place.get(names[i]), each]);
  });
  return placed.sort(([a], [b]) => a - b).map(([, each]) => each);
}

// Disguising ---------------------------------------------------------------------------------

/** Throws the coin of a group: which strategy came up. */
export const throwCoin = (group) => group.strategies[draw(group.ladder)];

/** What a strategy makes of the true codes of a group. */
export function follow(strategy, codes, group) {
  const reported = [...codes];
  const set = ({ positions, sizes }, cell) =>
    parted(cell, sizes).forEach((code, i) => (reported[positions[i]] = code));
  switch (strategy.kind) {
    case "differ":
      for (const each of strategy.units) {
        const truth = joined(
          each.positions.map((i) => codes[i]),
          each.sizes,
        );
        set(each, (truth + 1n + below(each.cells - 1n)) % each.cells);
      }
      break;
    case "replace":
      strategy.units.forEach((each, i) => set(each, BigInt(draw(strategy.ladders[i]))));
      break;
    case "substitute": {
      const row = draw(strategy.ladders[Number(joined(codes, group.sizes))]);
      return parted(
        BigInt(row),
        group.reported.map(({ categories }) => categories.length),
      );
    }
  }
  return reported;
}

/** Reported codes for the true codes of a group: one throw, then what came up is followed. */
export const disguiseGroup = (group, codes) => follow(throwCoin(group), codes, group);

/** The record that is sent: for each reported attribute the category that the codes stand for. */
export function recordOf(design, codesOf) {
  const codes = new Map(
    design.groups.flatMap((group) => {
      const found = codesOf(group);
      return group.reported.map(({ name }, i) => [name, found[i]]);
    }),
  );
  return Object.fromEntries(
    design.reported.map(({ name, categories }) => {
      check(codes.get(name) in categories, `${name}: nothing to report`);
      return [name, categories[codes.get(name)]];
    }),
  );
}
