"""Chow-Liu trees of reported records: queries, errors, synthetic records, bad input."""

from __future__ import annotations

import json
from itertools import product
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pyarrow.csv as pa_csv
import pytest
from scipy.stats import chi2

from tacit import Attribute, Design, Group, Schema, disguise, matrix, related, truthful
from tacit.core.arrays import Array
from tacit.core.label_codes import decode
from tacit.errors import DataError, FileError, SchemaError, SingularChannelError, TacitError
from tacit.mine import ChowLiuTree, NaiveBayes, model_from_json, model_to_json
from tacit.models.tree_distribution import ROOT, TreeDistribution
from tacit.records import PatternTable, count
from tests.support.chance import FALSE_ALARM

SCHEMA = Schema(
    [
        Attribute("smokes", ["no", "yes"]),
        Attribute("income", ["low", "mid", "high"]),
        Attribute("drinks", [False, True]),
        Attribute("age", [20, 40, 60]),
        Attribute("left", ["no", "yes"]),
    ]
)
#: smokes - income - age, smokes - drinks, left alone.
TRUTH = TreeDistribution(
    (ROOT, 0, 0, 1, ROOT),
    (
        np.array([0.7, 0.3]),
        np.array([[0.2, 0.5, 0.3], [0.6, 0.3, 0.1]]),
        np.array([[0.8, 0.2], [0.3, 0.7]]),
        np.array([[0.6, 0.3, 0.1], [0.2, 0.5, 0.3], [0.1, 0.3, 0.6]]),
        np.array([0.9, 0.1]),
    ),
)
TRUE = TRUTH.draws(20_000, np.random.default_rng(1)).astype(np.uint8)
DESIGN = Design(
    SCHEMA,
    [Group(["smokes", "age"], related(0.85)), Group(["income", "drinks", "left"], related(0.8))],
)
REPORTED = disguise(TRUE, DESIGN, np.random.default_rng(2))
JOINT_MATRIX = (np.full((4, 4), 0.1) + 0.6 * np.eye(4)).round(3).tolist()
JOINT_DESIGN = Design(
    SCHEMA,
    [
        Group(["drinks", "smokes"], matrix(JOINT_MATRIX)),
        Group(["income", "age", "left"], truthful()),
    ],
)
EDGES = {("income", "smokes"), ("drinks", "smokes"), ("age", "income")}


def edges_of(model: ChowLiuTree) -> set[tuple[str, ...]]:
    return {tuple(sorted(edge.first + edge.second)) for edge in model.edges_}


@pytest.fixture(scope="module")
def model() -> ChowLiuTree:
    return ChowLiuTree(DESIGN).fit(REPORTED)


def joint_of(model: ChowLiuTree) -> Array:
    """All cells by schema, from the joint table of the units."""
    sizes = [SCHEMA[name].size for names in model.units_ for name in names]
    order = [name for names in model.units_ for name in names]
    joint = model.tree_.joint().reshape(sizes)
    return joint.transpose([order.index(name) for name in SCHEMA.names])


def test_the_tree_of_the_true_records_is_found(model: ChowLiuTree) -> None:
    assert edges_of(model) == EDGES
    assert all(edge.adjusted <= 0.05 for edge in model.edges_)
    assert model.notes() == ["no dependence beyond noise was found for left"]
    assert "smokes" in model.summary()
    assert "<table" in model._repr_mimebundle_()["text/html"]


@pytest.mark.parametrize("design", [DESIGN, JOINT_DESIGN], ids=["related", "joint matrix"])
def test_every_query_is_a_sum_over_the_joint_table(design: Design) -> None:
    model = ChowLiuTree(design).fit(disguise(TRUE, design, np.random.default_rng(3)))
    joint = joint_of(model)
    assert joint.sum() == pytest.approx(1)
    rng = np.random.default_rng(4)
    for _ in range(60):
        names = rng.choice(SCHEMA.names, rng.integers(1, 5), replace=False).tolist()
        cut = int(rng.integers(1, len(names) + 1))
        allowed = {
            n: [c for c in SCHEMA[n].categories if rng.random() < 0.6] or [SCHEMA[n].categories[0]]
            for n in names
        }
        event = {n: allowed[n] for n in names[:cut]}
        given = {n: allowed[n] for n in names[cut:]} or None
        mass = [_mass(joint, {**event, **(given or {})}), _mass(joint, given or {})]
        found = model.probability(event, given)
        assert float(found) == pytest.approx(mass[0] / mass[1], rel=1e-10)
        assert np.isfinite(found.stderr)


def _mass(joint: Array, event: dict[str, list[Any]]) -> float:
    for axis, attribute in enumerate(SCHEMA):
        if attribute.name in event:
            codes = [attribute.code(label) for label in event[attribute.name]]
            joint = joint.take(codes, axis=axis)
    return float(joint.sum())


def test_tables_are_those_of_the_joint_table(model: ChowLiuTree) -> None:
    joint = joint_of(model)
    found = model.table(["age", "smokes"], given={"drinks": True})
    expected = joint[:, :, 1].sum(axis=(1, 3)).T
    np.testing.assert_allclose(found.value, expected / expected.sum(), rtol=1e-10)
    assert found.name == "P(age, smokes | drinks = True)"
    assert found.to_frame(backend="pandas").shape == (6, 6)
    lower, upper = found.interval()
    assert (lower >= 0).all()
    assert (upper <= 1).all()


def _patterns(design: Design) -> PatternTable:
    reported = disguise(TRUE, design, np.random.default_rng(5))
    return count(reported, design.reported)


@pytest.mark.slow
@pytest.mark.parametrize("design", [DESIGN, JOINT_DESIGN], ids=["related", "joint matrix"])
def test_errors_are_those_of_numerical_influences(design: Design) -> None:
    """Each pattern in turn is counted once more and once less, and the model is fitted anew."""
    patterns = _patterns(design)
    queries: list[tuple[dict[str, Any], dict[str, Any] | None]] = [
        ({"age": 20, "drinks": True}, None),
        ({"smokes": "yes"}, {"age": [40, 60], "left": "no"}),
        ({"income": "mid", "drinks": False, "left": "yes"}, None),
    ]

    def answers(counts: Any) -> tuple[Array, set[tuple[str, ...]]]:
        table = PatternTable(patterns.schema, patterns.patterns, counts)
        fitted = ChowLiuTree(design, alpha=0).fit(table)
        return np.array([float(fitted.probability(*q)) for q in queries]), edges_of(fitted)

    edges = edges_of(ChowLiuTree(design, alpha=0).fit(patterns))
    influences = []
    for one in np.eye(len(patterns), dtype=np.int64):
        (more, first), (less, second) = (answers(patterns.counts + c * one) for c in (1, -1))
        assert first == second == edges
        influences.append((more - less) * patterns.n_records / 2)
    variance = patterns.counts @ np.array(influences) ** 2 / patterns.n_records**2
    fitted = ChowLiuTree(design, alpha=0).fit(patterns)
    errors = [float(fitted.probability(*q).stderr) for q in queries]
    np.testing.assert_allclose(errors, np.sqrt(variance), rtol=1e-5)


def test_synthetic_records_have_labels_or_codes(model: ChowLiuTree, tmp_path: Path) -> None:
    rng = np.random.default_rng(6)
    codes = model.synthesize(1000, rng)
    assert codes.shape == (1000, 5)
    assert codes.dtype == np.uint8
    path = tmp_path / "reported.csv"
    pa_csv.write_csv(decode(REPORTED, DESIGN.reported, "pyarrow"), path)
    labelled = ChowLiuTree(DESIGN).fit(path)
    frame = labelled.synthesize(1000, rng, "pandas")
    assert isinstance(frame, pd.DataFrame)
    assert list(frame.columns) == list(SCHEMA.names)
    assert set(frame["income"]) == {"low", "mid", "high"}
    assert frame["drinks"].dtype == bool
    from_frame = ChowLiuTree(DESIGN).fit(decode(REPORTED, DESIGN.reported, "pandas"))
    assert type(from_frame.synthesize(5, rng)).__module__.startswith(
        ("pandas", "pyarrow", "polars")
    )
    np.testing.assert_allclose(from_frame.table(["age"]).value, model.table(["age"]).value)


@pytest.mark.parametrize("design", [DESIGN, JOINT_DESIGN], ids=["related", "joint matrix"])
def test_synthetic_records_have_the_tables_of_the_model(design: Design) -> None:
    """A chi-square test of all cells that fails by chance once in a million.

    The control: records of the same model with two attributes exchanged.
    """
    fitted, n = ChowLiuTree(design).fit(disguise(TRUE, design, np.random.default_rng(8))), 50_000
    expected = n * joint_of(fitted).ravel()

    def distance(codes: Any) -> float:
        cells = np.ravel_multi_index(codes.T, SCHEMA.sizes)
        counts = np.bincount(cells, minlength=expected.size)
        return float(((counts - expected) ** 2 / expected).sum())

    codes = fitted.synthesize(n, np.random.default_rng(9))
    most = chi2.isf(FALSE_ALARM, expected.size - 1)
    assert distance(codes) <= most
    assert distance(codes[:, [2, 1, 0, 3, 4]]) > most


def test_synthetic_records_are_the_same_for_the_same_seed(model: ChowLiuTree) -> None:
    first, second = (model.synthesize(50, np.random.default_rng(7)) for _ in range(2))
    np.testing.assert_array_equal(first, second)


def test_without_a_design_true_codes_are_described(model: ChowLiuTree) -> None:
    plain = ChowLiuTree().fit(TRUE)
    named = ChowLiuTree(Design(SCHEMA, [Group(SCHEMA.names, truthful())])).fit(TRUE)
    assert len(plain.edges_) == 3
    np.testing.assert_allclose(plain.tree_.joint(), named.tree_.joint())
    counts = np.zeros((3, 3))
    np.add.at(counts, (TRUE[:, 1], TRUE[:, 3]), 1)
    exact = ChowLiuTree(alpha=0).fit(TRUE).table(["x1", "x3"])
    np.testing.assert_allclose(exact.value, counts / len(TRUE), atol=1e-9)


@pytest.mark.parametrize("design", [DESIGN, JOINT_DESIGN], ids=["related", "joint matrix"])
def test_a_saved_model_answers_the_same(design: Design) -> None:
    fitted = ChowLiuTree(design).fit(disguise(TRUE, design, np.random.default_rng(8)))
    text = model_to_json(fitted)
    again = model_from_json(text)
    assert isinstance(again, ChowLiuTree)
    assert again.fingerprint_ == design.fingerprint
    np.testing.assert_array_equal(again.tree_.joint(), fitted.tree_.joint())
    assert again.edges_ == fitted.edges_
    assert again.summary() == fitted.summary()
    single = again.table(["age"]), fitted.table(["age"])
    np.testing.assert_allclose(single[0].stderr, single[1].stderr)
    event = {"age": 20, "drinks": True}
    found, expected = (m.probability(event, {"left": "no"}) for m in (again, fitted))
    assert float(found) == float(expected)
    assert float(found.stderr) == pytest.approx(float(expected.stderr))
    content = json.loads(text)
    del content["covariance"]
    again = model_from_json(json.dumps(content))
    assert isinstance(again, ChowLiuTree)
    assert np.isnan(again.probability(event).stderr)
    edge = next(e for e in fitted.edges_ if len(e.first + e.second) == 2)
    pair = [*edge.first, *edge.second]
    np.testing.assert_allclose(again.table(pair).stderr, fitted.table(pair).stderr)
    np.testing.assert_allclose(again.table(pair[::-1]).stderr, fitted.table(pair).stderr.T)
    with pytest.raises(DataError, match="does not contain the reports"):
        again.fidelity()


BROKEN: dict[str, tuple[tuple[Any, ...], Any, str]] = {
    "a covariance of another size": (("covariance",), [[0.1]], "covariance"),
    "a negative variance": (("covariance", 0, 0), -0.1, "covariance"),
    "a parent that is no unit": (("units", 1, "parent"), ["age2"], "parent"),
    "a circle": (("units", 0, "parent"), ["smokes"], "tree"),
    "a table of another size": (("units", 1, "table"), [0.5, 0.5], "fit"),
    "a negative table": (("units", 1, "table", 0, 0), -0.5, "negative"),
    "a missing attribute": (("units", 0, "attributes"), ["age"], "every attribute once"),
    "an error rate of 2": (("error",), 2, "between 0 and 1"),
    "a negative standard error": (("units", 0, "stderr", 0), -1, "standard error"),
    "an edge elsewhere": (("edges", 0, "first"), ["nobody"], "edge"),
    "units as text": (("units",), "none", "not a model file"),
}


@pytest.mark.parametrize("name", BROKEN)
def test_a_broken_file_is_one_clear_error(name: str, model: ChowLiuTree) -> None:
    place, value, message = BROKEN[name]
    content = json.loads(model_to_json(model))
    inner: Any = content
    for key in place[:-1]:
        inner = inner[key]
    inner[place[-1]] = value
    with pytest.raises(FileError, match=message):
        model_from_json(json.dumps(content))


MISTAKES: dict[str, tuple[Any, type[TacitError], str]] = {
    "error": (lambda m: ChowLiuTree(DESIGN, error=1.5).fit(REPORTED), DataError, "error must lie"),
    "alpha": (lambda m: ChowLiuTree(DESIGN, alpha=-1).fit(REPORTED), DataError, "alpha must be"),
    "attribute": (lambda m: m.probability({"smoke": "yes"}), SchemaError, "smokes"),
    "category": (lambda m: m.probability({"smokes": "maybe"}), TacitError, "maybe"),
    "no event": (lambda m: m.probability({}), SchemaError, "names no attribute"),
    "no condition": (lambda m: m.table(["age"], given={}), SchemaError, "names no attribute"),
    "text for names": (lambda m: m.table("age"), SchemaError, "list of names"),
    "twice": (lambda m: m.table(["age", "age"]), SchemaError, "twice"),
    "n": (lambda m: m.synthesize(0, np.random.default_rng(1)), DataError, "n must be a whole"),
    "rng": (lambda m: m.synthesize(5, 1), DataError, "Generator"),
    "backend": (lambda m: m.synthesize(5, np.random.default_rng(1), "dask"), DataError, "backend"),
    "singular": (
        lambda m: ChowLiuTree(Design(SCHEMA, [Group(SCHEMA.names, related(0.5))])).fit(REPORTED),
        SingularChannelError,
        "theta=1/2",
    ),
    "design": (lambda m: ChowLiuTree("survey").fit(REPORTED), TacitError, "must be a Design"),
}


@pytest.mark.parametrize("name", MISTAKES)
def test_each_mistake_is_one_clear_error(name: str, model: ChowLiuTree) -> None:
    act, kind, message = MISTAKES[name]
    with pytest.raises(kind, match=message):
        act(model)


def test_a_condition_that_never_occurs_is_an_error() -> None:
    records = TRUE.copy()
    records[:, 4] = 0
    named = Design(SCHEMA, [Group(SCHEMA.names, truthful())])
    fitted = ChowLiuTree(named).fit(records)
    with pytest.raises(DataError, match="left = yes never occurs"):
        fitted.probability({"smokes": "yes"}, given={"left": "yes"})
    assert fitted.table(["left"]).value.tolist() == [1.0, 0.0]


def test_attributes_with_too_many_categories_are_refused() -> None:
    wide = Schema([Attribute("a", range(40)), Attribute("b", range(40))])
    design = Design(wide, [Group(wide.names, truthful())])
    with pytest.raises(DataError, match=r"a and b|b and a.*1,600 cells.*merge categories"):
        ChowLiuTree(design).fit(np.zeros((10, 2), np.uint8))


def test_one_attribute_and_one_record_are_enough() -> None:
    schema = Schema([Attribute("a", ["no", "yes"])])
    design = Design(schema, [Group(["a"], related(0.8))])
    fitted = ChowLiuTree(design).fit(np.array([[1]], np.uint8))
    assert fitted.edges_ == ()
    assert fitted.table(["a"]).value.sum() == pytest.approx(1)
    assert fitted.notes() == []


def test_an_unfitted_or_plain_model_is_not_saved() -> None:
    with pytest.raises(FileError, match="can be saved"):
        model_to_json(ChowLiuTree(DESIGN))
    with pytest.raises(FileError, match="can be saved"):
        model_to_json(ChowLiuTree().fit(TRUE))
    assert not isinstance(NaiveBayes(), ChowLiuTree)


def test_fidelity_finds_what_no_tree_describes(model: ChowLiuTree) -> None:
    """Exclusive or: no two attributes depend on each other, all three do."""
    good = model.fidelity()
    assert [len(good.differ(number)) for number in (1, 2, 3)] == [0, 0, 0]
    rng = np.random.default_rng(9)
    a, b = rng.integers(0, 2, (2, 5000))
    other = rng.integers(0, 2, 5000)
    xor = np.stack([a, b, a ^ b, other], axis=1).astype(np.uint8)
    schema = Schema([Attribute(name, ["no", "yes"]) for name in "abcd"])
    design = Design(schema, [Group(schema.names, related(0.9))])
    fitted = ChowLiuTree(design).fit(disguise(xor, design, rng))
    assert fitted.edges_ == ()
    (found,) = fitted.fidelity().differ(3)
    assert found.names == ("a", "b", "c")
    assert found.distance == pytest.approx(0.5, abs=0.05)
    assert "does not describe a x b x c" in str(fitted.fidelity())
    assert fitted.fidelity().to_dict()["summary"][2]["differ"] == 1
    assert len(fitted.fidelity().columns()["distance"]) == 4 + 6 + 4


@pytest.mark.slow
def test_many_attributes_are_compared_by_a_sample() -> None:
    rng = np.random.default_rng(10)
    codes = rng.integers(0, 2, (500, 40)).astype(np.uint8)
    found = ChowLiuTree().fit(codes).fidelity(seed=3)
    assert [len(found.tables[number]) for number in (1, 2, 3)] == [40, 200, 200]
    assert found.possible == {1: 40, 2: 780, 3: 9880}


def test_all_pairs_of_labels_are_queried_alike(model: ChowLiuTree) -> None:
    table = model.table(["smokes", "age"])
    for (i, smokes), (j, age) in product(enumerate(["no", "yes"]), enumerate([20, 40, 60])):
        one = model.probability({"smokes": smokes, "age": age})
        assert float(one) == pytest.approx(table.value[i, j])
        assert float(one.stderr) == pytest.approx(table.stderr[i, j])


def test_the_error_of_an_edge_is_that_of_its_information() -> None:
    """Without disguise: the plug-in information, by the delta method, and what noise adds."""
    rng = np.random.default_rng(5)
    first = rng.random(4000) < 0.3
    second = rng.random(4000) < np.where(first, 0.7, 0.2)
    codes = np.stack([first, second], axis=1).astype(np.uint8)
    schema = Schema([Attribute(n, ["no", "yes"]) for n in "ab"])
    model = ChowLiuTree(Design(schema, [Group(["a", "b"], truthful())]), alpha=0).fit(codes)
    (edge,) = model.edges_
    table = np.bincount(codes @ [2, 1], minlength=4).reshape(2, 2) / 4000
    logs = np.log2(table / np.outer(table.sum(axis=1), table.sum(axis=0)))
    information = float((table * logs).sum())
    added = information - edge.information
    variance = float((table * (logs - information) ** 2).sum()) / 4000
    assert edge.stderr == pytest.approx(np.sqrt(variance + 2 * added**2), rel=1e-6)
