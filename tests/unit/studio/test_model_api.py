"""Models for programs: the same as on the pages, as JSON that is described."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from tacit.studio.accounts import Role
from tests.support.studio import Tried, tried
from tests.unit.studio.test_studio_api import called, program


@pytest.fixture
def studio(tmp_path: Path) -> Iterator[Tried]:
    made = tried(tmp_path, 1500, closed=True)
    yield made
    made.store.close()


@pytest.mark.usefixtures("learning_here")
def test_a_program_learns_a_model_publishes_a_round_and_deletes_it(studio: Tried) -> None:
    client = program(studio, studio.account("owner", Role.OWNER), Role.OWNER)
    models = f"/api/surveys/{studio.mine.slug}/models"
    assert called(client, "GET", models) == {"models": []}
    wanted = {"kind": "naive_bayes", "target": "stole", "max_depth": None}
    name = called(client, "POST", models, wanted, 202)["name"]
    state = called(client, "GET", f"{models}/{name}")["state"]
    assert state in ("learning", "ready")
    studio.studio.models.wait(name, 120)
    found = called(client, "GET", f"{models}/{name}")
    assert (found["state"], found["title"]) == ("ready", "Naive Bayes for stole")
    shown = studio.studio.models.find(studio.mine, name)
    assert shown is not None
    assert found["accuracy"] == shown.accuracy
    assert found["evaluation"] == shown.content["evaluation"]
    assert [one["name"] for one in called(client, "GET", models)["models"]] == [name]
    made = called(client, "POST", f"{models}/{name}/round", {"theta": "3/4"}, 201)
    published = studio.studio.survey(made["slug"])
    assert published is not None
    assert published.survey.model is not None
    assert called(client, "GET", f"/api/surveys/{made['slug']}")["role"] == "owner"
    assert called(client, "DELETE", f"{models}/{name}", None, 204) is None
    called(client, "GET", f"{models}/{name}", None, 404)


@pytest.mark.usefixtures("learning_here")
def test_why_a_model_could_not_be_learnt_is_told(studio: Tried) -> None:
    client = program(studio, studio.account("owner", Role.OWNER), Role.OWNER)
    models = f"/api/surveys/{studio.mine.slug}/models"
    name = called(client, "POST", models, {"kind": "rules", "min_support": 99}, 202)["name"]
    studio.studio.models.wait(name, 120)
    found = called(client, "GET", f"{models}/{name}")
    assert found["state"] == "failed"
    assert "no frequent itemset" in found["problem"]


@pytest.mark.parametrize(
    ("path", "body"),
    [
        ("", {"kind": "forest"}),
        ("", {"kind": ["tree"]}),
        ("", {}),
        ("/0000000000000000/round", {}),
        ("/0000000000000000/round", {"theta": 0.75}),
        ("/0000000000000000/round", {"theta": "3/4"}),
    ],
)
def test_a_wrong_request_is_a_problem(studio: Tried, path: str, body: object) -> None:
    client = program(studio, studio.account("owner", Role.OWNER), Role.OWNER)
    called(client, "POST", f"/api/surveys/{studio.mine.slug}/models{path}", body, 400)
