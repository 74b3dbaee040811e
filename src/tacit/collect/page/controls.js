// What answers are given with. A control has a `node`, `read()` (null: no answer yet), `focus()`.

import { el, fresh } from "./elements.js";

/** More answers than this are searched in instead of listed. */
const MANY = 20;

/** One answer of several: radio buttons, or a list to search in where there are many. */
export function oneOf(speaker, labels, chosen, described = null) {
  return labels.length > MANY
    ? searched(speaker, labels, chosen, described)
    : listed(labels, chosen);
}

function option(type, name, value, label, checked) {
  const input = el("input", { type, name, value, checked, autocomplete: "off" });
  return { input, node: el("label", { class: "option" }, input, el("span", {}, label)) };
}

function listed(labels, chosen) {
  const name = fresh();
  const options = labels.map((label, i) => option("radio", name, i, label, i === chosen));
  return {
    node: el(
      "div",
      { class: "options" },
      options.map(({ node }) => node),
    ),
    read: () => {
      const found = options.findIndex(({ input }) => input.checked);
      return found < 0 ? null : found;
    },
    focus: () => options[0].input.focus(),
  };
}

const folded = (text) => text.normalize("NFKD").replace(/\p{M}/gu, "").toLowerCase();

function searched(speaker, labels, chosen, described) {
  const texts = labels.map((label) => label.textContent ?? label);
  const search = el("input", { type: "search", id: fresh(), autocomplete: "off", dir: "auto" });
  const select = el("select", { id: fresh(), size: 8, autocomplete: "off", dir: "auto" });
  const told = el("p", { class: "small", role: "status" });
  let kept = chosen ?? null;
  const show = () => {
    const wanted = folded(search.value);
    const found = texts.flatMap((text, i) => (folded(text).includes(wanted) ? [i] : []));
    const options = found.map((i) => el("option", { value: i, selected: i === kept }, texts[i]));
    select.replaceChildren(...options);
    if (!found.includes(kept)) select.selectedIndex = -1;
    told.replaceChildren(...speaker.say("found", { n: found.length, total: texts.length }));
  };
  search.addEventListener("input", show);
  search.addEventListener("keydown", (event) => {
    if (event.key !== "Enter") return;
    event.preventDefault(); // to the answers that were found, not to the next question
    select.focus();
  });
  select.addEventListener("change", () => (kept = Number(select.value)));
  show();
  const inner = [
    el("label", { for: search.id }, speaker.say("search")),
    search,
    el("label", { for: select.id }, speaker.say("answers")),
    select,
    told,
  ];
  const node = el("div", { class: "searched", "aria-describedby": described }, inner);
  return {
    node,
    read: () => (select.selectedIndex < 0 ? null : kept),
    focus: () => search.focus(),
  };
}

/** Any number of answers; where there are many, a search hides the others. */
export function anyOf(speaker, labels, chosen) {
  const name = fresh();
  const options = labels.map((label, i) => option("checkbox", name, i, label, chosen.has(i)));
  const list = el(
    "div",
    { class: "options" },
    options.map(({ node }) => node),
  );
  return {
    node: labels.length > MANY ? el("div", {}, narrowing(speaker, options), list) : list,
    read: () => new Set(options.flatMap(({ input }, i) => (input.checked ? [i] : []))),
    focus: () => options[0].input.focus(),
  };
}

function narrowing(speaker, options) {
  const search = el("input", { type: "search", id: fresh(), autocomplete: "off", dir: "auto" });
  const told = el("p", { class: "small", role: "status" });
  search.addEventListener("input", () => {
    const wanted = folded(search.value);
    for (const { node } of options) node.hidden = !folded(node.textContent).includes(wanted);
    const n = options.filter(({ node }) => !node.hidden).length;
    told.replaceChildren(...speaker.say("found", { n, total: options.length }));
  });
  const label = el("label", { for: search.id }, speaker.say("search"));
  return el("div", { class: "searched" }, label, search, told);
}

/** The number that a text stands for, with a point or a comma; null if it is none. */
function numberIn(text) {
  const written = text.trim().replace(",", ".").replace("\u2212", "-");
  return /^-?(\d+\.?\d*|\.\d+)$/.test(written) ? Number(written) : null;
}

/** The range that a number falls in: a range includes its upper edge. */
const rangeOf = (number, edges) => {
  const found = edges.findIndex((edge) => number <= edge);
  return found < 0 ? edges.length : found;
};

/** The numbers that can be: as the question says; without a minimum, none below 0 if no edge is. */
const limitsOf = ({ minimum, maximum, edges }) => ({
  low: minimum ?? (edges[0] >= 0 ? 0 : -Infinity),
  high: maximum ?? Infinity,
});

/** What is wrong with a number: {error, values}; null if nothing is. */
function numberProblem(speaker, found, { low, high }) {
  if (found === null) return { error: "numberWrong" };
  if (low <= found && found <= high) return null;
  const values = { low: speaker.number(low), high: speaker.number(high) };
  if (low === -Infinity) return { error: "numberHigh", values };
  return { error: high === Infinity ? "numberLow" : "numberBetween", values };
}

/** A number, of which only the range is used; `read` gives the range. */
export function number(speaker, question, labels, typed, id) {
  const { edges } = question;
  const limits = limitsOf(question);
  const hint = el("p", { class: "small", id: fresh() }, speaker.say("numberHint"));
  const told = el("p", { class: "range", role: "status" });
  const input = el("input", {
    type: "text",
    inputmode: limits.low < 0 ? "text" : "decimal",
    autocomplete: "off",
    id,
    value: typed ?? "",
    "aria-describedby": hint.id,
  });
  const problem = () => numberProblem(speaker, numberIn(input.value), limits);
  const read = () => (problem() ? null : rangeOf(numberIn(input.value), edges));
  const show = () => {
    const range = read();
    const said =
      range === null ? [] : speaker.say("rangeIs", { range: labels[range].cloneNode(true) });
    told.replaceChildren(...said);
  };
  input.addEventListener("input", show);
  show();
  return {
    node: el("div", { class: "number" }, hint, input, told),
    read,
    problem,
    typed: () => input.value,
    focus: () => input.focus(),
  };
}
