"""Estimate: how it prints, in text and in a notebook, and what it exports."""

from __future__ import annotations

import json
from dataclasses import replace
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

from tacit import Attribute, Design, Group, Schema, reconstruct, related, truthful
from tacit.errors import DataError
from tacit.reconstruction import Estimate, Reconstruction, em, simplex

SCHEMA = Schema([Attribute("smokes", ["no", "yes"]), Attribute("<income>", ["low", "mid & up"])])
DESIGN = Design(SCHEMA, [Group(["smokes"], related(0.8)), Group(["<income>"], truthful())])
CODES = np.array([[0, 0]] * 500 + [[1, 0]] * 200 + [[0, 1]] * 200 + [[1, 1]] * 100, np.uint8)


@pytest.fixture(scope="module")
def rec() -> Reconstruction:
    return reconstruct(CODES, DESIGN)


def test_an_estimate_prints_as_a_labelled_table(rec: Reconstruction) -> None:
    lines = str(rec.table(["smokes"])).splitlines()
    assert lines[0] == "P(smokes) from 1,000 reported records, by inversion"
    assert lines[1].split() == ["smokes", "estimate", "std.", "error", "95", "%", "interval"]
    assert lines[2].split()[:3] == ["no", "0.8333", "0.0242"]
    assert lines[3].split()[:3] == ["yes", "0.1667", "0.0242"]
    assert len(lines) == 4
    assert repr(rec.table(["smokes"])) == str(rec.table(["smokes"]))


def test_the_standard_error_is_that_of_warner(rec: Reconstruction) -> None:
    expected = np.sqrt(0.3 * 0.7 / 1000) / 0.6  # reported share .3, divided by 2 theta - 1
    np.testing.assert_allclose(rec.table(["smokes"]).stderr, expected, rtol=1e-12)


def test_a_notebook_shows_an_escaped_html_table(rec: Reconstruction) -> None:
    shown = rec.table(["<income>", "smokes"])._repr_html_()
    assert shown.count("<tr>") == 5
    assert shown.count("<th") - shown.count("<thead") == 5 + 4
    assert "&lt;income&gt;" in shown
    assert "mid &amp; up" in shown
    assert "<income>" not in shown
    assert "<caption>" in shown


def test_a_single_number_prints_and_is_a_float(rec: Reconstruction) -> None:
    estimate = rec.probability({"smokes": "yes"})
    assert float(estimate) == pytest.approx(1 / 6)
    assert str(estimate).splitlines()[0].startswith("P(smokes = yes) from 1,000")
    assert "0.1667" in str(estimate)
    assert "<td>0.1667</td>" in estimate._repr_html_()
    assert estimate.covariance.shape == (1, 1)
    assert estimate.covariance[0, 0] == pytest.approx(float(estimate.stderr) ** 2)


def test_the_level_asked_for_is_in_the_header(rec: Reconstruction) -> None:
    headers = {level: rec.table(["smokes"]).to_table(level).heads[-1] for level in (0.95, 0.9, 0.5)}
    assert headers[0.95] == "95 % interval"
    assert len(set(headers.values())) == 3


def test_a_long_table_is_cut_and_says_so() -> None:
    schema = Schema([Attribute("a", list(range(60)))])
    rec = reconstruct(
        np.arange(60, dtype=np.uint8)[:, None], Design(schema, [Group(["a"], truthful())])
    )
    text = str(rec.table(["a"]))
    assert "... 20 more rows; see to_frame()" in text
    assert len(text.splitlines()) == 43
    assert "20 more rows" in rec.table(["a"])._repr_html_()


def column(frame: Any, name: str) -> list[Any]:
    return list(np.asarray(frame[name]).tolist())


@pytest.mark.parametrize(
    ("backend", "kind"),
    [("pandas", pd.DataFrame), ("polars", pl.DataFrame), ("pyarrow", pa.Table)],
)
def test_a_table_becomes_a_frame_of_labels_and_numbers(
    rec: Reconstruction, backend: str, kind: type
) -> None:
    estimate = rec.table(["smokes", "<income>"])
    frame = estimate.to_frame(level=0.9, backend=backend)
    assert isinstance(frame, kind)
    assert column(frame, "smokes") == ["no", "no", "yes", "yes"]
    assert column(frame, "<income>") == ["low", "mid & up"] * 2
    np.testing.assert_array_equal(column(frame, "estimate"), estimate.value.ravel())
    np.testing.assert_array_equal(column(frame, "stderr"), estimate.stderr.ravel())
    np.testing.assert_array_equal(column(frame, "lower"), estimate.interval(0.9).lower.ravel())
    np.testing.assert_array_equal(column(frame, "upper"), estimate.interval(0.9).upper.ravel())


def test_attributes_named_like_the_columns_of_numbers_get_columns_of_their_own() -> None:
    names = ["estimate", "estimate_", "upper"]
    schema = Schema([Attribute(name, ["n", "y"]) for name in names])
    codes = np.array([[0, 1, 0], [1, 1, 0]], np.uint8)
    design = Design(schema, [Group(names, truthful())])
    columns = reconstruct(codes, design).table(names).columns()
    assert list(columns) == [
        *("estimate__", "estimate_", "upper_", "estimate", "stderr", "lower", "upper")
    ]
    assert columns["estimate__"] == list("nnnnyyyy")
    assert columns["upper_"] == list("nynynyny")


def test_a_frame_without_a_library_named_is_one_of_the_three(rec: Reconstruction) -> None:
    frame = rec.table(["smokes"]).to_frame()
    assert isinstance(frame, pd.DataFrame | pl.DataFrame | pa.Table)
    assert column(rec.probability({"smokes": "no"}).to_frame(), "estimate") == [
        pytest.approx(5 / 6)
    ]


def test_an_unknown_library_is_an_error(rec: Reconstruction) -> None:
    with pytest.raises(DataError, match="unknown backend 'panda'; did you mean 'pandas'"):
        rec.table(["smokes"]).to_frame(backend="panda")


@pytest.mark.parametrize("level", [0, 1, 95, -0.5])
def test_a_level_outside_zero_and_one_is_an_error(rec: Reconstruction, level: float) -> None:
    for estimate in (rec.table(["smokes"]), rec.expectation([1.0, 3.0], ["smokes"])):
        with pytest.raises(DataError, match=f"between 0 and 1, got {level}"):
            estimate.interval(level)


@pytest.mark.parametrize("method", [simplex, em])
def test_an_estimate_is_ready_for_json_with_method_and_convergence(
    rec: Reconstruction, method: Any
) -> None:
    plain = json.loads(json.dumps(rec.table(["smokes"], method).to_dict()))
    assert plain["method"] == method.__name__
    assert plain["n_records"] == 1000
    assert plain["attributes"] == ["smokes"]
    assert plain["table"]["smokes"] == ["no", "yes"]
    assert ("convergence" in plain) == (method is em)


def test_em_that_converged_at_once_is_ready_for_strict_json() -> None:
    design = Design(Schema([Attribute("a", ["n", "y"])]), [Group(["a"], related(0.7))])
    even = reconstruct(np.array([[0], [1]], np.uint8), design).table(["a"], em)
    assert json.loads(json.dumps(even.to_dict(), allow_nan=False))["convergence"]["converged"]


def test_labels_run_like_the_values(rec: Reconstruction) -> None:
    estimate = rec.table(["<income>", "smokes"])
    cells = estimate.cells()
    assert cells[1] == ("low", "yes")
    value = estimate.value.ravel()[cells.index(("mid & up", "no"))]
    assert value == estimate.value[1, 0]


def test_estimates_are_frozen(rec: Reconstruction) -> None:
    estimate: Estimate = rec.table(["smokes"])
    with pytest.raises(AttributeError):
        estimate.method = "guess"  # type: ignore[misc]
    assert replace(estimate, name="Q").caption().startswith("Q from")
