// The coin. This module reads a published design, the same JSON that the survey's analysts read,
// and disguises answers by it on this device. It asks for nothing and sends nothing.
//
// A design's group is disguised by one coin, which picks a strategy with a known chance: see
// coin_families.js. Answers are codes here: the position of a category in its attribute's list,
// from 0. All chances are exact fractions and all draws exact: whole random numbers from the browser's
// cryptographic source, compared with whole thresholds. There is no floating point in between.

import { DesignError, FAMILIES, check, product } from "./coin_families.js";
import { ONE, ZERO, equal, ladder, less, total } from "./fractions.js";

export { DesignError };

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

// Reading ------------------------------------------------------------------------------------

/** A group of attributes with its coin; refused unless all of it is understood and adds up. */
export function readGroup(attributes, coin) {
  check(Object.hasOwn(FAMILIES, coin.family), `unknown family: ${coin.family}`);
  const { parameters, asks = "answer", decide, throws } = FAMILIES[coin.family];
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
    throws: throws?.(coin),
    ladder: ladder(weights),
    reported: reportedAttributes(attributes, coin),
  };
}

/** What is reported of a group: its attributes, or one with categories of its own. */
function reportedAttributes(attributes, coin) {
  const cells = Number(product(attributes.map(({ categories }) => categories.length)));
  const categories = FAMILIES[coin.family].reports?.(coin, cells) ?? null;
  if (categories === null) return attributes;
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

/** The same for the true code of each attribute; null, a missing answer, is never disguised. */
export function reportOf(group, truthOf) {
  const truth = group.names.map(truthOf);
  return truth.includes(null) ? null : disguiseGroup(group, truth);
}

/** The record that is sent: for each reported attribute the category that the codes stand for,
 *  or null where `codesOf` gives null: a missing answer. */
export function recordOf(design, codesOf) {
  const codes = new Map(
    design.groups.flatMap((group) => {
      const found = codesOf(group);
      return group.reported.map(({ name }, i) => [name, found === null ? null : found[i]]);
    }),
  );
  return Object.fromEntries(
    design.reported.map(({ name, categories }) => {
      if (codes.get(name) === null) return [name, null];
      check(codes.get(name) in categories, `${name}: nothing to report`);
      return [name, categories[codes.get(name)]];
    }),
  );
}
