"""Models in surveys: what they predict, what is refused, and rounds made from learnt models."""

from __future__ import annotations

from copy import deepcopy
from typing import Any

import numpy as np
import pytest

from tacit import mine
from tacit.errors import DataError, FileError, SurveyError
from tacit.records import count_reported
from tacit.studio.accuracy_round import QUESTION, accuracy_round, model_fingerprint
from tacit.survey import Published, survey_from_dict
from tests.support.device_models import round_survey
from tests.support.studio import reports, survey

MINE = survey()
COUNTS = count_reported(reports(MINE, 3000), MINE.design)


def walked(model: Any, codes: list[int]) -> int:
    """What a model predicts, written as its description says."""
    if model.scores is not None:
        tables = list(zip(model.scores.tables, codes, strict=True))
        sums = [
            score + sum(table[c][code] for table, code in tables)
            for c, score in enumerate(model.scores.prior)
        ]
        return sums.index(max(sums))
    node = model.tree[0]
    names = [question.name for question in model.questions]
    while node.category is None:
        node = model.tree[node.to[codes[names.index(node.question)]]]
    return int(model.target.categories.index(node.category))


@pytest.mark.parametrize("kind", ["tree", "scores"])
@pytest.mark.parametrize("seed", range(5))
def test_a_model_predicts_what_its_description_says(kind: str, seed: int) -> None:
    model = round_survey(seed, kind).model
    assert model is not None
    sizes = [len(question.categories) for question in model.questions]
    codes = np.random.default_rng(seed).integers(0, sizes, (500, len(sizes)))
    assert model.predict(codes).tolist() == [walked(model, row) for row in codes.tolist()]


def test_a_survey_without_a_model_says_nothing_about_one() -> None:
    assert "model" not in MINE.survey.to_dict()


def test_only_the_answer_of_the_device_is_part_of_the_record() -> None:
    made = Published(round_survey(1, "tree"))
    assert made.design.schema.names == ("correct",)
    assert made.design.reported.names == ("correct",)
    assert Published.from_json(made.to_json()) == made


def changed(path: list[Any], value: Any) -> dict[str, Any]:
    content = deepcopy(round_survey(3, "tree").to_dict())
    place = content
    for step in path[:-1]:
        place = place[step]
    place[path[-1]] = value
    return content


@pytest.mark.parametrize(
    ("path", "value", "word"),
    [
        (["device"], "die", "device must be browser"),
        (["model", "reports"], "other", "yes/no question"),
        (["groups"], [{"questions": ["correct"], "family": "crosswise", "p": "1/4",
                       "innocent": "Born in May?"}], "asks something else"),
        (["groups", 0, "theta"], "1/2", "1/2"),
        (["model", "scores"], {"prior": [0, 0], "tables": []}, "either a tree or scores"),
        (["model", "tree", 0], {"question": "q0", "category": "yes"}, "leaf"),
        (["model", "tree", 0], {"question": "q0"}, "needs question and to"),
        (["model", "tree", 0], {"question": "q9", "to": [1, 2]}, "q9"),
        (["model", "tree", 0], {"question": "q0", "to": [1, 1, 1, 1, 1, 1, 1]}, "one per category"),
        (["model", "tree", 0], {"category": "never seen"}, "category"),
        (["model", "fingerprint"], "x", "fingerprint"),
        (["model", "questions", 0, "labels"], {"odd": "Odd"}, "odd"),
        (["model", "questions", 0, "name"], "target", "distinct"),
        (["model", "tree"], "x", "tree"),
        (["model", "unknown"], 1, "unknown"),
    ],
)  # fmt: skip
def test_a_model_that_is_wrong_is_refused_with_its_place(
    path: list[Any], value: Any, word: str
) -> None:
    with pytest.raises(SurveyError, match=word):
        survey_from_dict(changed(path, value), "round")


def test_a_tree_that_leads_back_is_refused() -> None:
    content = round_survey(3, "tree").to_dict()
    split = next(node for node in content["model"]["tree"] if "to" in node)
    split["to"] = [0] * len(split["to"])
    with pytest.raises(SurveyError, match="later nodes"):
        survey_from_dict(content, "round")


def test_scores_beyond_what_a_browser_adds_exactly_are_refused() -> None:
    content = round_survey(3, "scores").to_dict()
    content["model"]["scores"]["prior"][0] = 1 << 43
    with pytest.raises(SurveyError, match="prior"):
        survey_from_dict(content, "round")
    content["model"]["scores"]["prior"] = [0]
    with pytest.raises(SurveyError, match="prior"):
        survey_from_dict(content, "round")


@pytest.mark.parametrize(
    "model",
    [
        mine.DecisionTree(MINE.design, "stole", caution=0),
        mine.DecisionTree(MINE.design, "often", criterion="gini", caution=0),
        mine.NaiveBayes(MINE.design, "stole"),
        mine.NaiveBayes(MINE.design, "often", method=mine.pairs),
    ],
    ids=["ID3", "CART", "naive Bayes", "naive Bayes of pairs"],
)
def test_a_round_predicts_what_the_model_predicts(model: Any) -> None:
    text = mine.model_to_json(model.fit(COUNTS))
    made = accuracy_round(MINE, text)
    assert made.model is not None
    assert made.model.fingerprint == model_fingerprint(text)
    assert made.questions[0].name == QUESTION
    features = model.features_
    records = np.stack(np.meshgrid(*map(np.arange, features.sizes)), axis=-1).reshape(-1, 2)
    own = records[:, [features.index(question.name) for question in made.model.questions]]
    predicted = [made.model.target.categories[code] for code in made.model.predict(own)]
    assert predicted == model.predict(records).tolist()


def test_what_is_no_classifier_of_the_survey_is_refused() -> None:
    classes = mine.LatentClass(MINE.design, 2).fit(COUNTS)
    with pytest.raises(DataError, match="decision tree or naive Bayes"):
        accuracy_round(MINE, mine.model_to_json(classes))
    tree = mine.model_to_json(mine.DecisionTree(MINE.design, "stole").fit(COUNTS))
    other = Published(round_survey(1, "tree"))
    with pytest.raises(DataError, match="another survey"):
        accuracy_round(other, tree)
    with pytest.raises(FileError):
        accuracy_round(MINE, "{}")
    with pytest.raises(SurveyError):
        accuracy_round(MINE, tree, "1/2")


def test_a_round_speaks_the_languages_of_its_survey() -> None:
    content = MINE.survey.to_dict() | {"languages": ["en", "de"]}

    def both(value: Any) -> Any:
        return {"en": value, "de": value}

    content["title"] = both("Work")
    for question in content["questions"]:
        question["text"] = both(question["text"])
        names = question.get("categories", ["no", "yes"])
        question["labels"] = {name: both(name) for name in names}
    two = Published(survey_from_dict(content, "survey"))
    tree = mine.model_to_json(mine.DecisionTree(two.design, "stole", caution=0).fit(COUNTS))
    made = accuracy_round(two, tree)
    assert made.languages == ("en", "de")
    assert made.model is not None
    assert set(made.model.target.text) == {"en", "de"}
