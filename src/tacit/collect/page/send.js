// Sending: the same bytes until the server says that they are stored; what a device keeps till then.

import { below } from "./disguise.js";
import { fingerprintOf, quoted } from "./fingerprint.js";
import { longestTexts, sentTexts } from "./free_texts.js";
import { attributesOf } from "./labels.js";

const ATTEMPTS = 8;
const LONGEST_STEP = 60; // seconds between attempts, unless the server asks for more
const TOO_LONG = 600; // seconds that nobody waits for: the page offers to send later
const PATIENCE = 20_000; // milliseconds for one attempt
const CHECK_PATIENCE = 3_000; // for the check of a link, before the page says that it is late

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

/** Who answers, as far as a survey can tell: a hash of the link's token; null without a link.
 *
 * Without TLS browsers have no SHA-256; the end of a token is then too short to use it.
 */
export const personOf = async (survey, token) =>
  token && ((await fingerprintOf({ survey, token })) ?? token.slice(-8));

/** What a device keeps of a survey, and of a person if she has a link: {answered, waiting}.
 *
 * `answered` is all that remains of answers that are stored. `waiting` has those that are
 * disguised and not known to be stored: {key, record, sent}, `sent` if Send was pressed. What was
 * written in free texts is never kept, and neither is the link.
 */
export function memoOf(survey, person, preview) {
  const item = preview ? NOTHING : stored("localStorage", `tacit:memo:${survey}:${person ?? ""}`);
  const read = () => ({ answered: false, waiting: [], ...item.read() });
  const write = (memo) => (memo.answered || memo.waiting.length ? item.write(memo) : item.forget());
  const has = (key) => read().waiting.some((answers) => answers.key === key);
  const others = (key) => read().waiting.filter((answers) => answers.key !== key);
  const keep = ({ key, record }, sent) => {
    const { answered, waiting } = read();
    const kept = { key, record, sent };
    const places = has(key) ? waiting : [...waiting, kept];
    write({ answered, waiting: places.map((answers) => (answers.key === key ? kept : answers)) });
  };
  return {
    read,
    has,
    keep,
    drop: (key) => write({ ...read(), waiting: others(key) }),
    done: (key) => write({ answered: true, waiting: others(key) }),
  };
}

/** The one-time token of the link, kept for a reload of this tab until it is used. */
export const tokenKept = stored("sessionStorage", `tacit:token:${location.pathname}`);

/** The token, taken out of the address, or else `returned` to this tab. */
export function takeToken() {
  const given = location.hash.slice(1);
  if (given) {
    history.replaceState(null, "", location.pathname);
    tokenKept.write(given);
  }
  const token = given || tokenKept.read();
  return { token, returned: token !== null && !given };
}

const post = (address, body, patience) =>
  fetch(address, {
    method: "POST",
    headers: { "Content-Type": "application/json" },
    body,
    credentials: "omit",
    cache: "no-store",
    redirect: "error",
    referrerPolicy: "no-referrer",
    signal: AbortSignal.timeout(patience),
  });

/** The type of a problem, without the address that it may have. */
const typeOf = (told) =>
  String(told?.type ?? "")
    .split("/")
    .pop();

/** Why the server would refuse answers with this link; null if it would not, or does not say. */
export async function linkRefusal(token) {
  try {
    const answer = await post("link", JSON.stringify({ token }), CHECK_PATIENCE);
    const told = await answer.json();
    if (answer.ok) return told.usable === false ? "link-used" : null;
    return ["closed", "full", "not-yet-open"].find((type) => type === typeOf(told)) ?? null;
  } catch {
    return null; // whoever cannot be told may answer
  }
}

/** One attempt: stored, worth another attempt after some seconds, or refused for a reason. */
async function attempt(body) {
  let answer;
  try {
    answer = await post("responses", body, PATIENCE);
  } catch {
    return { wait: 0, type: "network" };
  }
  const told = (await answer.json().catch(() => null)) ?? {};
  // Only the server's own word counts: a network that asks for a login answers 200 as well.
  if (answer.ok) return told.stored === true ? { stored: true } : { wait: 0, type: "network" };
  const type = typeOf(told);
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
