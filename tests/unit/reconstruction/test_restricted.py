"""Restricted least squares: structural zeros of conditional questions in estimates."""

from __future__ import annotations

import numpy as np
import pytest

from tacit import Attribute, Design, Group, Schema, disguise, reconstruct, related, truthful
from tacit.core.arrays import Codes
from tacit.core.conditions import DOES_NOT_APPLY
from tacit.errors import DataError, SchemaError
from tacit.reconstruction import em, inversion, restricted, simplex

SCHEMA = Schema(
    [
        Attribute("smokes", ["no", "yes"]),
        Attribute("packs", ["few", "many", DOES_NOT_APPLY]),
        Attribute("region", ["north", "south"]),
    ]
)
ASKED = {"packs": {"smokes": ["yes"]}}
COINS = [Group(["smokes"], related("3/4")), Group(["packs"], related("4/5"))]
DESIGN = Design(SCHEMA, [*COINS, Group(["region"], truthful())], ASKED)
PAIR = ["smokes", "packs"]
ZEROS = np.array([[True, True, False], [False, False, True]])


def people(n: int, seed: int = 5) -> Codes:
    rng = np.random.default_rng(seed)
    smokes = (rng.random(n) < 0.3).astype(np.uint8)
    packs = np.where(smokes == 1, rng.random(n) < 0.4, 2).astype(np.uint8)
    return np.column_stack([smokes, packs, rng.integers(0, 2, n).astype(np.uint8)])


REPORTED = disguise(people(3000), DESIGN, np.random.default_rng(6))
FOUND = reconstruct(REPORTED, DESIGN)


def test_impossible_cells_are_0_without_error() -> None:
    table = FOUND.table(PAIR)
    assert table.method == "restricted least squares"
    assert (table.value[ZEROS] == 0).all()
    assert (table.stderr[ZEROS] == 0).all()
    assert np.asarray(table.interval()[1])[ZEROS] == pytest.approx(0, abs=1e-12)
    assert table.value.sum() == pytest.approx(1, abs=1e-12)


def test_it_is_the_projection_of_the_unbiased_estimate() -> None:
    """p_S - V_SZ V_ZZ^-1 p_Z with V at the most likely table, not at the raw reports."""
    likely = FOUND.table(PAIR, em).value
    channel = DESIGN.channel(PAIR)
    expected = channel.disguised(likely).ravel()
    W = np.linalg.inv(channel.matrix)
    V = W @ np.diag(expected) @ W.T - np.outer(likely.ravel(), likely.ravel())
    raw = FOUND.table(PAIR, inversion).value.ravel()
    Z, S = np.flatnonzero(ZEROS.ravel()), np.flatnonzero(~ZEROS.ravel())
    projected = raw[S] - V[np.ix_(S, Z)] @ np.linalg.solve(V[np.ix_(Z, Z)], raw[Z])
    # Half a record is added to each cell of the most likely table.
    assert FOUND.table(PAIR).value.ravel()[S] == pytest.approx(projected, abs=2e-4)


def test_it_is_never_less_precise_than_inversion() -> None:
    own, plain = FOUND.table(PAIR), FOUND.table(PAIR, inversion)
    assert (own.stderr <= plain.stderr + 1e-9).all()
    # About half the standard error: each question also reports on the other.
    assert own.stderr[0, 2] < 0.7 * plain.stderr[0, 2]


def test_the_unrestricted_estimate_remains_available() -> None:
    plain = Design(SCHEMA, DESIGN.groups)
    raw = reconstruct(REPORTED, plain).table(PAIR)
    again = FOUND.table(PAIR, inversion)
    assert again.value.tolist() == raw.value.tolist()
    assert (again.value[ZEROS] != 0).all()


def test_tables_of_questions_without_conditions_are_by_inversion() -> None:
    found = FOUND.table(["region"])
    assert found.method == "inversion"
    assert found.value.tolist() == FOUND.table(["region"], inversion).value.tolist()


@pytest.mark.parametrize("method", [em, simplex])
def test_other_methods_keep_the_zeros(method: object) -> None:
    table = FOUND.table(PAIR, method)  # type: ignore[arg-type]
    assert (table.value[ZEROS] == 0).all()
    assert (table.value[~ZEROS] > 0).all()
    assert table.value.sum() == pytest.approx(1, abs=1e-12)
    assert table.convergence is None or table.convergence.converged
    assert table.caption().endswith("errors by restricted least squares")


def test_shares_given_the_condition_are_those_of_the_people_asked() -> None:
    share = FOUND.probability({"packs": "many"}, given={"smokes": "yes"})
    table = FOUND.table(PAIR).value
    assert float(share) == pytest.approx(table[1, 1] / table[1, :2].sum(), abs=1e-12)
    asked = FOUND.asked("packs")
    assert asked.attributes[0].categories == ("few", "many")
    assert asked.value[1] == pytest.approx(float(share), abs=1e-12)
    assert asked.stderr[1] == pytest.approx(float(share.stderr), abs=1e-12)
    rows = FOUND.table(["packs"], given=["smokes"])
    assert rows.value[1, 1] == pytest.approx(float(share), abs=1e-12)
    assert rows.value[0].tolist() == [0, 0, 1]


def test_events_are_sums_of_restricted_cells() -> None:
    many = FOUND.probability({"smokes": "yes", "packs": "many"})
    assert float(many) == pytest.approx(FOUND.table(PAIR).value[1, 1], abs=1e-12)
    assert float(FOUND.probability({"smokes": "no", "packs": "many"})) == 0


def test_a_question_that_everybody_is_asked_has_no_such_table() -> None:
    with pytest.raises(SchemaError, match=r"asked of everybody; use table\(\['smokes'\]\)"):
        FOUND.asked("smokes")
    with pytest.raises(SchemaError, match="unknown attribute"):
        FOUND.asked("smoke")


def test_undisguised_records_that_contradict_a_condition_are_an_error() -> None:
    design = Design(SCHEMA, [Group(SCHEMA.names, truthful())], ASKED)
    right = reconstruct(np.array([[0, 2, 0], [1, 1, 0], [1, 0, 1]]), design)
    assert right.table(PAIR).value[1].tolist() == pytest.approx([1 / 3, 1 / 3, 0])
    wrong = reconstruct(np.array([[0, 2, 0], [0, 1, 0]]), design)
    with pytest.raises(DataError, match="1 reported records contradict the conditions"):
        wrong.table(PAIR)
    assert wrong.table(PAIR, inversion).value[0, 1] == 0.5


def test_design_weights_enter_value_and_errors() -> None:
    weights = np.where(REPORTED[:, 2] == 1, 3.0, 1.0)
    found = reconstruct(REPORTED, DESIGN, weights=weights)
    table = found.table(PAIR)
    assert (table.value[ZEROS] == 0).all()
    assert table.simple is not None
    assert table.stderr[1, 1] > FOUND.table(PAIR).stderr[1, 1]
    asked = found.asked("packs")
    assert asked.value.sum() == pytest.approx(1)
    assert asked.simple is not None


def test_a_joint_table_of_all_attributes_is_restricted_too() -> None:
    table = FOUND.table(["region", "packs", "smokes"], restricted)
    assert (table.value.transpose(2, 1, 0)[ZEROS] == 0).all()
