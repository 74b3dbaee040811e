// Exact fractions: {n, d}, two BigInts in lowest terms with d > 0. Nothing is ever rounded.

const greatestDivisor = (a, b) => {
  while (b) [a, b] = [b, a % b];
  return a < 0n ? -a : a;
};

export function over(n, d = 1n) {
  if (d === 0n) throw new RangeError("a fraction needs a denominator other than 0");
  const common = greatestDivisor(n, d) * (d < 0n ? -1n : 1n);
  return { n: n / common, d: d / common };
}

export const ZERO = over(0n);
export const ONE = over(1n);

/** The exact number that a text such as "5/6", "1" or "0.75" stands for. */
export function fraction(text) {
  const found = /^(\d+)(?:\.(\d+))?(?:\/(\d+))?$/.exec(String(text));
  if (!found) throw new RangeError(`not a number such as 3/4: ${text}`);
  const [, whole, decimals = "", denominator = "1"] = found;
  return over(BigInt(whole + decimals), 10n ** BigInt(decimals.length) * BigInt(denominator));
}

export const plus = (a, b) => over(a.n * b.d + b.n * a.d, a.d * b.d);
export const minus = (a, b) => over(a.n * b.d - b.n * a.d, a.d * b.d);
export const times = (a, b) => over(a.n * b.n, a.d * b.d);
export const divided = (a, b) => over(a.n * b.d, a.d * b.n);
export const total = (fractions) => fractions.reduce(plus, ZERO);
export const less = (a, b) => a.n * b.d < b.n * a.d;
export const equal = (a, b) => a.n === b.n && a.d === b.d;

/** Positions of thresholds on a common ruler: step i is the sum of the first i + 1 fractions. */
export function ladder(fractions) {
  const length = fractions.reduce((d, f) => (d * f.d) / greatestDivisor(d, f.d), 1n);
  let reached = 0n;
  const steps = fractions.map((f) => (reached += f.n * (length / f.d)));
  return { length, steps };
}
