// Who is at the device: asked before anything is shown that somebody else may have left there.
//
// A personal link is a person: what was answered with another link is neither looked for nor shown.
// Without links the device knows only that somebody has answered, so it asks. A tab that holds a
// link or an unfinished survey asks as well, because Back, a restored tab or a killed one may
// have brought somebody else there.

import { button, el, heading } from "./elements.js";
import { tokenKept } from "./send.js";

const asking = ({ speaker }, name, text, actions, extra = null) => ({
  body: [heading(speaker.say(`${name}.title`)), el("p", {}, speaker.say(text)), extra],
  actions,
});

/** Somebody has answered on this device; most people who see this have not. */
export const usedDevice = (page, start, claim) =>
  asking(page, "used", "used.text", [
    button("primary", page.speaker.say("notYet"), start),
    button("secondary", page.speaker.say("mine"), claim),
  ]);

/** This tab, or this link, was used before: by the same person? */
export const samePerson = (page, text, goOn) =>
  asking(page, "same", text, [
    button("primary", page.speaker.say("same.yes"), goOn),
    elseButton(page),
  ]);

/** Several people may have answered: nothing is shown before one of them says which is hers. */
export function whichAnswers(page, { answered, waiting }, done, choose) {
  const { speaker } = page;
  const one = (answers, i) =>
    button("secondary", speaker.say("which.one", { n: i + 1 }), () => choose(answers));
  return asking(page, "which", "which.text", [
    answered ? button("primary", speaker.say("which.stored"), done) : null,
    waiting.map(one),
  ]);
}

/** All that a device says to whoever has answered: it keeps nothing else. */
export const alreadyStored = (page, start) =>
  asking(page, "again", "again.text", [
    start ? button("secondary", page.speaker.say("notYet"), start) : null,
  ]);

/** Lets the next person start: with a link of her own, or with the question who she is. */
function elseButton({ speaker, place }) {
  const start = () => {
    place.forget();
    tokenKept.forget();
    location.reload();
  };
  return button("secondary", speaker.say("else.button"), start);
}

export const somebodyElse = (page) => el("section", { class: "else" }, elseButton(page));
