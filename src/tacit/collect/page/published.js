// The published survey: fetched, and compared with the fingerprints that it has.

import { fingerprintOf } from "./fingerprint.js";

/** The published survey of this page. */
export async function loadSurvey() {
  const answer = await fetch("survey.json", { credentials: "omit" });
  if (!answer.ok) throw new Error(`survey.json: ${answer.status}`);
  return answer.json();
}

/** The rules are those of the fingerprint that every record carries. */
export async function checkFingerprint({ design, fingerprint }) {
  const own = await fingerprintOf(design);
  if (own !== null && own !== fingerprint)
    throw new Error("the rules do not fit their fingerprint");
}
