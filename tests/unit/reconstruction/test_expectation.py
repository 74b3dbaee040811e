"""probability and expectation: values, standard errors, events, and what is refused."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from tacit import Attribute, Design, Group, Schema, disguise, reconstruct
from tacit.core.channel import matrix, related, unrelated
from tacit.errors import DataError, SchemaError
from tacit.reconstruction import Reconstruction

SCHEMA = Schema(
    [
        Attribute("smokes", ["no", "yes"]),
        Attribute("income", ["low", "mid", "high"]),
        Attribute("age", [20, 40]),
    ]
)
TALL = [["3/5", "1/5"], ["1/5", "3/5"], ["1/5", "1/5"]]
DESIGN = Design(
    SCHEMA,
    [
        Group(
            ["smokes", "income"], unrelated(0.6, {"smokes": [0.5, 0.5], "income": [0.2, 0.3, 0.5]})
        ),
        Group(["age"], matrix(TALL)),
    ],
)


@pytest.fixture(scope="module")
def rec() -> Reconstruction:
    rng = np.random.default_rng(4)
    true = np.stack([rng.integers(0, k, 4000) for k in SCHEMA.sizes], axis=1)
    true[:, 1] = np.minimum(true[:, 1], 1 + true[:, 0])
    return reconstruct(disguise(true.astype(np.uint8), DESIGN, rng), DESIGN)


def test_the_probability_of_a_conjunction_is_its_cell(rec: Reconstruction) -> None:
    table = rec.table(["age", "income"])
    event = rec.probability({"age": 40, "income": "high"})
    assert float(event) == pytest.approx(table.value[1, 2], abs=1e-12)
    assert float(event.stderr) == pytest.approx(table.stderr[1, 2], rel=1e-9)


def test_a_list_of_labels_means_any_of_them(rec: Reconstruction) -> None:
    table = rec.table(["smokes", "income"])
    event = rec.probability({"income": ["low", "high"], "smokes": "yes"})
    assert float(event) == pytest.approx(table.value[1, [0, 2]].sum(), abs=1e-12)
    part = np.zeros((2, 3))
    part[1, [0, 2]] = 1
    variance = part.ravel() @ table.covariance @ part.ravel()
    assert float(event.stderr) == pytest.approx(np.sqrt(variance), rel=1e-9)
    assert event.name == "P(income = low or high, smokes = yes)"
    assert 0 <= event.interval().lower < event.interval().upper <= 1


def test_the_certain_event_has_probability_one_without_error(rec: Reconstruction) -> None:
    event = rec.probability({"smokes": ["no", "yes"]})
    assert float(event) == pytest.approx(1, abs=1e-12)
    assert float(event.stderr) == pytest.approx(0, abs=1e-8)


def test_an_expectation_is_the_table_times_h(rec: Reconstruction) -> None:
    h = np.array([[1.0, -2.0, 3.0], [0.5, 10.0, 0.0]])
    table = rec.table(["smokes", "income"])
    mean = rec.expectation(h, ["smokes", "income"])
    assert float(mean) == pytest.approx(np.sum(table.value * h), rel=1e-10)
    assert float(mean.stderr) ** 2 == pytest.approx(h.ravel() @ table.covariance @ h.ravel())
    lower, upper = mean.interval()
    assert lower + upper == pytest.approx(2 * float(mean))


def test_h_may_be_a_function_of_labels(rec: Reconstruction) -> None:
    def years(age: int, smokes: str) -> float:
        return age * (smokes == "yes")

    mean = rec.expectation(years, ["age", "smokes"])
    table = rec.table(["age", "smokes"]).value
    assert float(mean) == pytest.approx(20 * table[0, 1] + 40 * table[1, 1])
    assert mean.name == "E[years(age, smokes)]"
    assert rec.expectation(lambda age: age, ["age"]).name == "E[h(age)]"


def test_a_linear_function_of_h_gives_that_of_the_mean(rec: Reconstruction) -> None:
    mean = rec.expectation(lambda age: age, ["age"])
    turned = rec.expectation(lambda age: 7 - 2 * age, ["age"])
    assert float(turned) == pytest.approx(7 - 2 * float(mean))
    assert float(turned.stderr) == pytest.approx(2 * float(mean.stderr))


@pytest.mark.parametrize(
    ("event", "said"),
    [
        ({}, "names no attribute"),
        ({"smoke": "yes"}, "unknown attribute 'smoke'; did you mean 'smokes'"),
        ({"smokes": "yess"}, "unknown category 'yess' of attribute 'smokes'; did you mean 'yes'"),
        ({"age": 30}, "unknown category 30 of attribute 'age'; known: '20', '40'"),
        ({"age": [20, 30]}, "unknown category 30"),
    ],
)
def test_an_event_that_cannot_be_is_an_error(rec: Reconstruction, event: Any, said: str) -> None:
    with pytest.raises(SchemaError, match=said):
        rec.probability(event)


NO_TABLE: dict[str, Any] = {
    "another shape": [1.0, 2.0],
    "axes turned": np.zeros((3, 2)),
    "not a number": [[1, 2, np.nan], [1, 2, 3]],
    "infinite": [[1, 2, np.inf], [1, 2, 3]],
    "text": "text",
    "table of text": [["a", "b", "c"], ["d", "e", "f"]],
    "function that is not a number": lambda smokes, income: float("nan"),
    "function that is infinite": lambda smokes, income: float("inf"),
    "function to text": lambda smokes, income: income,
}


@pytest.mark.parametrize("kind", NO_TABLE)
def test_an_h_that_is_no_finite_table_is_an_error_that_says_so(
    rec: Reconstruction, kind: str
) -> None:
    with pytest.raises(DataError, match="h must"):
        rec.expectation(NO_TABLE[kind], ["smokes", "income"])


def test_signed_weights_of_one_yes_no_group() -> None:
    """theta/(2 theta - 1) for the record itself, -(1 - theta)/(2 theta - 1) for its complement."""
    schema = Schema([Attribute(name, [0, 1]) for name in "ab"])
    design = Design(schema, [Group(["a", "b"], related(0.8))])
    codes = np.array([[1, 0]] * 6 + [[0, 1]] * 2 + [[1, 1]] * 2, np.uint8)
    mean = reconstruct(codes, design).expectation(lambda a, b: a * 10 + b, ["a", "b"])
    own, other = 0.8 / 0.6, -0.2 / 0.6
    g = [own * 10 + other * 1] * 6 + [own * 1 + other * 10] * 2 + [own * 11 + other * 0] * 2
    assert float(mean) == pytest.approx(np.mean(g))
    assert float(mean.stderr) == pytest.approx(np.std(g) / np.sqrt(10))
