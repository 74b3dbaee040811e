// What comes before the questions: language, introduction, practice, questions on the rules.

import { oneOf } from "./controls.js";
import { rulesOf } from "./device.js";
import { disguiseGroup, readGroup } from "./disguise.js";
import { button, el, heading } from "./elements.js";
import { ruleList } from "./explain.js";
import { inOwnCategories } from "./odds.js";
import { besideEachOther, isGiven, throwing } from "./questions.js";
import { whatHappens } from "./what_happens.js";

/** A language in its own words; its code where the browser does not know it. */
function named(language) {
  try {
    return new Intl.DisplayNames([language], { type: "language" }).of(language);
  } catch {
    return language;
  }
}

/** Buttons for the survey's languages, each named in itself; nothing if there is only one. */
export function languages(page) {
  if (page.speakers.length < 2) return "";
  const one = (speaker) =>
    el(
      "button",
      {
        type: "button",
        lang: speaker.language,
        "aria-pressed": String(speaker === page.speaker),
        onclick: () => page.speak(speaker),
      },
      named(speaker.language),
    );
  const label = page.speaker.plain("language");
  return el("div", { class: "languages", role: "group", "aria-label": label }, page.speakers.map(one));
}

/** How many questions are asked; a step with a model asks several. */
const numberOf = (steps) => steps.reduce((sum, { asks = 1 }) => sum + asks, 0);

/** Title, introduction, what happens to answers, what is stored and what is not. */
export function introductionStep(page) {
  const { speaker, survey, questions } = page;
  const say = speaker.say.bind(speaker);
  const list = (keys, tag = "ul", kind = null) =>
    el(
      tag,
      { class: kind },
      keys.filter(Boolean).map((key) => el("li", {}, say(key))),
    );
  const disguised = page.design.groups.some(({ family }) => family !== "truthful");
  const open = page.design.groups.some(({ family }) => family === "truthful");
  const consent = survey.consent ? consentBox(page) : null;
  return {
    body: [
      survey.logo ? logo(speaker, survey.logo) : null,
      heading(speaker.own(survey.title)),
      survey.introduction ? speaker.own(survey.introduction, "p", { class: "lead" }) : null,
      el("p", { class: "small" }, say(page.conditions.size ? "factsUpTo" : "facts", { n: numberOf(questions) }), dates(speaker, survey)),
      whatHappens(page),
      disguised && survey.waves ? el("p", {}, say("waves", { n: survey.waves })) : null,
      disguised && open ? el("p", {}, say("someOpen")) : null,
      survey.questions.some(({ optional }) => optional)
        ? el("p", {}, say("preferNotIntro"))
        : null,
      el(
        "div",
        { class: "kept" },
        el(
          "section",
          {},
          el("h2", {}, say("stored")),
          list(
            ["storedAnswers", survey.free_texts && "storedTexts", "storedDay"],
            "ul",
            "yes",
          ),
        ),
        el(
          "section",
          {},
          el("h2", {}, say("notStored")),
          list(
            [
              "notPerson",
              "notTime",
              survey.access === "invited" && "notLink",
            ],
            "ul",
            "no",
          ),
        ),
      ),
      forCheckers(page),
      linkList(page),
      consent?.node,
    ],
    next: speaker.say("start"),
    read: consent?.read,
  };
}

/** The picture is in the published survey: nothing is requested. */
const logo = (speaker, { data, alt }) =>
  el("img", { class: "logo", src: data, alt: speaker.text(alt), lang: speaker.language });

/** A box that must be ticked; what is ticked is kept while the page is open, and never sent. */
function consentBox(page) {
  const box = el("input", { type: "checkbox", checked: page.consented });
  const node = el("label", { class: "consent" }, box, page.speaker.own(page.survey.consent));
  const read = () => {
    page.consented = box.checked;
    return box.checked ? null : { error: "consentFirst", control: box };
  };
  return { node, read };
}

/** Contact, imprint and the like. */
function linkList({ speaker, survey }) {
  if (!survey.links) return null;
  const one = ({ text, address }) =>
    el("li", {}, el("a", { href: address, target: "_blank", rel: "noopener" }, speaker.own(text)));
  return el("ul", { class: "links" }, survey.links.map(one));
}

function dates(speaker, { opens, closes }) {
  return [
    opens ? [" ", ...speaker.say("opens", { day: speaker.day(opens) })] : [],
    closes ? [" ", ...speaker.say("closes", { day: speaker.day(closes) })] : [],
  ];
}

/** Where the rules and the program are, for those who want to see for themselves. */
function forCheckers({ speaker, survey, published }) {
  const link = (href, text) => el("a", { href, target: "_blank", rel: "noopener" }, text);
  return el(
    "details",
    {},
    el("summary", {}, speaker.say("checkers")),
    el("p", {}, speaker.say("remembered")),
    el("p", {}, speaker.say("checkRules", { file: link("survey.json", "survey.json") })),
    survey.device === "browser"
      ? el(
          "p",
          {},
          speaker.say("checkProgram", {
            file: link(new URL("disguise.js", import.meta.url), "disguise.js"),
          }),
        )
      : null,
    el("p", {}, speaker.say("checkFingerprint"), " ", el("code", {}, published.fingerprint)),
  );
}

// Practice -----------------------------------------------------------------------------------

/** The first coin of the design that can disguise one answer of so many, and its question. */
function practiceGroup({ survey, published, items }) {
  const categories = survey.practice.answers.map((_, i) => String(i));
  for (const { coin, attributes } of published.design.groups) {
    try {
      const group = readGroup([{ name: "practice", categories }], coin);
      if (group.family === "truthful" || group.asks !== "answer") continue;
      if (survey.device !== "browser") rulesOf(group, survey.device);
      return { group, question: items.get(attributes[0]).question };
    } catch {
      continue;
    }
  }
  return { group: null };
}

/** A question to try the rules on; its answer stays on the page. */
export function practiceStep(page) {
  const { speaker, survey } = page;
  const { practice } = survey;
  const { group, question } = practiceGroup(page);
  const answers = practice.answers.map((answer) => speaker.own(answer));
  const reports =
    group && !inOwnCategories(group)
      ? group.reported[0].categories.map((category) => speaker.label(category, question))
      : answers;
  const own = group !== null && isGiven(group, survey.device);
  const control = oneOf(
    speaker,
    (own ? reports : answers).map((answer) => answer.cloneNode(true)),
    null,
  );
  const outcome = el("div", { class: "outcome-box", role: "status" });
  const primary = button("primary", speaker.say(own || !group ? "tryOwn" : "tryDisguise"));
  const throwIt = (code) => (own || !group ? code : disguiseGroup(group, [code])[0]);
  const told = !group ? "onlyTried" : own ? "onlyYouSaw" : "chanceDecided";
  const legend = own ? el("h2", {}, speaker.say("yourAnswer")) : heading(speaker.own(practice.text));
  const asked = el("fieldset", {}, el("legend", {}, legend), control.node);
  let tried = false;
  return {
    badge: el("span", { class: "badge open" }, speaker.say("practice")),
    body: [
      own ? besideEachOther(speaker, practiceRules(page, group, answers, reports), asked) : asked,
      outcome,
    ],
    primary,
    read: () => {
      const code = control.read();
      if (tried) return null;
      if (code === null) return { error: "chooseOne", control };
      tried = true;
      primary.replaceChildren(...speaker.say("next"));
      outcome.append(...practiceTold(speaker, practice, reports[throwIt(code)], told));
      if (group && !own) outcome.append(hundred(speaker, control, reports, throwIt));
      return { stay: true };
    },
  };
}

function practiceRules(page, group, answers, reports) {
  const { speaker, survey } = page;
  const items = [{ question: answers[0], personal: null, labels: answers }];
  return [
    heading(speaker.own(survey.practice.text)),
    throwing(page, "practice"),
    ruleList(speaker, group, survey.device, items, [reports]),
  ];
}

const practiceTold = (speaker, practice, answer, told) => [
  el("p", { class: "big" }, speaker.say("wouldSend", { answer: answer.cloneNode(true) })),
  el("p", {}, speaker.say(told)),
  ...(practice.explanation ? [speaker.own(practice.explanation, "p")] : []),
];

/** Throws the coin a hundred times for the answer chosen, and counts. */
function hundred(speaker, control, reports, throwIt) {
  const counted = el("div");
  const show = () => {
    const counts = reports.map(() => 0);
    const truth = control.read();
    for (let i = 0; i < 100; i += 1) counts[throwIt(truth)] += 1;
    const bars = counts.map((n, i) =>
      el(
        "li",
        {},
        el("span", {}, reports[i].cloneNode(true)),
        el("progress", { max: 100, value: n, "aria-hidden": "true" }),
        el("span", {}, n),
      ),
    );
    counted.replaceChildren(
      el("p", {}, speaker.say("hundredTold")),
      el("ul", { class: "bars" }, bars),
    );
  };
  return el("div", {}, button("secondary", speaker.say("hundred"), show), counted);
}

// Questions on the rules -----------------------------------------------------------------------

/** One question on the rules: a wrong answer is explained and tried again. */
export function comprehensionStep(page, { text, answers, correct, explanation }) {
  const { speaker } = page;
  const control = oneOf(
    speaker,
    answers.map((answer) => speaker.own(answer)),
    null,
  );
  const told = el("div", { role: "status" });
  const primary = button("primary", speaker.say("check"));
  const why = () => (explanation ? speaker.own(explanation, "p") : null);
  let right = false;
  return {
    badge: el("span", { class: "badge open" }, speaker.say("aboutRules")),
    body: [el("fieldset", {}, el("legend", {}, heading(speaker.own(text))), control.node), told],
    primary,
    read: () => {
      if (right) return null;
      const code = control.read();
      if (code === null) return { error: "chooseOne", control };
      right = code === correct - 1;
      told.replaceChildren(
        el(
          "div",
          { class: right ? "outcome-box right" : "outcome-box wrong" },
          el("p", { class: "big" }, speaker.say(right ? "right" : "notRight")),
          ...[why()].filter(Boolean),
          ...(right ? [] : [el("p", {}, speaker.say("tryAgain"))]),
        ),
      );
      if (right) primary.replaceChildren(...speaker.say("next"));
      return { stay: true };
    },
  };
}
