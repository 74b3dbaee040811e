// The texts of the page itself, in the languages it speaks, and those of the survey.

import { DOES_NOT_APPLY } from "./conditions.js";
import { el } from "./elements.js";

const SPOKEN = ["en", "de", "fr", "es"];

/** The page's language for one of the survey's: the same if it is spoken here, else English. */
export const spoken = (language) => {
  const base = language.split("-")[0];
  return SPOKEN.includes(base) ? base : "en";
};

/** The page's texts in its language for one of the survey's; refused unless they have their hash. */
export async function loadWords(language) {
  const file = `words/${spoken(language)}.json`;
  const hashes = JSON.parse(document.querySelector("script[type=importmap]").text).integrity;
  const integrity = hashes[`../../page/${file}`];
  const answer = await fetch(new URL(file, import.meta.url), { integrity });
  if (!answer.ok) throw new Error(`no words: ${answer.status}`);
  return answer.json();
}

/** The survey's languages, those that the browser asks for first. */
export function preferred({ languages }) {
  const rank = (language) => {
    const found = navigator.languages.findIndex(
      (wanted) => wanted.split("-")[0] === language.split("-")[0],
    );
    return found < 0 ? Infinity : found;
  };
  return [...languages].sort((a, b) => (rank(a) === rank(b) ? 0 : rank(a) - rank(b)));
}

/** Speaks: `say` for the page's texts, `own` for the survey's, `label` for its categories. */
export class Speaker {
  constructor(survey, language, words, attributes = []) {
    this.survey = survey;
    this.attributes = attributes;
    this.language = language;
    this.page = spoken(language);
    this.words = words;
    this.plural = new Intl.PluralRules(this.page);
  }

  /** A text of the page; {names} in it stand for values: texts, numbers or elements. */
  say(key, values = {}) {
    let text = this.words[key];
    if (text === undefined) throw new Error(`no words for ${key}`);
    if (typeof text === "object") text = text[this.plural.select(values.n)] ?? text.other;
    return text.split(/\{(\w+)\}/).map((part, i) => (i % 2 ? values[part] : part));
  }

  /** The same as one text. */
  plain(key, values = {}) {
    return this.say(key, values)
      .map((part) => part.textContent ?? part)
      .join("");
  }

  /** A text of the survey in the chosen language. */
  text(texts) {
    return typeof texts === "string" ? texts : texts[this.language];
  }

  /** The same as an element that keeps its language and direction to itself. */
  own(texts, tag = "bdi", attributes = {}) {
    const direction = tag === "bdi" ? {} : { dir: "auto" };
    const lang = this.language;
    return el(tag, { lang, ...direction, ...attributes }, this.text(texts));
  }

  /** A day such as 2027-03-01 in words. */
  day(text) {
    const [year, month, day] = text.split("-").map(Number);
    return this.plain("date", { day, month: this.words.months.split(" ")[month - 1], year });
  }

  /** What respondents read for a category; yes and no without a label are the page's own. */
  labelText(category, question) {
    const given = [question?.labels, this.survey.labels].find(
      (labels) => labels && Object.hasOwn(labels, category),
    );
    if (given) return this.text(given[category]);
    if (question?.asked_if && category === DOES_NOT_APPLY) return this.plain("doesNotApply");
    if (question?.kind === "number" && !question.categories) return this.range(category, question);
    const yesNo = question && ["yes_no", "multiple"].includes(question.kind);
    return yesNo && ["no", "yes"].includes(category) ? this.plain(category) : category;
  }

  number(value) {
    return new Intl.NumberFormat(this.page, { maximumFractionDigits: 12 }).format(value);
  }

  /** A range of a number question that has no name: by the edges around it. */
  range(category, { name, edges }) {
    const at = this.attributes.find((own) => own.name === name).categories.indexOf(category);
    const [low, high] = [edges[at - 1], edges[at]].map((edge) => this.number(edge));
    if (at === 0) return this.plain("upTo", { high });
    return at === edges.length ? this.plain("over", { low }) : this.plain("overTo", { low, high });
  }

  label(category, question) {
    return el("bdi", { lang: this.language }, this.labelText(category, question));
  }

  /** Several elements or texts as a list: "1, 2 or 3". */
  list(items, type = "disjunction") {
    const format = new Intl.ListFormat(this.page, { type });
    return format
      .formatToParts(items.map((_, i) => String(i)))
      .map(({ type: kind, value }) => (kind === "element" ? items[value] : value));
  }
}
