// The fingerprint of a design: SHA-256 of its canonical JSON, the same that Python computes.
//
// Canonical: keys sorted by code point, no spaces, everything beyond ASCII escaped, and the edges
// of a number's ranges written as Python writes floating point: 7.0, 0.1, 1e+16, 1e-05.

/** The fingerprint in hexadecimal; null where the browser has no SHA-256 (pages without TLS). */
export async function fingerprintOf(design) {
  if (!crypto.subtle) return null;
  const bytes = new TextEncoder().encode(canonical(design));
  const hash = await crypto.subtle.digest("SHA-256", bytes);
  return Array.from(new Uint8Array(hash), (byte) => byte.toString(16).padStart(2, "0")).join("");
}

function canonical(value, key = "") {
  if (Array.isArray(value)) return `[${value.map((item) => canonical(item, key)).join(",")}]`;
  if (typeof value === "object" && value !== null) {
    const member = (name) => `${quoted(name)}:${canonical(value[name], name)}`;
    return `{${Object.keys(value).sort(byCodePoint).map(member).join(",")}}`;
  }
  if (typeof value === "string") return quoted(value);
  return key === "edges" ? floating(value) : JSON.stringify(value);
}

/** A text in JSON with everything beyond ASCII escaped, as Python writes it. */
export const quoted = (text) =>
  JSON.stringify(text).replace(
    /[^ -~]/g,
    (unit) => `\\u${unit.charCodeAt(0).toString(16).padStart(4, "0")}`,
  );

function byCodePoint(a, b) {
  const [left, right] = [Array.from(a), Array.from(b)];
  const differ = left.findIndex((letter, i) => letter !== right[i]);
  if (differ < 0) return left.length - right.length;
  return left[differ].codePointAt(0) - (right[differ]?.codePointAt(0) ?? -1);
}

/** A number as Python prints it: the shortest digits, an exponent below 1e-4 and from 1e16 on. */
function floating(number) {
  if (Object.is(number, -0)) return "-0.0";
  const [, sign, first, rest = "", power] = /^(-?)(\d)(?:\.(\d+))?e([+-]\d+)$/.exec(
    number.toExponential(),
  );
  const exponent = Number(power);
  if (exponent < -4 || exponent >= 16) {
    const digits = String(Math.abs(exponent)).padStart(2, "0");
    return `${sign}${first}${rest && `.${rest}`}e${exponent < 0 ? "-" : "+"}${digits}`;
  }
  if (exponent < 0) return `${sign}0.${"0".repeat(-exponent - 1)}${first}${rest}`;
  const all = (first + rest).padEnd(exponent + 1, "0");
  return `${sign}${all.slice(0, exponent + 1)}.${all.slice(exponent + 1) || "0"}`;
}
