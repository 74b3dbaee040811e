// The questions of a survey as steps of the page.
//
// An answer is either true and disguised at the end ("direct"), or already what is sent ("given"):
// where the page decides which questions it asks (unrelated), where the respondent says only
// whether two answers are the same (crosswise) or any is yes (triangular), or where she throws a device of her own.

import { DOES_NOT_APPLY, isSecret } from "./conditions.js";
import { anyOf, number, oneOf } from "./controls.js";
import { throwCoin } from "./disguise.js";
import { el, fresh, heading } from "./elements.js";
import { ruleList } from "./explain.js";
import { PAIRED, attributesOf, labelsOf, questionText, reportLabels } from "./labels.js";
import { isModelled, modelStep } from "./model_step.js";
import { DECLINED, isOffered, offerStep, optionalControl } from "./optional.js";
import { oddsOfAll } from "./stated_odds.js";

/** Whether the answers of a group are entered as they are sent. */
export const isGiven = (group, device) =>
  device === "browser" ? group.asks !== "answer" : group.family !== "truthful";

/** What the page knows of each attribute: its question, group, position in it, its categories. */
export function itemsOf(survey, design) {
  const items = new Map();
  for (const question of survey.questions) {
    for (const { name, category } of attributesOf(question)) {
      const group = design.groups.find(({ names }) => names.includes(name));
      const attribute = design.attributes.find((each) => each.name === name);
      const { personal, innocent } = wording(survey, name, question);
      const position = group.names.indexOf(name);
      const { categories, edges } = attribute;
      items.set(name, {
        name,
        question,
        category,
        group,
        position,
        categories,
        edges,
        personal,
        innocent,
      });
    }
  }
  return items;
}

/** The personal or innocent question that the survey asks beside an attribute's own. */
function wording({ groups }, name, question) {
  const own = groups.find(
    ({ questions }) => questions.includes(name) || questions.includes(question.name),
  );
  const asked = own?.personal && Object.hasOwn(own.personal, name);
  return { personal: asked ? own.personal[name] : null, innocent: own?.innocent ?? null };
}

/** Steps in the order of the questions; a group that is given as a whole stands at its first. */
export function questionSteps(survey, items) {
  const steps = [];
  const seen = new Set();
  for (const question of survey.questions) {
    const own = attributesOf(question).map(({ name }) => items.get(name));
    if (isModelled(survey, question)) {
      const asks = survey.model.questions.length + 1;
      steps.push({ names: [own[0].name], asks, show: (page) => modelStep(page, own[0]) });
      continue;
    }
    const direct = own.filter(({ group }) => !isGiven(group, survey.device));
    for (const alike of byCoin(direct)) {
      const names = alike.map(({ name }) => name);
      steps.push({ names, show: (page) => directStep(page, question, alike) });
    }
    for (const { group } of own) {
      if (!isGiven(group, survey.device) || seen.has(group)) continue;
      seen.add(group);
      const asked = group.names.map((name) => items.get(name));
      steps.push({ names: group.names, show: (page) => givenStep(page, group, asked) });
    }
  }
  return steps;
}

/** The attributes of a multiple choice apart where their odds are. */
function byCoin(items) {
  const found = new Map();
  for (const item of items) {
    const coin = JSON.stringify(item.group.coin);
    found.set(coin, [...(found.get(coin) ?? []), item]);
  }
  return found.values();
}

// Parts of a step ---------------------------------------------------------------------------

const help = (speaker, question) =>
  question.help ? speaker.own(question.help, "p", { class: "help" }) : null;

const badge = (speaker, group) =>
  group.family === "truthful"
    ? el("span", { class: "badge open" }, speaker.say("sentAsItIs"))
    : el("span", { class: "badge" }, speaker.say("disguised"));

// Direct answers -----------------------------------------------------------------------------

function directStep(page, question, own) {
  const { speaker, answers } = page;
  const plain = directControl(page, question, own);
  const declined = answers.get(own[0].name) === null;
  const control = question.optional ? optionalControl(speaker, plain, declined) : plain;
  const title = speaker.own(question.text);
  const asked = own[0].group.names.map((name) => page.items.get(name));
  const told = control.typed ? heading(el("label", { for: control.id }, title)) : heading(title);
  return {
    badge: badge(speaker, own[0].group),
    body: [
      el(
        control.typed ? "div" : "fieldset",
        {},
        control.typed ? told : el("legend", {}, told),
        help(speaker, question),
        question.kind === "multiple"
          ? el("p", { class: "small" }, speaker.say("multipleHint"))
          : null,
        control.node,
      ),
      isSecret(page, { names: [own[0].name] })
        ? el("p", { class: "small" }, speaker.say("askedIf"))
        : null,
      oddsOfAll(page, own, asked),
    ],
    read: () => {
      const read = control.read();
      if (read === null) return { error: "chooseOne", ...control.problem?.(), control };
      if (read === DECLINED) {
        page.typed.delete(question.name);
        for (const { name } of own) answers.set(name, null);
        return null;
      }
      if (control.typed) page.typed.set(question.name, control.typed());
      own.forEach(({ name }, i) =>
        answers.set(name, read instanceof Set ? Number(read.has(i)) : read),
      );
      return null;
    },
  };
}

function directControl({ speaker, answers, typed }, question, own) {
  const given = answers.get(own[0].name);
  if (question.kind === "multiple") {
    const chosen = new Set(own.flatMap(({ name }, i) => (answers.get(name) ? [i] : [])));
    return anyOf(
      speaker,
      own.map(({ category }) => speaker.label(category, question)),
      chosen,
    );
  }
  const chosen = question.asked_if ? (category) => category !== DOES_NOT_APPLY : () => true;
  const labels = labelsOf(speaker, { question, categories: own[0].categories.filter(chosen) });
  if (question.kind !== "number") return oneOf(speaker, labels, given);
  const id = fresh();
  return { ...number(speaker, question, labels, typed.get(question.name), id), id };
}

// Answers that are given as they are sent ------------------------------------------------------

function givenStep(page, group, asked) {
  const { speaker, survey } = page;
  if (isOffered(page, group, asked[0])) {
    const { question } = asked[0];
    const offer = offerStep(page, group, asked[0], help(speaker, question));
    return { badge: badge(speaker, group), ...offer };
  }
  const shape =
    PAIRED[group.asks]
      ? paired(page, asked[0])
      : survey.device === "browser"
        ? unrelated(page, group, asked)
        : thrown(page, group, asked);
  const { top, controls, after, beside } = shape;
  const frames = controls.map(({ frame }) => frame);
  return {
    badge: badge(speaker, group),
    body: [beside ? besideEachOther(speaker, top, frames) : [top, frames], after],
    read: () => {
      const codes = controls.map(({ control }) => control.read());
      const missing = codes.indexOf(null);
      if (missing >= 0) return { error: "chooseOne", control: controls[missing].control };
      page.given.set(group, codes);
      return null;
    },
  };
}

/** Question and rules stay in view next to the answers, however long these are. */
export const besideEachOther = (speaker, rules, answers) =>
  el(
    "div",
    { class: "beside" },
    el(
      "div",
      { class: "panel", tabindex: "0", role: "group", "aria-label": speaker.plain("rules") },
      rules,
    ),
    el("div", {}, answers),
  );

/** One question with its answers; alone on its step, its text is the heading. */
function framed(speaker, title, inner, alone, extra = null) {
  const told = alone ? heading(title) : el("h2", {}, title);
  return el("fieldset", {}, el("legend", {}, told), extra, inner);
}

/** Asks whether two answers are the same, or whether any of them is yes. */
function paired(page, item) {
  const { speaker, given } = page;
  const { title, options, shown } = PAIRED[item.group.asks];
  const [no, yes] = labelsOf(speaker, item);
  const labels = shown.map((code) => el("span", {}, speaker.say(options[code])));
  const before = given.get(item.group)?.[0];
  const control = oneOf(speaker, labels, before === undefined ? null : shown.indexOf(before));
  const count =
    item.question.kind === "yes_no"
      ? null
      : el("p", { class: "small" }, speaker.say("countAs", { yes, no }));
  const pair = el(
    "dl",
    { class: "pair" },
    el("div", {}, el("dt", {}, speaker.say("questionA")), el("dd", {}, speaker.own(item.innocent))),
    el(
      "div",
      {},
      el("dt", {}, speaker.say("questionB")),
      el("dd", {}, speaker.own(item.question.text), help(speaker, item.question), count),
    ),
  );
  const extra = [el("p", {}, speaker.say(`${title}How`)), pair];
  const read = () => {
    const found = control.read();
    return found === null ? null : shown[found];
  };
  return {
    top: null,
    controls: [
      {
        frame: framed(speaker, speaker.say(title), control.node, true, extra),
        control: { ...control, read },
      },
    ],
    after: [
      el("p", { class: "odds" }, speaker.say(`${title}Why`)),
      oddsOfAll(page, [item], [item]),
    ],
  };
}

/** Whether the sensitive questions of a group came up; thrown once. */
function sensitiveAsked({ throws }, group) {
  const [name] = group.names;
  if (!throws.has(name)) throws.set(name, throwCoin(group).kind === "keep");
  return throws.get(name);
}

/** The page throws which questions it asks, once, and asks only these. */
function unrelated(page, group, asked) {
  const { speaker, given } = page;
  const sensitive = sensitiveAsked(page, group);
  const alone = asked.length === 1;
  const controls = asked.map((item, i) => {
    const { question, personal } = item;
    const labels =
      sensitive || !personal.answers
        ? labelsOf(speaker, item)
        : personal.answers.map((answer) => speaker.own(answer));
    const control = oneOf(speaker, labels, given.get(group)?.[i]);
    const title = sensitive ? questionText(speaker, item) : speaker.own(personal.text);
    return {
      frame: framed(
        speaker,
        title,
        control.node,
        alone,
        sensitive ? help(speaker, question) : null,
      ),
      control,
    };
  });
  const how = el("p", { class: "note" }, speaker.say(sensitive ? "askedThis" : "askedOther"));
  const top = alone ? how : [heading(speaker.say("askedThese")), how];
  return { top, controls, after: oddsOfAll(page, asked, asked) };
}

/** The respondent throws her own device, follows its rule and gives the answer it asks for. */
function thrown(page, group, asked) {
  const { speaker, survey, given } = page;
  const reports = reportLabels(speaker, group, asked);
  const items = asked.map((item) => ({
    question: questionText(speaker, item),
    personal: item.personal ? speaker.own(item.personal.text) : null,
    labels: labelsOf(speaker, item),
  }));
  const before = given.get(group);
  const joint = reports.length < asked.length;
  const alone = reports.length === 1;
  const controls = reports.map((labels, i) => {
    const shown = labels.map((label, code) =>
      withPersonal(speaker, label, asked[i].personal, code),
    );
    const control = oneOf(speaker, shown, before?.[i]);
    const title = alone ? speaker.say("yourAnswer") : items[i].question;
    return {
      frame: el("fieldset", {}, el("legend", {}, el("h2", {}, title)), control.node),
      control,
    };
  });
  const title =
    asked.length === 1
      ? items[0].question.cloneNode(true)
      : speaker.say("oneThrow", { n: asked.length });
  const questions =
    joint || asked.length > 1
      ? el(
          "ol",
          { class: "asked" },
          items.map(({ question }) => el("li", {}, question.cloneNode(true))),
        )
      : help(speaker, asked[0].question);
  const top = [
    heading(title),
    questions,
    throwing(page, asked[0].name),
    ruleList(speaker, group, survey.device, items, reports),
  ];
  return { top, controls, after: oddsOfAll(page, asked, asked), beside: true };
}

/** That it is time to throw, and how: of months on each step, since each needs another person. */
export function throwing(page, step) {
  const { speaker, survey } = page;
  const everywhere = survey.device === "birth_month";
  page.howSaid ??= step;
  return [
    el("h2", {}, speaker.say(`throw_${survey.device}`)),
    everywhere || page.howSaid === step
      ? el("p", { class: "small" }, speaker.say(`how_${survey.device}`))
      : null,
  ];
}

/** An answer, and what it stands for if the personal question is answered. */
function withPersonal(speaker, label, personal, code) {
  if (!personal?.answers) return label;
  const other = speaker.say("orOther", { answer: speaker.own(personal.answers[code]) });
  return el("span", {}, label, el("span", { class: "small" }, " ", other));
}
