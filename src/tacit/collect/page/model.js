// A model that this device applies to answers that never leave it: see "model" in survey.json.
//
// A tree names a question at each split and has the next node for each of its answers; a leaf has
// the category that it predicts. Scores are whole numbers, whose sums are exact here and in Python:
// the largest sum wins, the first of equal ones. Answers are codes, as everywhere on this page.

import { check } from "./coin_families.js";

const whole = (value, from, to) => Number.isInteger(value) && value >= from && value < to;

/** The model that a survey has, ready to predict; an error if anything is amiss. */
export function readModel(data) {
  const { questions, target } = data;
  const sizes = questions.map(({ categories }) => categories.length);
  const classes = target.categories.length;
  check((data.tree === undefined) !== (data.scores === undefined), "a model is a tree or scores");
  const predict = data.tree
    ? readTree(data.tree, questions, target)
    : readScores(data.scores, sizes, classes);
  return {
    ...data,
    /** The code of the predicted category, from the codes of the answers. */
    predict: (codes) => {
      check(
        codes.length === sizes.length && codes.every((code, i) => whole(code, 0, sizes[i])),
        "a model needs an answer to each of its questions",
      );
      return predict(codes);
    },
  };
}

function readTree(nodes, questions, target) {
  const places = new Map(questions.map(({ name }, i) => [name, i]));
  const read = nodes.map(({ question, to, category }, number) => {
    if (category !== undefined) {
      const code = target.categories.indexOf(category);
      check(code >= 0, `a leaf predicts an unknown category: ${category}`);
      return { code };
    }
    const at = places.get(question);
    const length = questions[at]?.categories.length;
    const sound = to?.length === length && to.every((next) => whole(next, number + 1, nodes.length));
    check(at !== undefined && sound, `node ${number} of the tree leads nowhere`);
    return { at, to };
  });
  return (codes) => {
    let node = read[0];
    while (node.code === undefined) node = read[node.to[codes[node.at]]];
    return node.code;
  };
}

function readScores({ prior, tables }, sizes, classes) {
  const row = (scores, length) => scores.length === length && scores.every(Number.isSafeInteger);
  const table = (rows, i) => rows.length === classes && rows.every((each) => row(each, sizes[i]));
  check(
    row(prior, classes) && tables.length === sizes.length && tables.every(table),
    "the scores of the model do not fit its questions",
  );
  return (codes) => {
    const sums = prior.map((score, c) =>
      codes.reduce((sum, code, i) => sum + tables[i][c][code], score),
    );
    return sums.indexOf(Math.max(...sums));
  };
}
