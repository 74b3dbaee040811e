"""Models have no figure of fewer than 20 people: classes, answers, leaves, rules, clusters."""

from __future__ import annotations

import json
from typing import Any

import numpy as np
import pytest

from tacit.records import count_reported
from tacit.studio.model_training import hidden_classes, train, without_small_clusters
from tacit.studio.models import ModelRequest
from tacit.studio.release import Release
from tacit.survey import Published, survey_from_dict

_PLAIN: dict[str, Any] = {"kind": "choice", "sensitive": False, "text": "?"}
SURVEY = Published(
    survey_from_dict(
        {
            "title": "Company",
            "questions": [
                {**_PLAIN, "name": "job", "categories": ["worker", "clerk", "boss"]},
                {**_PLAIN, "name": "pay", "categories": ["low", "high"]},
                {**_PLAIN, "name": "late", "categories": ["never", "often"]},
            ],
        },
        "survey",
    )
)


def release(bosses: int, n: int = 600) -> Release:
    """Clerks are paid better, and so are bosses, all of whom are late."""
    rng = np.random.default_rng(5)
    job = np.where(np.arange(n) < bosses, 2, rng.integers(2, size=n))
    pay = np.where(job > 0, rng.random(n) < 0.9, rng.random(n) < 0.1)
    late = np.where(job == 2, 1, rng.random(n) < 0.1)
    true = np.column_stack([job, pay, late]).astype(np.uint8)
    return Release(SURVEY, count_reported(true, SURVEY.design))


def learnt(kind: str, target: str, bosses: int, **options: Any) -> dict[str, Any]:
    return train(release(bosses), ModelRequest(kind, target, **options))


@pytest.mark.parametrize(("bosses", "shown"), [(4, 1), (90, 3)])
def test_a_class_of_four_people_has_no_recall_and_no_log_odds(bosses: int, shown: int) -> None:
    """One recall would follow from the accuracy and the others, so two are hidden."""
    made = learnt("naive_bayes", "job", bosses)
    recalls = made["evaluation"]["recall"]["table"]
    assert sum(estimate is not None for estimate in recalls["estimate"]) == shown
    assert recalls["estimate"][2] is None or bosses > 4
    for name in ("estimate", "stderr", "lower", "upper"):
        assert [one is None for one in recalls[name]] == [
            label in made["evaluation"]["hidden"] for label in recalls["job"]
        ]
    cells = [cell for cell in made["summary"]["log_odds"] if cell["class"] == "boss"]
    assert cells
    assert all(cell["hidden"] == (bosses == 4) for cell in cells)
    assert all((cell["estimate"] is None) == cell["hidden"] for cell in cells)


def test_log_odds_of_the_other_answers_do_not_tell_those_of_four_people() -> None:
    """Of an answer of few people and the rest, both are hidden: one is what the other leaves."""
    cells = learnt("naive_bayes", "pay", 4)["summary"]["log_odds"]
    by_job = {cell["category"]: cell["hidden"] for cell in cells if cell["attribute"] == "job"}
    assert by_job["boss"]
    assert sum(by_job.values()) > 1
    late = [cell for cell in cells if cell["attribute"] == "late"]
    assert late
    assert not any(cell["hidden"] for cell in late)


@pytest.mark.parametrize("target", ["job", "pay"])
def test_a_naive_bayes_with_parameters_of_four_people_is_marked(target: str) -> None:
    """An accuracy round would publish them; a tree has none."""
    assert learnt("naive_bayes", target, 4)["summary"]["small_groups"]
    assert not learnt("naive_bayes", target, 90)["summary"]["small_groups"]
    assert not learnt("tree", target, 4)["summary"]["small_groups"]


@pytest.mark.parametrize(("bosses", "split"), [(4, False), (90, True)])
def test_a_tree_has_no_leaf_of_four_people(bosses: int, split: bool) -> None:
    """Its answer would be theirs; neither does the file of the model have it."""
    made = learnt("tree", "late", bosses)
    rules = made["summary"]["rules"]
    assert any("boss" in str(rule["conditions"]) for rule in rules) == split
    assert ("boss" in json.dumps(made["summary"]["picture"])) == split
    people = [600 * rule["support"] for rule in rules]
    assert min(people) > 20


@pytest.mark.parametrize(("bosses", "hidden"), [(15, True), (90, False)])
def test_an_association_rule_of_few_people_has_no_figures(bosses: int, hidden: bool) -> None:
    made = learnt("rules", "", bosses, min_support=0.001, min_confidence=0.01)
    rules = made["summary"]["rules"]
    with_bosses = [
        place
        for place, words in enumerate(zip(rules["conditions"], rules["conclusion"], strict=True))
        if "boss" in ", ".join(words)
    ]
    numbers = [name for name in rules if name not in ("conditions", "conclusion", "hidden")]
    assert with_bosses
    for place in with_bosses:
        assert all((rules[name][place] is None) == rules["hidden"][place] for name in numbers)
    assert all(rules["hidden"][place] for place in with_bosses) == hidden
    assert not all(rules["hidden"])


def test_a_cluster_of_three_people_has_no_profile() -> None:
    """Its share and profile would follow from the others, so another one is hidden beside it."""
    prior, table = np.array([0.6, 0.37, 0.03]), np.array([[0.5, 0.5], [0.4, 0.6], [1.0, 0.0]])
    profiles = {
        "class": [0, 1, 2, 0, 0, 1, 1, 2, 2],
        "attribute": [None] * 3 + ["pay"] * 6,
        "category": [None] * 3 + ["low", "high"] * 3,
        "estimate": [*prior, *np.ravel(table)],
    }
    kept = without_small_clusters(profiles, prior, [table], 100)
    assert kept["estimate"][:3] == [0.6, None, None]
    cells = np.array([one is None for one in kept["estimate"][3:]]).reshape(3, 2)
    assert cells[2].all()
    assert cells.all(axis=1).sum() == 2
    assert not cells[0].any()
    whole = without_small_clusters(profiles, prior, [table], 1000)  # the control: 30 people
    assert whole == profiles


def test_all_large_classes_have_recalls() -> None:
    assert not hidden_classes(release(90), "job").any()
