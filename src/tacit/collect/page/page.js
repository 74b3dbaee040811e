// The respondent's page: one step after the other, until what is disguised is sent.
// True answers live in this page's memory only, and only until they are disguised.

import { sentDetails, sentParts, waitingStep } from "./again.js";
import { comprehensionStep, introductionStep, languages, practiceStep } from "./before.js";
import {
  firstOpen,
  isShown,
  readConditions,
  timeStep,
  truthOf,
  unaskedTime,
  waitUnasked,
} from "./conditions.js";
import { readDesign, recordOf, reportOf } from "./disguise.js";
import { button, el, heading } from "./elements.js";
import { freeTextSteps, writtenTexts } from "./free_texts.js";
import { REFUSALS, notice, today } from "./notices.js";
import { alreadyStored, samePerson, somebodyElse, usedDevice, whichAnswers } from "./people.js";
import { openSteps, placeOf, restore } from "./place.js";
import { checkFingerprint, loadSurvey } from "./published.js";
import { isGiven, itemsOf, questionSteps } from "./questions.js";
import { inSections, sectionName, sectionStep } from "./sections.js";
import {
  bodyOf,
  deliver,
  linkRefusal,
  memoOf,
  newKey,
  personOf,
  takeToken,
  tokenKept,
} from "./send.js";
import { Speaker, loadWords, preferred } from "./words.js";

const main = document.getElementById("main");
const title = document.getElementById("title");
const progress = document.getElementById("progress");
const chooser = document.getElementById("languages");
const banner = document.querySelector("body > [role=note]");
/** In a preview nothing is stored, and any token will do. */
const PREVIEW = banner ? "preview" : null;
/** Steps in the history that are not of this load of the page are over. */
const LOAD = performance.timeOrigin;

/** What the steps share. */
const page = {
  answers: new Map(), // true codes by attribute, until they are disguised
  modelled: new Map(), // true codes that only a model on this device needs, until then
  typed: new Map(), // numbers as typed, by question, until they are disguised
  given: new Map(), // codes as they are sent, by group
  throws: new Map(), // whether sensitive questions are asked, by the first of their group
  willing: new Set(), // who chose to answer an optional question, by the first of its group
  oddsSaid: new Map(), // the step on which odds were said first, by their text
  reports: new Map(), // disguised codes by group, where a reload has come between
  times: new Map(), // milliseconds spent on each step with questions
  texts: new Map(), // free texts by name
};
let steps = [];
let at = 0;
let furthest = 0;
let locked = 0; // steps before this one are over
let shown = null;

// Showing ------------------------------------------------------------------------------------

function show(index) {
  at = index;
  furthest = Math.max(furthest, index);
  timeStep(page, steps[index]);
  try {
    render(steps[index].show(page), steps[index]);
  } catch (error) {
    fail(error);
  }
}

/** A step as a form: its body, what is wrong with an answer, and where to go from here. */
function render(made, step = {}) {
  shown = made;
  const { speaker } = page;
  const error = el("p", { class: "error", role: "alert" });
  const primary = made.primary ?? (made.next ? button("primary", made.next) : null);
  const usual = [
    primary ?? button("primary", speaker.say("next")),
    at > locked ? button("secondary", speaker.say("back"), () => history.back()) : null,
  ];
  const section = sectionName(page, step);
  const form = el(
    "form",
    { class: "step", novalidate: true, autocomplete: "off", "aria-labelledby": section.id },
    section.node,
    made.badge || step.place
      ? el("p", { class: "where" }, step.place ?? null, made.badge ?? null)
      : null,
    step.again ? el("p", { class: "note" }, speaker.say("askedAgain")) : null,
    made.body,
    error,
    el("div", { class: "actions" }, made.actions ?? usual),
  );
  form.addEventListener("submit", (event) => {
    event.preventDefault();
    submit(made, error);
  });
  main.replaceChildren(form);
  chooser.replaceChildren(...(step === steps[0] ? [languages(page)] : []));
  title.hidden = Boolean(step.titled) || step.number !== undefined;
  showProgress(step);
  window.scrollTo(0, 0);
  main.querySelector("h1")?.focus({ preventScroll: true });
}

function submit(made, error) {
  const found = made.read?.() ?? null;
  error.replaceChildren();
  if (found?.error) {
    error.append(...page.speaker.say(found.error, found.values));
    found.control.focus();
  } else if (found?.again) {
    found.again();
    show(at);
  } else if (!found) {
    forward();
  }
}

function showProgress({ number }) {
  progress.hidden = number === undefined;
  if (number === undefined) return;
  progress.max = page.questions.length;
  progress.value = number;
  progress.setAttribute("aria-label", page.speaker.plain("progress"));
}

/** The next step that applies; each one passed over is in the history as well, so it shows none. */
function forward() {
  let next = at;
  do {
    next += 1;
    history.pushState({ at: next, load: LOAD }, "");
  } while (!isShown(page, steps[next]));
  show(next);
}

window.addEventListener("popstate", ({ state }) => {
  if (anotherLink()) return;
  if (state?.load !== LOAD || state.at < locked) {
    history.back(); // what is over is not shown again: on, until the page is left
  } else if (state.at !== at && state.at <= furthest) {
    shown?.read?.(); // keep what was entered so far
    const open = firstOpen(page, steps, state.at);
    if (open < state.at) history.go(open - state.at);
    else if (isShown(page, steps[state.at])) show(state.at);
    else history.go(Math.sign(state.at - at));
  }
});

/** A link that is opened where the page is already open starts the page anew. */
function anotherLink() {
  const given = location.hash.length > 1;
  if (given) location.reload();
  return given;
}
window.addEventListener("hashchange", anotherLink);

// What is kept for a reload holds no true answer: see place.js. A browser may keep the page as it
// is and show it again, to somebody else, before it starts anew: so nothing is left on it.
window.addEventListener("pagehide", () => {
  page.place?.leave(page, steps, at);
  clearTruth();
  main.replaceChildren();
});

// A page that the browser has kept starts anew, from what was kept.
window.addEventListener("pageshow", ({ persisted }) => persisted && location.reload());

/** A page without a way on: closed, full, refused, or nothing to do. */
function stop(title, text, extra = [], actions = []) {
  const body = [heading(page.speaker.say(title)), el("p", {}, page.speaker.say(text)), ...extra];
  halt({ body, actions });
}

/** Shows what ends all steps. */
function halt(made) {
  page.place?.forget();
  locked = furthest = at;
  render(made);
}

// The order of things --------------------------------------------------------------------------

/** Sets the language; the steps are made anew in it. */
page.speak = (speaker) => {
  page.speaker = speaker;
  document.documentElement.lang = speaker.page;
  title.lang = speaker.language;
  title.textContent = document.title = speaker.text(page.survey.title);
  if (banner) {
    banner.lang = speaker.page;
    banner.replaceChildren(...speaker.say("preview"));
  }
  steps = allSteps();
  show(0);
};

/** Goes to where this tab was before it was loaded again; else to the first step. */
function resume(kept) {
  const first = steps.findIndex(({ number }) => number !== undefined);
  if (!kept || first < 0) return;
  let index = kept.step;
  if (kept.number !== undefined) {
    restore(page, kept);
    const last = steps.filter((step) => step.last);
    const others = [...openSteps(page, page.questions, kept.number), ...last];
    steps = [...steps.slice(0, first), ...others];
    index = locked = first;
  }
  history.replaceState({ at: index, load: LOAD }, "");
  show(index);
}

/** Starts in the language and at the step that this tab has kept. */
function goOn() {
  const kept = page.place.read();
  page.known = true;
  page.speak(page.speakers.find(({ language }) => language === kept?.language) ?? page.speaker);
  resume(kept);
}

/** What comes before all steps, because of the link or of what this device or this tab keeps. */
function beforeAll() {
  const { survey, token, refusal, known, returned, memo, place } = page;
  if (survey.access === "invited" && !token) return () => notice(page, "noLink");
  if (refusal) return () => notice(page, refusal);
  if (known) return null;
  const { answered, waiting } = memo.read();
  if (place.read()?.number !== undefined) return () => samePerson(page, "same.begun", goOn);
  if (token && waiting.length) {
    return () => samePerson(page, "same.waiting", () => showWaiting(waiting[0]));
  }
  if (token && answered) return () => alreadyStored(page);
  if (returned) return () => samePerson(page, "same.link", goOn);
  const start = () => {
    page.known = true;
    page.speak(page.speaker);
  };
  return cameFirst(start) && (() => cameFirst(start));
}

/** What to show if somebody has answered on this device; null if nobody else has.
 *
 * Another tab with the same link is the same person. Without links she says who she is; `goAhead`
 * if she has not answered.
 */
function cameFirst(goAhead) {
  const { token, memo, others } = page;
  const kept = memo.read();
  const { answered, waiting } = kept;
  if (!answered && !waiting.length) return null;
  if (token) {
    forgetTruth();
    return waiting.length ? waitingStep(page, waiting[0], sendIt, doNotSend) : alreadyStored(page);
  }
  if (JSON.stringify(kept) === others) return null;
  const start = () => {
    page.others = JSON.stringify(kept);
    goAhead();
  };
  const done = () => render(alreadyStored(page, start));
  return usedDevice(page, start, () => {
    if (!waiting.length) done();
    else if (waiting.length === 1 && !answered) showWaiting(waiting[0]);
    else render(whichAnswers(page, kept, done, showWaiting));
  });
}

/** Shows what this person has disguised earlier; what she has answered since is forgotten. */
function showWaiting(answers) {
  forgetTruth();
  render(waitingStep(page, answers, sendIt, doNotSend));
}

function allSteps() {
  const { survey, speaker } = page;
  const first = beforeAll() ?? bar();
  if (first) return [{ show: first }];
  page.questions = inSections(page, questionSteps(survey, page.items)).map((step, i, all) => ({
    ...step,
    number: i + 1,
    place: el("span", {}, speaker.say("questionOf", { n: i + 1, total: all.length })),
  }));
  return [
    { show: introductionStep, titled: true },
    ...(survey.practice ? [{ show: practiceStep, titled: true }] : []),
    ...survey.comprehension.map((check) => ({
      titled: true,
      show: () => comprehensionStep(page, check),
    })),
    ...page.questions.flatMap((step) => (step.opens ? [sectionStep(step), step] : [step])),
    ...freeTextSteps(survey),
    { show: review, last: true },
  ];
}

/** Why the survey cannot be answered now, as far as this device can know; null if it can. */
function bar() {
  const { survey, speaker } = page;
  const early = survey.opens && today(1) < survey.opens;
  const late = survey.closes && today(-1) > survey.closes;
  if (page.anyway || !(early || late)) return null;
  const anyway = () => {
    page.anyway = true;
    steps = allSteps();
    show(at);
  };
  return () => ({
    ...notice(page, early ? "not-yet-open" : "closed"),
    actions: [button("secondary", speaker.say("anyway"), anyway)],
  });
}

// Review and sending ---------------------------------------------------------------------------

/** Disguises the answers; what the page has thrown is kept, so that a reload throws nothing. */
function disguiseAll() {
  const { design, survey, given, reports } = page;
  page.sending = {
    key: newKey(),
    token: page.token,
    texts: writtenTexts(page, newKey()),
    record: recordOf(design, (group) => {
      if (reports.has(group)) return reports.get(group);
      if (isGiven(group, survey.device)) return given.get(group);
      return reportOf(group, (name) => truthOf(page, name));
    }),
  };
  page.wait = unaskedTime(page, steps);
  if (survey.device === "browser") page.memo.keep(page.sending, false);
}

/** Forgets the true answers; the steps that ask for them are over. */
function forgetTruth() {
  clearTruth();
  page.place.forget();
  locked = at;
}

function clearTruth() {
  const { answers, modelled, typed, given, throws, willing, times, texts } = page;
  const all = [answers, modelled, typed, given, throws, willing, times, texts];
  for (const kept of all) kept.clear();
}

/** Shows what will be sent; nothing is sent before the button is pressed. */
function review() {
  const { speaker, survey } = page;
  const own = survey.device !== "browser";
  const first = cameFirst(() => show(at));
  if (first) return first;
  disguiseAll();
  if (!own) forgetTruth();
  const { sending } = page;
  return {
    body: [
      heading(speaker.say("review")),
      el("p", {}, speaker.say(own ? "reviewOwn" : "reviewDisguised")),
      sentParts(page, sending),
    ],
    actions: [
      button("primary", speaker.say("send"), () => sendIt(sending)),
      own ? button("secondary", speaker.say("back"), () => history.back()) : null,
      button("secondary", speaker.say("doNotSend"), () => doNotSend(sending.key)),
    ],
  };
}

function doNotSend(key) {
  const discarded = () => stop("notSent.title", "notSent.text");
  if (!page.memo.has(key)) return discarded();
  const drop = () => {
    page.memo.drop(key);
    discarded();
  };
  const buttons = [button("secondary", page.speaker.say("notSent.drop"), drop)];
  return stop("notSent.title", "notSent.kept", [somebodyElse(page)], buttons);
}

async function sendIt(sending) {
  const { speaker, memo } = page;
  page.place.forget();
  locked = at;
  const first = memo.has(sending.key) ? null : cameFirst(() => sendIt(sending));
  if (first) return render(first);
  memo.keep(sending, true); // before sending: whatever happens next, only the same can be sent again
  const told = el("p", { role: "status" }, speaker.say("sendingNow"));
  render({ body: [heading(speaker.say("sending")), told], actions: [] });
  await waitUnasked(page, told);
  const found = await deliver(bodyOf(page, sending), (type, seconds) =>
    told.replaceChildren(...waitingWords(type), " ", ...speaker.say("againIn", { n: seconds })),
  );
  if (found.stored) return finish(sending);
  if (found.gaveUp) return later(found.type, sending);
  return refused(found.type);
}

const waitingWords = (type) => {
  const known = ["network", "too-many", "busy", "unavailable", "slow"];
  return page.speaker.say(`waiting.${known.includes(type) ? type : "unavailable"}`);
};

function finish(sending) {
  page.memo.done(sending.key);
  tokenKept.forget();
  const { thanks } = page.survey;
  const own = thanks ? [page.speaker.own(thanks, "p", { class: "lead" })] : [];
  const next = page.token ? null : somebodyElse(page);
  stop("done.title", "done.text", [...own, sentDetails(page, sending), next]);
}

function later(type, sending) {
  const retry = button("primary", page.speaker.say("sendAgain"), () => sendIt(sending));
  const why = el("p", {}, waitingWords(type));
  stop("later.title", "later.text", [why], [retry]);
}

function refused(type) {
  // The memo stays: a server that refuses has seen the answers, and must not see them drawn anew.
  halt(notice(page, REFUSALS.includes(type) ? type : "program"));
}

// Start ------------------------------------------------------------------------------------------

async function start() {
  const { token, returned } = takeToken();
  history.replaceState({ at: 0, load: LOAD }, "");
  page.published = await loadSurvey();
  page.survey = page.published.survey;
  const invited = page.survey.access === "invited";
  page.token = invited ? (token ?? PREVIEW) : null;
  page.returned = invited && returned && !PREVIEW;
  page.design = readDesign(page.published.design);
  page.conditions = readConditions(page.published.design);
  await checkFingerprint(page.published);
  page.items = itemsOf(page.survey, page.design);
  const { survey_fingerprint } = page.published;
  const person = await personOf(survey_fingerprint, page.token);
  page.memo = memoOf(survey_fingerprint, person, PREVIEW !== null);
  page.place = placeOf(survey_fingerprint, person);
  const { answered, waiting } = page.memo.read();
  if (page.token && !PREVIEW && !answered && !waiting.length) {
    page.refusal = await linkRefusal(page.token);
  }
  page.speakers = await Promise.all(
    preferred(page.survey).map(
      async (language) =>
        new Speaker(page.survey, language, await loadWords(language), page.design.attributes),
    ),
  );
  page.speaker = page.speakers[0];
  if (beforeAll()) page.speak(page.speaker);
  else goOn();
}

/** Nothing can be asked: the survey could not be fetched, or its design is not understood. */
async function fail(error) {
  console.error(error);
  const language = navigator.language;
  page.speaker ??= new Speaker({ questions: [] }, language, await loadWords(language));
  document.documentElement.lang = page.speaker.page;
  const reload = button("primary", page.speaker.say("reload"), () => location.reload());
  stop(
    "broken.title",
    "broken.text",
    [el("p", { class: "small", lang: "en" }, String(error.message))],
    [reload],
  );
}

start().catch(fail);
