"""Front and ChosenChannel: picked, shown, saved, and put into a design."""

from __future__ import annotations

import json
from dataclasses import replace

import numpy as np
import pytest

from tacit import Attribute, Design, disguise, optimize, reconstruct
from tacit.errors import DesignError, FileError
from tacit.optimize import Exact, Front, Spea2, Square, Warner, front, objectives, robustness
from tacit.reconstruction import em
from tacit.survey import Survey, survey_from_dict

SMOKING = {"never": 0.55, "former": 0.25, "light": 0.15, "heavy": 0.05}


@pytest.fixture(scope="module")
def found() -> Front:
    return front(SMOKING, n_records=1000, delta=0.8, method=Exact(6))


def test_a_front_rises_in_privacy_and_error(found: Front) -> None:
    assert len(found) == len(found.privacy) == len(found.mse) == len(found.channels) == 6
    assert (np.diff(found.privacy) > 0).all()
    assert (np.diff(found.mse) > 0).all()
    assert (found.lower_bound <= found.mse).all()


def test_figures_are_those_of_the_channels(found: Front) -> None:
    p = found.problem.p
    for value, error, matrix in zip(found.privacy, found.mse, found.channels, strict=True):
        assert value == objectives.privacy(matrix, p)
        assert error == objectives.mse(matrix, p, 1000)


def test_pick_takes_the_least_error_with_enough_privacy(found: Front) -> None:
    choice = found.pick(privacy=0.3)
    assert choice.privacy == found.privacy[found.privacy >= 0.3].min()


def test_pick_takes_the_most_privacy_with_a_small_enough_error(found: Front) -> None:
    limit = float(found.mse[3])
    assert found.pick(mse=limit).privacy == found.privacy[3]


@pytest.mark.parametrize(
    ("wanted", "said"),
    [
        ({"privacy": 0.5}, "no channel reaches privacy 0.5; this front goes up to 0.44"),
        ({"mse": 1e-9}, "no channel reaches a mean squared error of 1e-09; this front starts"),
        ({}, "either privacy or mse"),
        ({"privacy": 0.3, "mse": 1.0}, "either privacy or mse"),
    ],
)
def test_what_cannot_be_picked_is_an_error(
    found: Front, wanted: dict[str, float], said: str
) -> None:
    with pytest.raises(DesignError, match=said):
        found.pick(**wanted)


def test_json_brings_back_an_equal_front(found: Front) -> None:
    again = Front.from_json(found.to_json())
    assert again == found
    assert again.to_json() == found.to_json()


@pytest.mark.parametrize(
    ("change", "said"),
    [
        ({"tacit": "design"}, "must be a JSON object"),
        ({"version": 9}, "reads up to 1; upgrade tacit"),
        ({"extra": 1}, "unknown key 'extra'"),
        ({"points": []}, "at least one point"),
        ({"shape": [5]}, "does not fit its shape"),
        ({"prior": ["1/2"]}, "must sum to 1"),
    ],
)
def test_a_broken_front_file_is_an_error(
    found: Front, change: dict[str, object], said: str
) -> None:
    with pytest.raises((FileError, DesignError), match=said):
        Front.from_json(json.dumps(found.to_dict() | change))


def test_a_front_is_frozen(found: Front) -> None:
    with pytest.raises(ValueError, match="read-only"):
        found.mse[0] = 0
    with pytest.raises(ValueError, match="read-only"):
        found.channels[0][0, 0] = 0


def test_a_front_prints_as_a_table_and_makes_a_frame(found: Front) -> None:
    assert str(found).startswith("front of 6 channels for 4 categories, 1,000 records, delta 0.8")
    assert found._repr_html_().count("<tr>") == 7
    assert list(found.to_frame(backend="pandas")["privacy"]) == found.privacy.tolist()


def test_the_figure_shows_front_bound_and_warner(found: Front) -> None:
    (axes,) = found.plot().axes
    labels = [line.get_label() for line in axes.get_lines()]
    assert labels == ["Exact: 6 channels", "lower bound (proved)", "Warner"]
    assert axes.get_lines()[0].get_xdata().tolist() == found.privacy.tolist()


@pytest.mark.parametrize("place", range(6))
def test_a_chosen_channel_goes_into_a_design_within_its_bound(found: Front, place: int) -> None:
    choice = found[place]
    design = choice.design()
    assert Design.from_json(design.to_json()) == design
    assert all(sum(column) == 1 for column in zip(*choice.rows, strict=True))
    assert choice.problem.holds(choice.rows)
    exact = np.array(choice.rows, dtype=float)
    assert objectives.mse(exact, choice.problem.p, 1000) == pytest.approx(choice.mse, rel=1e-6)


def test_a_report_says_from_whom_it_can_come(found: Front) -> None:
    choice = found.pick(privacy=0.3)
    for report in choice.reports:
        named = {name for name in SMOKING if name in report.label}
        able = {n for n, chance in zip(SMOKING, report.chances, strict=True) if chance > 0}
        assert named == able
    assert len({report.label for report in choice.reports}) == len(choice.reports)


def test_the_design_of_other_attributes_must_fit(found: Front) -> None:
    with pytest.raises(DesignError, match="for categories 4, the attributes have 2"):
        found[0].design([Attribute("smokes", ["no", "yes"])])


def _survey(questions: dict[str, list[str]], group: dict[str, object]) -> Survey:
    asked = [
        {"name": name, "kind": "choice", "text": name, "categories": categories}
        for name, categories in questions.items()
    ]
    return survey_from_dict(
        {"title": "t", "introduction": "i", "languages": ["en"], "questions": asked}
        | {"device": "browser", "groups": [group]}
    )


def test_a_chosen_channel_goes_into_a_survey_as_it_is(found: Front) -> None:
    square = front(SMOKING, 1000, delta=0.8, method=Square(privacy=[0.3], starts=0))[0]
    for choice in (*(found[i] for i in range(6)), square):
        survey = _survey({"smokes": list(SMOKING)}, choice.survey_group(["smokes"]))
        (group,) = survey.design.groups
        assert group == choice.group(["smokes"])


def test_a_joint_channel_of_long_categories_goes_into_a_survey() -> None:
    long = {"first": ["a" * 70, "b" * 70], "second": ["c" * 70, "d" * 70, "e" * 70]}
    table = np.array([[0.3, 0.25, 0.2], [0.05, 0.1, 0.1]])
    attributes = tuple(Attribute(*item) for item in long.items())
    made = front(table, 1000, delta=0.7, method=Exact(privacy=[0.5]))
    choice = replace(made[0], problem=replace(made.problem, attributes=attributes))
    (group,) = _survey(long, choice.survey_group()).design.groups
    assert group == choice.group()


def test_a_joint_prior_makes_a_joint_coin() -> None:
    attributes = [Attribute("smokes", ["no", "yes"]), Attribute("age", ["young", "mid", "old"])]
    table = np.array([[0.3, 0.25, 0.2], [0.05, 0.1, 0.1]])
    choice = front(table, 20_000, delta=0.7, method=Exact(privacy=[0.5])).pick(privacy=0.5)
    design = choice.design(attributes)
    rng = np.random.default_rng(5)
    cells = rng.choice(6, 20_000, p=table.ravel())
    true = np.column_stack(np.unravel_index(cells, (2, 3)))
    found = reconstruct(disguise(true, design, rng), design).table(["smokes", "age"])
    z = (found.value - table) / found.stderr
    assert np.abs(z).max() < 5.1  # six normal deviates: once in about 500,000 for a right program


def test_an_estimate_is_a_prior_with_names_and_doubts() -> None:
    rng = np.random.default_rng(6)
    pilot = front(SMOKING, 3000, delta=0.8, method=Warner(50)).pick(privacy=0.3).design()
    true = rng.choice(4, 3000, p=list(SMOKING.values()))[:, None]
    rebuilt = reconstruct(disguise(true, pilot, rng), pilot)
    made = front(rebuilt.table(["answer"], em), 10_000, delta=0.8, method=Exact(4))
    assert [a.name for a in made.problem.attributes] == ["answer"]
    doubts = robustness(made, rebuilt.table(["answer"]), 50, rng)
    columns = doubts.columns()
    assert all(
        low < high for low, high in zip(columns["mse_low"], columns["mse_high"], strict=True)
    )
    assert str(doubts).count("\n") == 5
    assert len(doubts.plot().axes) == 1


def test_under_the_assumed_prior_robustness_changes_nothing(found: Front) -> None:
    same = robustness(found, list(SMOKING.values()))
    assert same.privacy[0] == pytest.approx(found.privacy)
    assert same.mse[0] == pytest.approx(found.mse)
    assert same.delta_kept.all()


def test_a_wrong_prior_can_break_delta_and_is_said(found: Front) -> None:
    other = robustness(found, [[0.25, 0.25, 0.25, 0.25], [0.7, 0.1, 0.1, 0.1]])
    assert other.worst_posterior.shape == (2, 6)
    assert not other.delta_kept.all()
    with pytest.raises(DesignError, match="priors of 4 categories"):
        robustness(found, [0.5, 0.5, 0.0])
    with pytest.raises(DesignError, match="sum to 1"):
        robustness(found, [0.5, 0.5, 0.5, 0.5])


@pytest.mark.parametrize("method", [Square(3, starts=0), Spea2(generations=20), Warner(20)])
def test_square_channels_report_the_true_categories(method: object) -> None:
    made = front(SMOKING, 1000, delta=0.8, epsilon=3.0, method=method)  # type: ignore[arg-type]
    for place in range(0, len(made), 5):
        choice = made[place]
        assert [r.label for r in choice.reports] == list(SMOKING)
        assert choice.design().reported == choice.design().schema
        assert choice.problem.holds(choice.rows)


def test_the_exported_names_are_the_promised_ones() -> None:
    """A new name is a promise: add it here, to the README and to the changelog together."""
    assert set(optimize.__all__) == {
        "ChosenChannel", "Exact", "Front", "ReportedCategory", "Robustness", "Spea2", "Square",
        "Warner", "front", "robustness",
    }  # fmt: skip
    assert [name for name in optimize.__all__ if not getattr(optimize, name).__doc__] == []


def test_progress_goes_from_nothing_to_all() -> None:
    told: list[float] = []
    front(SMOKING, 100, delta=0.8, method=Exact(4), progress=told.append)
    assert told == sorted(told)
    assert (told[0], told[-1]) == (0.0, 1.0)
