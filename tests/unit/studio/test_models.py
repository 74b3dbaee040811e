"""Models in the studio: of released records only, stored whole, with the library's numbers."""

from __future__ import annotations

import json
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from tacit import disguise, mine, reconstruct
from tacit.errors import DataError
from tacit.evaluate import accuracy, recall
from tacit.records import PatternTable, count_codes, count_reported
from tacit.studio.accounts import Role
from tacit.studio.accuracy_round import accuracy_round
from tacit.studio.model_training import SEED, train
from tacit.studio.models import ModelFolder, ModelRequest
from tacit.studio.release import Release
from tacit.survey import Published, survey_from_dict
from tests.support.studio import MARKUP, Tried, reports, send, survey, tried

FORMS = {
    "tree": {"kind": "tree", "target": "stole"},
    "naive_bayes": {"kind": "naive_bayes", "target": "stole"},
    "rules": {"kind": "rules", "min_support": "5", "min_confidence": "20"},
    "clusters": {"kind": "clusters", "classes": "2"},
}
MINE = survey()


def asked(kind: str) -> ModelRequest:
    return ModelRequest.of_form(FORMS[kind], MINE.design.schema)


@pytest.fixture(scope="module")
def counts() -> PatternTable:
    return count_reported(reports(MINE, 3000), MINE.design)


@pytest.fixture(scope="module")
def parts(counts: PatternTable) -> tuple[PatternTable, PatternTable]:
    test, learn = mine.split_records(counts, MINE.design, np.random.default_rng(SEED), 1 / 3)
    return learn, test


@pytest.fixture
def studio(tmp_path: Path) -> Iterator[Tried]:
    made = tried(tmp_path, 1500, closed=True)
    yield made
    made.store.close()


def test_a_tree_has_the_librarys_rules_accuracy_and_baseline(
    counts: PatternTable, parts: tuple[PatternTable, PatternTable]
) -> None:
    learn, test = parts
    model = mine.DecisionTree(MINE.design, "stole").fit(learn)
    found = train(Release(MINE, counts), asked("tree"))
    assert found["model"] == mine.model_to_json(model)
    assert found["evaluation"]["accuracy"] == accuracy(model, test, MINE.design).to_dict()
    assert found["evaluation"]["recall"] == recall(model, test, MINE.design).to_dict()
    assert sorted(rule["confidence"] for rule in found["summary"]["rules"]) == sorted(
        rule.confidence for rule in model.rules(test).known
    )
    shares = reconstruct(test, MINE.design).table(["stole"]).columns()
    baseline = found["evaluation"]["baseline"]
    assert baseline["category"] == "no"
    assert [baseline[key] for key in ("estimate", "lower", "upper")] == [
        shares[key][0] for key in ("estimate", "lower", "upper")
    ]


def test_naive_bayes_rules_and_clusters_are_those_of_the_library(
    counts: PatternTable, parts: tuple[PatternTable, PatternTable]
) -> None:
    learn, test = parts
    bayes = mine.NaiveBayes(MINE.design, "stole").fit(learn)
    found = train(Release(MINE, counts), asked("naive_bayes"))
    assert found["model"] == mine.model_to_json(bayes)
    assert found["evaluation"]["accuracy"] == accuracy(bayes, test, MINE.design).to_dict()
    sets = mine.itemsets(learn, MINE.design, 0.05).estimated_on(test)
    rules = mine.association_rules(sets, 0.2)
    assert json.loads(train(Release(MINE, counts), asked("rules"))["model"]) == rules.to_dict()
    classes = mine.LatentClass(MINE.design, 2).fit(learn)
    assert train(Release(MINE, counts), asked("clusters"))["model"] == mine.model_to_json(classes)


@pytest.mark.parametrize("kind", [*FORMS])
def test_knowing_more_never_makes_a_guess_worse(counts: PatternTable, kind: str) -> None:
    cost = train(Release(MINE, counts), asked(kind))["privacy"]
    assert cost["measured"]
    assert cost["undisguised"] == ["site"]
    assert cost["epsilon"] == pytest.approx(np.log(4) + np.log(2), rel=1e-9)
    by_name: dict[str, dict[str, float]] = {}
    for one in cost["inferences"]:
        by_name.setdefault(one["attribute"], {})[one["known"]] = one["accuracy"]
        assert one["accuracy"] <= one["worst_posterior"] <= 1
    assert by_name
    assert "site" not in by_name
    for found in by_name.values():
        assert found["nothing"] <= found["report"] + 1e-9
        assert found["model"] <= found["all"] + 1e-9
        assert found["others"] <= found["all"] + 1e-9


@pytest.mark.parametrize(
    ("form", "word"),
    [
        ({}, "kind of model"),
        ({"kind": "forest"}, "kind of model"),
        ({"kind": "tree", "target": "nothing"}, "question to predict"),
        ({"kind": "tree", "target": "stole", "criterion": "x"}, "criterion"),
        ({"kind": "tree", "target": "stole", "max_depth": "99"}, "conditions"),
        ({"kind": "tree", "target": "stole", "max_depth": "-1"}, "conditions"),
        ({"kind": "rules", "min_support": "0"}, "share of people"),
        ({"kind": "rules", "min_support": "nan"}, "share of people"),
        ({"kind": "rules", "min_confidence": "x"}, "confidence"),
        ({"kind": "clusters", "classes": "11"}, "clusters"),
    ],
)
def test_a_wrong_field_is_named(form: dict[str, str], word: str) -> None:
    with pytest.raises(DataError, match=word):
        ModelRequest.of_form(form, MINE.design.schema)


def learnt(studio: Tried, kind: str, role: Role = Role.OWNER) -> tuple[Any, str]:
    """A browser of an analyst, and the address of a model that was learnt."""
    client = studio.client(studio.account(f"{kind} {role.name}", role))
    answer = client.post(f"/surveys/{studio.mine.slug}/models", data=FORMS[kind])
    assert answer.status_code == 303, answer.text
    address = answer.headers["location"]
    studio.studio.models.wait(address.rsplit("/", 1)[1], 120)
    return client, address


@pytest.mark.slow
@pytest.mark.parametrize("kind", [*FORMS])
def test_a_model_is_learnt_shown_downloaded_and_deleted(
    studio: Tried, kind: str, request: pytest.FixtureRequest
) -> None:
    if kind != "tree":
        request.getfixturevalue("learning_here")
    client, address = learnt(studio, kind)
    page = client.get(address)
    assert page.status_code == 200
    assert "What publishing this model costs" in page.text
    assert MARKUP not in page.text
    assert ('<svg class="tree"' in page.text) == (kind == "tree")
    assert ("Always “no”" in page.text) == (kind in ("tree", "naive_bayes"))
    table = studio.studio.releases.newest(studio.mine)
    assert table is not None
    own = train(table, asked(kind))
    file = client.get(f"{address}/model.json")
    assert file.text == own["model"]
    if kind != "rules":
        assert mine.model_from_json(file.text).fingerprint_ == MINE.fingerprint
    if kind in ("tree", "naive_bayes"):
        shown = own["evaluation"]["accuracy"]["table"]
        assert f"{100 * shown['estimate'][0]:.1f} %" in page.text
        assert f"{100 * shown['lower'][0]:.1f} to {100 * shown['upper'][0]:.1f} %" in page.text
    models = f"/surveys/{studio.mine.slug}/models"
    assert address in client.get(models).text
    assert client.post(f"{address}/delete", data={}).status_code == 400
    assert client.post(f"{address}/delete", data={"confirm": "yes"}).status_code == 303
    assert address not in client.get(models).text
    assert client.get(address).status_code == 404


@pytest.mark.usefixtures("learning_here")
def test_models_wait_for_closing_unless_there_is_a_snapshot(tmp_path: Path) -> None:
    """A viewer sees models of one set of records only: the snapshot if there is one."""
    studio = tried(tmp_path, 600)
    owner = studio.client(studio.account("owner", Role.OWNER))
    viewer = studio.client(studio.account("viewer", Role.VIEWER))
    base = f"/surveys/{studio.mine.slug}"
    early = owner.post(f"{base}/models", data=FORMS["naive_bayes"])
    assert early.status_code == 400
    assert "once the survey is closed" in early.text
    assert "once the survey is closed" in viewer.get(f"{base}/models").text
    assert owner.post(f"{base}/snapshot", data={"confirm": "yes"}).status_code == 303
    snapshot = studio.studio.releases.snapshot(studio.mine)
    assert snapshot is not None
    frozen = owner.post(f"{base}/models", data=FORMS["naive_bayes"]).headers["location"]
    assert viewer.get(frozen).status_code == 200
    own = train(snapshot, asked("naive_bayes"))["model"]
    assert owner.get(f"{frozen}/model.json").text == own
    send(studio.store, studio.mine, reports(studio.mine, 400, seed=6))
    studio.store.close_survey(studio.mine.survey.fingerprint)
    assert "only people who may download records see the model" in owner.get(f"{base}/models").text
    late = owner.post(f"{base}/models", data=FORMS["naive_bayes"]).headers["location"]
    again = owner.post(f"{base}/models", data=FORMS["tree"] | {"records": "snapshot"})
    assert owner.get(late).status_code == 200
    assert viewer.get(late).status_code == viewer.get(f"/api{late}").status_code == 404
    assert viewer.get(again.headers["location"]).status_code == 200
    theta = {"theta": "3/4"}
    refused = owner.post(f"{late}/round", data=theta)  # everybody could read the model
    assert refused.status_code == 400
    assert "people who may not see it" in refused.text
    assert "Publish an accuracy round" not in owner.get(late).text
    assert owner.post(f"{frozen}/round", data=theta).status_code == 303
    listed = viewer.get(f"/api{base}/models").json()["models"]
    assert {one["name"] for one in listed} == {
        path.rsplit("/", 1)[1] for path in (frozen, again.headers["location"])
    }
    assert owner.post(f"{base}/models", data={**FORMS["tree"], "records": "x"}).status_code == 400
    studio.store.close()


def test_without_a_release_no_model_is_learnt(tmp_path: Path) -> None:
    studio = tried(tmp_path, records=60)
    client = studio.client(studio.account("owner", Role.OWNER))
    models = f"/surveys/{studio.mine.slug}/models"
    assert "once the survey is closed" in client.get(models).text
    assert client.post(models, data=FORMS["tree"]).status_code == 400
    studio.store.close()


@pytest.mark.usefixtures("learning_here")
def test_what_cannot_be_learnt_is_said_on_the_page(studio: Tried) -> None:
    client = studio.client(studio.account("owner", Role.OWNER))
    form = {"kind": "rules", "min_support": "99"}
    answer = client.post(f"/surveys/{studio.mine.slug}/models", data=form)
    address = answer.headers["location"]
    studio.studio.models.wait(address.rsplit("/", 1)[1], 120)
    page = client.get(address)
    assert "No model was learnt" in page.text
    assert "No frequent itemset" in page.text
    assert "refresh" not in page.headers
    assert studio.studio.models.all_of(studio.mine) == []


@pytest.mark.slow
def test_a_process_that_is_killed_leaves_no_model_and_no_half_file(
    tmp_path: Path, counts: PatternTable
) -> None:
    folder = tmp_path / "models"
    models = ModelFolder(folder)
    release = Release(MINE, counts)
    for delay in (0.0, 0.3, 0.6, 1.2):
        name = models.learn(release, asked("clusters"), "Ada", "2027-01-01")
        process = models._learning[name].process
        time.sleep(delay)
        process.kill()
        process.wait()
        for path in (folder / MINE.slug).glob("*.json"):
            json.loads(path.read_text())
        if models.find(MINE, name) is None:
            problem = models.problem(MINE, name)
            assert problem is not None
            assert "stopped" in problem
    again = ModelFolder(folder)
    assert {path.suffix for path in (folder / MINE.slug).iterdir()} <= {".json"}
    assert models.problem(MINE, "0" * 16) is None
    assert len(again.all_of(MINE)) == len(list((folder / MINE.slug).iterdir()))


def test_only_two_models_are_learnt_at_once(tmp_path: Path, counts: PatternTable) -> None:
    models = ModelFolder(tmp_path / "models")
    release = Release(MINE, counts)
    names = [models.learn(release, asked("clusters"), "Ada", "2027-01-01") for _ in range(2)]
    with pytest.raises(DataError, match="try again"):
        models.learn(release, asked("tree"), "Ada", "2027-01-01")
    assert models.problem(MINE, names[0]) == ""
    assert models.problem(survey("Other"), names[0]) is None
    for name in names:
        models._learning[name].process.kill()
        models._learning[name].process.wait()


def test_a_name_that_is_no_name_finds_nothing(tmp_path: Path) -> None:
    models = ModelFolder(tmp_path / "models")
    for name in ("../accounts", "..", "", "A" * 16, "0" * 17):
        assert models.find(MINE, name) is None
        models.delete(MINE, name)


@pytest.mark.usefixtures("learning_here")
def test_records_with_a_missing_answer_are_left_out(tmp_path: Path) -> None:
    codes = reports(MINE, 600).astype(np.uint8)
    codes[:200, 0] = 2  # the code after the last category: no answer
    models = ModelFolder(tmp_path / "models")
    release = Release(MINE, count_codes(codes, MINE.design.reported))
    name = models.learn(release, asked("naive_bayes"), "Ada", "2027-01-01")
    models.wait(name, 120)
    found = models.find(MINE, name)
    assert found is not None, models.problem(MINE, name)
    n_left_out = found.content["n_left_out"]
    assert found.content["n_records"] + n_left_out == 600
    assert 220 <= n_left_out < 230  # and some more, at random
    few = Release(MINE, count_codes(codes[:250], MINE.design.reported))
    with pytest.raises(DataError, match="missing answer"):
        models.learn(few, asked("tree"), "Ada", "2027-01-01")
    models.forget(MINE)
    assert models.all_of(MINE) == []


CONDITIONAL = Published(
    survey_from_dict(
        {
            "title": "Smoking",
            "questions": [
                {"name": "smokes", "kind": "yes_no", "text": "Do you smoke?"},
                {
                    "name": "daily",
                    "kind": "choice",
                    "text": "How many?",
                    "categories": ["few", "many"],
                    "asked_if": {"smokes": ["yes"]},
                },
                {
                    "name": "worries",
                    "kind": "multiple",
                    "text": "Why?",
                    "categories": ["pay", "job"],
                },
                {
                    "name": "age",
                    "kind": "number",
                    "text": "Age?",
                    "edges": [30],
                    "sensitive": False,
                },
            ],
            "groups": [
                {"questions": ["smokes"], "family": "related", "theta": "9/10"},
                {"questions": ["daily"], "family": "frapp", "lambda": 10},
                {"questions": ["worries"], "family": "related", "theta": "9/10", "throw": "each"},
            ],
        },
        "survey",
    )
)


@pytest.mark.parametrize(
    ("kind", "target"),
    [
        ("tree", "daily"),
        ("naive_bayes", "worries.pay"),
        ("rules", ""),
        pytest.param("clusters", "", marks=pytest.mark.slow),
    ],
)
def test_questions_that_are_not_asked_of_everybody_are_learnt_and_tested(
    kind: str, target: str
) -> None:
    rng = np.random.default_rng(1)
    smokes = rng.integers(2, size=3000)
    daily = np.where(smokes == 1, rng.integers(2, size=3000), 2)
    worries = rng.random((3000, 2)) < (0.2 + 0.5 * smokes)[:, None]
    true = np.column_stack([smokes, daily, worries, rng.integers(2, size=3000)]).astype(np.uint8)
    design = CONDITIONAL.design
    release = Release(CONDITIONAL, count_reported(disguise(true, design, rng), design))
    made = train(release, ModelRequest(kind, target, classes=2))
    assert made["privacy"]["measured"]
    if target:
        assert made["evaluation"]["accuracy"]["table"]["estimate"][0] > 0.5
        model = accuracy_round(CONDITIONAL, made["model"]).model
        assert model is not None
        assert model.target.name == target
