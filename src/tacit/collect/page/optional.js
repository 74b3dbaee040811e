// Optional questions: "Prefer not to say" is never disguised, so the page says that it is visible.
//
// It must not depend on chance: who declines after seeing what chance asks for would reveal what
// that was, and spoil the estimates. So where the page throws first, where two answers are compared
// and with a device of the respondent's own, she chooses before any of that is shown.

import { oneOf } from "./controls.js";
import { el, fresh, heading } from "./elements.js";

/** What a control reads if the respondent prefers not to say; null stands for it in answers. */
export const DECLINED = Symbol("declined");

const visibly = (speaker, id) =>
  el("p", { class: "small", id }, speaker.say("preferNotSeen"));

/** A control with one more answer: a radio button among others, else a box that clears the rest. */
export function optionalControl(speaker, control, declined) {
  const radio = control.node.querySelector("input[type=radio]");
  const note = fresh();
  const own = el("input", {
    type: radio ? "radio" : "checkbox",
    name: radio?.name ?? fresh(),
    value: "declined",
    checked: declined,
    autocomplete: "off",
    "aria-describedby": note,
  });
  const label = el("label", { class: "option" }, own, el("span", {}, speaker.say("preferNot")));
  if (!radio) apart(control.node, own);
  return {
    ...control,
    node: el(
      "div",
      {},
      control.node,
      el("div", { class: "declined" }, label, visibly(speaker, note)),
    ),
    read: () => (own.checked ? DECLINED : control.read()),
  };
}

/** Either the box is ticked or there is an answer, never both. */
function apart(node, own) {
  const clear = () => {
    for (const each of node.querySelectorAll("input[type=checkbox]")) each.checked = false;
    for (const each of node.querySelectorAll("select")) each.selectedIndex = -1;
    for (const each of node.querySelectorAll("input[type=text]")) {
      each.value = "";
      each.dispatchEvent(new Event("input"));
    }
  };
  own.addEventListener("change", () => own.checked && clear());
  node.addEventListener("input", ({ target }) => {
    if (target.type !== "search") own.checked = false;
    else if (own.checked) clear();
  });
}

/** Whether she is asked first if she wants to answer: until she does, or chance has decided. */
export const isOffered = ({ throws, willing }, { names }, { question }) =>
  Boolean(question.optional) && !willing.has(names[0]) && !throws.has(names[0]);

/** Asks whether she wants to answer at all, before anything that depends on chance is shown. */
export function offerStep({ speaker, given, willing }, group, { question }, helped) {
  const labels = ["offerAnswer", "preferNot"].map((key) => el("span", {}, speaker.say(key)));
  const declines = given.get(group) === null;
  const control = oneOf(speaker, labels, declines ? 1 : null);
  const note = fresh();
  return {
    body: el(
      "fieldset",
      { "aria-describedby": note },
      el("legend", {}, heading(speaker.own(question.text))),
      helped,
      el("p", {}, speaker.say("offerWhy")),
      control.node,
      visibly(speaker, note),
    ),
    read: () => {
      const code = control.read();
      if (code === null) return { error: "chooseOne", control };
      if (code === 0) return { again: () => willing.add(group.names[0]) };
      given.set(group, null);
      return null;
    },
  };
}
