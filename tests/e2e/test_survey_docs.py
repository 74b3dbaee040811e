"""docs/survey.md: its examples work, and its tables name every field."""

from __future__ import annotations

import re
from pathlib import Path

import numpy as np
import pytest

from tacit import disguise
from tacit.core.channel import FAMILIES
from tacit.survey import Survey, read_survey, survey_from_text

PAGE = (Path(__file__).parents[2] / "docs" / "survey.md").read_text(encoding="utf-8")


def block(language: str) -> str:
    found = re.search(rf"```{language}\n(.*?)```", PAGE, re.DOTALL)
    assert found is not None
    return found[1]


def test_the_examples_of_the_page_work(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    Path("survey.yaml").write_text(block("yaml"), encoding="utf-8")
    exec(block("python"), {})
    assert Path("published.json").exists()
    assert read_survey("survey.yaml").design.schema.names == ("smokes", "income", "region")


def test_the_example_of_conditional_questions_works(tmp_path: Path) -> None:
    texts, codes = (
        re.findall(rf"```{kind}\n(.*?)```", PAGE, re.DOTALL) for kind in ("yaml", "python")
    )
    survey = survey_from_text(texts[1])
    assert survey.design.asked_if["brand"] == {"packs": ["few", "many"]}
    people = np.array([[0, 2, 3]] * 600 + [[1, 0, 1]] * 200 + [[1, 1, 2]] * 200)
    reported = disguise(people, survey.design, np.random.default_rng(1))
    exec(codes[1], {"survey": survey, "reported": reported})


def test_every_key_kind_and_family_is_on_the_page() -> None:
    schema = Survey.model_json_schema(by_alias=True)
    keys = {key for part in (schema, *schema["$defs"].values()) for key in part["properties"]}
    assert "correct" in keys
    kinds = set(schema["properties"]["questions"]["items"]["discriminator"]["mapping"])
    assert "ordered" in kinds
    assert [key for key in sorted(keys | kinds | set(FAMILIES)) if f"`{key}" not in PAGE] == []
