// Sending: the same bytes until the server says that they are stored; the memo of what was sent.

import { below } from "./disguise.js";
import { quoted } from "./fingerprint.js";
import { longestTexts, sentTexts } from "./free_texts.js";
import { attributesOf } from "./labels.js";

const ATTEMPTS = 8;
const LONGEST_STEP = 60; // seconds between attempts, unless the server asks for more
const TOO_LONG = 600; // seconds that nobody waits for: the page offers to send later
const PATIENCE = 20_000; // milliseconds for one attempt

/** 16 random bytes as 32 hexadecimal digits: a retry with the same key is stored once. */
export const newKey = () =>
  below(1n << 128n)
    .toString(16)
    .padStart(32, "0");

// Every submission to a survey has the same length, or the length would reveal the record to
// whoever sees it pass: TLS hides what is sent, but not how long it is.

/** The length of a text or an object as Python's `json.dumps` writes it. */
function written(value) {
  if (value === null) return "null".length;
  if (typeof value === "string") return quoted(value).length;
  const parts = Object.entries(value).map(
    ([name, own]) => quoted(name).length + written(own) + 4, // ": " and ", "
  );
  return parts.reduce((sum, part) => sum + part, 0);
}

/** What may be missing: all that is reported of an optional question. */
function optionalReports({ questions }, { groups }) {
  const optional = questions.filter((question) => question.optional).flatMap(attributesOf);
  const names = new Set(optional.map(({ name }) => name));
  const missing = groups.filter((group) => group.names.some((name) => names.has(name)));
  return new Set(missing.flatMap(({ reported }) => reported.map(({ name }) => name)));
}

/** The record of a survey that is written longest. */
function longestRecord(survey, design) {
  const optional = optionalReports(survey, design);
  const longest = (a, b) => (written(b) > written(a) ? b : a);
  return Object.fromEntries(
    design.reported.map(({ name, categories }) => [
      name,
      [...categories, ...(optional.has(name) ? [null] : [])].reduce(longest),
    ]),
  );
}

/** What is sent: for the same sending the same bytes, for any record and texts as many. */
export function bodyOf({ published, design }, { key, token, record, texts }) {
  const { fingerprint, survey } = published;
  const own = { record, ...sentTexts(survey, texts) };
  const longest = { record: longestRecord(survey, design), ...longestTexts(survey) };
  const sent = { fingerprint, key, ...(token ? { token } : {}), ...own, padding: "" };
  const length = written({ ...sent, ...longest });
  const bare = new TextEncoder().encode(JSON.stringify(sent)).length;
  return JSON.stringify({ ...sent, padding: " ".repeat(length - bare) });
}

// Storage may be blocked; the page then works without a memory.

export function stored(storage, name) {
  const attempt = (use) => {
    try {
      return use(window[storage]);
    } catch {
      return null;
    }
  };
  return {
    read: () => attempt((own) => JSON.parse(own.getItem(name))),
    write: (value) => attempt((own) => own.setItem(name, JSON.stringify(value))),
    forget: () => attempt((own) => own.removeItem(name)),
  };
}

/** A memory that keeps nothing. */
const NOTHING = { read: () => null, write: () => {}, forget: () => {} };

/** What was disguised on this device, kept by what was asked, as one survey sends it:
 *  {record, key, token, stored or unsent}.
 *
 * Surveys that ask the same share the record. Each has a key of its own, drawn when the survey is
 * first opened, so that keys do not link the waves of a panel.
 */
export function memoOf(asked, survey, preview) {
  if (preview) return NOTHING;
  const kept = stored("localStorage", `tacit:${asked}`);
  const write = ({ record, texts, ...own }) => {
    // What was written is never kept on the device.
    const surveys = { ...kept.read()?.surveys, [survey]: own };
    kept.write({ record, surveys });
  };
  const read = () => {
    const { record, surveys, ...older } = kept.read() ?? {};
    if (!record) return null;
    if (surveys?.[survey]) return { record, ...surveys[survey] };
    // Older pages kept a single key: the first survey to be opened takes it over.
    const own = surveys ? { key: newKey(), token: null, unsent: true } : older;
    write({ record, ...own });
    return { record, ...own };
  };
  return { read, write, forget: kept.forget };
}

/** The one-time token of the link, kept for a reload of this tab. */
export const tokenKept = stored("sessionStorage", `tacit:token:${location.pathname}`);

/** The token, taken out of the address if it is there. */
export function takeToken() {
  const given = location.hash.slice(1);
  if (given) {
    history.replaceState(null, "", location.pathname);
    tokenKept.write(given);
  }
  return given || tokenKept.read();
}

/** One attempt: stored, worth another attempt after some seconds, or refused for a reason. */
async function attempt(body) {
  let answer;
  try {
    answer = await fetch("responses", {
      method: "POST",
      headers: { "Content-Type": "application/json" },
      body,
      credentials: "omit",
      cache: "no-store",
      redirect: "error",
      referrerPolicy: "no-referrer",
      signal: AbortSignal.timeout(PATIENCE),
    });
  } catch {
    return { wait: 0, type: "network" };
  }
  const told = (await answer.json().catch(() => null)) ?? {};
  // Only the server's own word counts: a network that asks for a login answers 200 as well.
  if (answer.ok) return told.stored === true ? { stored: true } : { wait: 0, type: "network" };
  const type = String(told.type ?? "")
    .split("/")
    .pop();
  if ([408, 429].includes(answer.status) || answer.status >= 500) {
    return { wait: Number(answer.headers.get("Retry-After")) || 0, type: type || "unavailable" };
  }
  return { refused: true, type };
}

export const pause = (seconds) => new Promise((done) => setTimeout(done, 1000 * seconds));

/** Sends until stored or refused; `waiting(type, seconds)` is told before each pause. */
export async function deliver(body, waiting) {
  for (let number = 1; ; number += 1) {
    const found = await attempt(body);
    if (found.wait === undefined) return found;
    if (number === ATTEMPTS || found.wait > TOO_LONG) return { gaveUp: true, type: found.type };
    // Twice as long each time, by chance a little more: who failed together comes back apart.
    const step = Math.min(2 ** (number - 1), LONGEST_STEP);
    const seconds = Math.max(found.wait, step) + Number(below(BigInt(step)));
    waiting(found.type, seconds);
    await pause(seconds);
  }
}
