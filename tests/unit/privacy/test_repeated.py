from __future__ import annotations

import math
from itertools import product

import numpy as np
import pytest

from tacit import Design, Group, Schema, disguise, reconstruct, related, truthful, unrelated
from tacit.errors import DataError
from tacit.privacy import figures, repeated, report
from tests.support.families import attributes_of

ROUNDINGS = 1e-12
SCHEMA = Schema(attributes_of((2, 3)))
DESIGN = Design(
    SCHEMA, [Group(["a0"], related(0.7)), Group(["a1"], unrelated(0.4, ["1/2", "1/2", 0]))]
)
JOINT = np.array([[0.3, 0.1, 0.1], [0.1, 0.1, 0.3]])


def test_one_report_reveals_what_a_report_does() -> None:
    found, plain = repeated(DESIGN, 1, JOINT), report(DESIGN, JOINT)
    assert found.record is not None
    assert abs(found.record.pse - plain.pse.record) <= ROUNDINGS
    assert found.record_epsilon == plain.epsilon.record


def test_several_reports_equal_the_product_channel_written_out() -> None:
    k = 3
    found = repeated(DESIGN, k, JOINT)
    for axis, name in enumerate(SCHEMA.names):
        matrix = DESIGN.channel([name]).factors[0].channel.matrix
        rows = [
            np.prod([matrix[y] for y in reports], axis=0)
            for reports in product(range(len(matrix)), repeat=k)
        ]
        expected = figures(rows, JOINT.sum(axis=1 - axis))
        got = found.attributes[name]
        assert got is not None
        for figure in ("pse", "map_privacy", "worst_posterior", "information"):
            assert abs(getattr(got, figure) - getattr(expected, figure)) <= ROUNDINGS


def test_whole_records_tell_more_of_an_answer_than_its_own_reports() -> None:
    k = 2
    found = repeated(DESIGN, k, JOINT)
    first, second = (DESIGN.channel([n]).factors[0].channel.matrix for n in SCHEMA.names)
    both = np.kron(first, second)
    rows = [np.prod([both[y] for y in reports], axis=0) for reports in product(range(6), repeat=k)]
    joint = (np.array(rows) * JOINT.ravel()).reshape(-1, *JOINT.shape)
    for axis, name in enumerate(SCHEMA.names):
        told, own = found.from_record[name], found.attributes[name]
        assert told is not None
        assert own is not None
        merged = joint.sum(axis=2 - axis)
        expected = 1 - merged.max(axis=1).sum()
        assert expected - ROUNDINGS <= told.map_privacy <= expected
        assert told.pse < own.pse
        assert found.groups[axis] == told


def test_the_uncertainty_of_an_estimated_prior_is_carried_along() -> None:
    rng = np.random.default_rng(4)
    true = np.stack(np.unravel_index(rng.choice(6, 400, p=JOINT.ravel()), (2, 3)), axis=1)
    estimate = reconstruct(disguise(true, DESIGN, rng), DESIGN).table(SCHEMA.names)
    known = estimate.value.clip(0) / estimate.value.clip(0).sum()
    for k, how in ((2, "enumerated"), (40, "drawn")):
        wide, narrow = (repeated(DESIGN, k, prior).record for prior in (estimate, known))
        assert wide is not None
        assert narrow is not None
        assert (wide.stderr is None) == (narrow.stderr is None) == (how == "enumerated")
        low, high = wide.interval("map_privacy")
        assert high - low > 2 * float(np.diff(narrow.interval("map_privacy"))[0])


def test_epsilon_grows_with_every_report_and_privacy_falls() -> None:
    found = [repeated(DESIGN, k, JOINT) for k in (1, 2, 4, 8)]
    for name in ("a0",):
        epsilon = report(DESIGN, JOINT).epsilon.attributes[name]
        assert all(f.epsilon[name] >= f.reports * epsilon for f in found)
        assert found[3].epsilon[name] <= 8 * epsilon * (1 + 1e-15)
    privacy = [f.record.map_privacy for f in found if f.record is not None]
    assert len(privacy) == 4
    assert (np.diff(privacy) < 0).all()


def test_many_reports_are_drawn_and_say_how_exactly() -> None:
    exact = repeated(DESIGN, 4, JOINT).record
    assert exact is not None
    assert exact.stderr is None
    schema = Schema(attributes_of((2,) * 6))
    design = Design(
        schema,
        [Group([n], related(0.7)) for n in schema.names[:1]]
        + [Group(schema.names[1:], related(0.7))],
    )
    drawn = repeated(design, 6).record
    assert drawn is not None
    assert drawn.stderr is not None
    assert drawn.central is not None
    assert drawn.pse < drawn.central[0]
    assert [f.worst_posterior for f in repeated(design, 6).groups if f][1] == 1


def test_a_group_too_large_to_write_out_has_no_figure() -> None:
    schema = Schema(attributes_of((2,) * 13))
    found = repeated(Design(schema, [Group(schema.names, related(0.7))]), 2)
    assert found.record is None
    assert found.groups == (None,)
    assert found.attributes["a0"] is not None
    assert found.from_record["a0"] is None
    assert "Empty: too many joint categories" in found.caption()
    assert math.isinf(found.record_epsilon)


@pytest.mark.parametrize("reports", [0, -1, 2.5, True, "2"])
def test_a_number_of_reports_that_is_none_is_an_error(reports: object) -> None:
    with pytest.raises(DataError, match="whole number from 1 up"):
        repeated(DESIGN, reports)  # type: ignore[arg-type]


def test_what_is_not_disguised_stays_so() -> None:
    design = Design(SCHEMA, [Group(["a0", "a1"], truthful())])
    found = repeated(design, 5)
    assert found.record is not None
    assert found.record.pse == 0
    assert found.to_dict()["record"]["worst_posterior"] == 1
