"""Large groups by Monte Carlo: near what is exact, and on the pessimistic side."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from scipy.stats import norm

from tacit import Design, Group, Schema, disguise, reconstruct
from tacit.core.channel import frapp, matrix, related, truthful, unrelated
from tacit.errors import DataError
from tacit.privacy import Limits, prior_of, report
from tacit.privacy.risk import FIGURES, Figures
from tacit.privacy.scopes import Sampled
from tacit.reconstruction.tables import project
from tests.support.chance import FALSE_ALARM
from tests.support.families import attributes_of

SIZES = (2, 3, 2, 2)
SCHEMA = Schema(attributes_of(SIZES))
PERSONAL = {a.name: [0.25, *[0.75 / (a.size - 1)] * (a.size - 1)] for a in SCHEMA}
COINS = [related(0.7), related(0.2), unrelated(0.3, PERSONAL), unrelated(1, PERSONAL)]
SAMPLED = Limits(max_cells=10, drawn=4000)


def priors(rng: np.random.Generator) -> list[Any]:
    margins: dict[Any, Any] = {a.name: rng.dirichlet(np.ones(a.size)) for a in SCHEMA}
    tied = {n: margins[n] for n in ("a1", "a2")}
    return [margins, tied | {("a3", "a0"): rng.dirichlet(np.ones(4)).reshape(2, 2)}]


def far(sampled: Figures, exact: Figures, checks: int) -> list[str]:
    """Figures further from the exact ones than chance allows, for this many checks."""
    assert sampled.central is not None
    assert sampled.stderr is not None
    z = norm.isf(FALSE_ALARM / 2 / checks)
    return [
        name
        for name, got, error in zip(FIGURES, sampled.central, sampled.stderr, strict=True)
        if name != "worst_posterior" and abs(got - getattr(exact, name)) > z * error + 1e-12
    ]


def too_private(sampled: Figures, exact: Figures, checks: int) -> list[str]:
    """Those among them that lie on the side of more privacy."""
    assert sampled.central is not None
    got = dict(zip(FIGURES, sampled.central, strict=True))
    more = {"pse": 1, "map_privacy": 1, "information": -1}
    apart = far(sampled, exact, checks)
    return [name for name in apart if more[name] * (got[name] - getattr(exact, name)) > 0]


@pytest.mark.parametrize("coin", COINS, ids=str)
def test_sampled_figures_are_near_the_exact_ones(coin: Any) -> None:
    design = Design(SCHEMA, [Group(["a2", "a0", "a3", "a1"], coin)])
    for prior in priors(np.random.default_rng(3)):
        sampled, exact = report(design, prior, limits=SAMPLED), report(design, prior)
        assert not sampled.record.exact
        checks = 3 * (len(SCHEMA) + 1)
        pairs = [(sampled.record, exact.record)]
        pairs += [(sampled.attributes[n], exact.attributes[n]) for n in SCHEMA.names]
        for got, true in pairs:
            assert far(got.from_record, true.from_record, checks) == []
            assert got.from_record.worst_posterior >= true.from_record.worst_posterior - 1e-12
        assert "Monte Carlo: PSE and MAP with a standard error of up to 0.0" in sampled.basis()


def test_another_coin_would_be_detected() -> None:
    """Negative control."""
    prior = priors(np.random.default_rng(3))[0]
    sampled = report(Design(SCHEMA, [Group(SCHEMA.names, related(0.7))]), prior, limits=SAMPLED)
    other = report(Design(SCHEMA, [Group(SCHEMA.names, related(0.75))]), prior)
    assert far(sampled.record.from_record, other.record.from_record, 1) != []


def test_the_figure_that_is_shown_lies_three_standard_errors_on_the_safe_side() -> None:
    prior = priors(np.random.default_rng(4))[0]
    found = report(Design(SCHEMA, [Group(SCHEMA.names, related(0.7))]), prior, limits=SAMPLED)
    shown = found.record.from_record
    assert shown.central is not None
    assert shown.stderr is not None
    assert shown.pse == pytest.approx(shown.central[0] - 3 * shown.stderr[0], abs=1e-12)
    assert shown.information == pytest.approx(shown.central[3] + 3 * shown.stderr[3], abs=1e-12)


def test_a_survey_of_forty_questions_under_one_coin_is_measured() -> None:
    schema = Schema(attributes_of((3,) * 40))
    prior = {n: [0.6, 0.3, 0.1] for n in schema.names}
    design = Design(schema, [Group(schema.names, unrelated(0.3, [0.2, 0.3, 0.5]))])
    found = report(design, prior, limits=Limits(drawn=500))
    # By 40 answers an adversary all but knows whether the coin said true, as it does in 30 %.
    low, high = found.record.from_record.interval("map_privacy")
    assert low < 0.7 < high
    assert high - low < 0.15


TALL = matrix([["1/2", "1/4", 0], ["1/4", "1/4", "1/4"], [0, "1/4", "1/2"], ["1/4", "1/4", "1/4"]])
TIED = [
    [Group(["a0", "a2"], related(0.7)), Group(["a1"], TALL), Group(["a3"], related(0.6))],
    [Group(["a0", "a2"], unrelated(0.4, [0.2, 0.8])), Group(["a3", "a1"], related(0.3))],
    [Group(["a0", "a2"], truthful()), Group(["a3"], frapp(3)), Group(["a1"], related(0.8))],
]


@pytest.mark.parametrize("groups", TIED, ids=str)
def test_groups_that_the_prior_ties_together_are_sampled_near_the_exact_figures(
    groups: list[Group],
) -> None:
    design, rng = Design(SCHEMA, groups), np.random.default_rng(5)
    sparse = rng.gamma(0.6, size=SIZES) * (rng.random(SIZES) < 0.7)
    pairs = {("a1", "a0"): rng.dirichlet(np.ones(6)).reshape(3, 2)}
    pairs |= {("a2", "a3"): rng.dirichlet(np.ones(4)).reshape(2, 2)}
    for prior in (sparse / sparse.sum(), pairs):
        sampled, exact = report(design, prior, limits=SAMPLED), report(design, prior)
        assert not sampled.record.exact
        both = [(sampled.record, exact.record)]
        both += [(sampled.attributes[n], exact.attributes[n]) for n in SCHEMA.names]
        if sum(len(group.attributes) > 1 for group in groups) == 1:
            both += list(zip(sampled.groups, exact.groups, strict=True))
        for got, true in both:
            assert far(got.from_record, true.from_record, 3 * len(both)) == []
        for got, true in zip(sampled.groups, exact.groups, strict=True):
            assert too_private(got.from_record, true.from_record, 3 * len(groups)) == []
            assert got.from_record.worst_posterior >= true.from_record.worst_posterior - 1e-12


def test_products_too_small_for_a_number_are_no_obstacle() -> None:
    schema = Schema(attributes_of((2,) * 1100))
    design = Design(schema, [Group(schema.names, unrelated(0.5, [0.5, 0.5]))])
    factors = design.channel(schema.names).factors
    risk = Sampled(factors, prior_of(None, design), Limits(drawn=50)).risk(design.schema.names)
    # The coin keeps the truth in half of all cases; no report tells which, nor anything else.
    assert risk.best[0] == pytest.approx(0.5, abs=1e-9)
    assert risk.drawn[0] == pytest.approx(0.25, abs=1e-9)
    assert 0 < risk.information[0] < 1100


def test_a_part_that_cannot_be_sampled_is_an_error_that_says_what_to_do() -> None:
    joint = matrix(np.full((6, 6), 0.1) + 0.4 * np.eye(6))
    groups = [Group(["a0", "a1"], joint), Group(["a2", "a3"], related(0.7))]
    with pytest.raises(DataError, match=r"group \[a0, a1\].*make the group smaller"):
        report(Design(SCHEMA, groups), np.full(SIZES, 1 / 24), limits=SAMPLED)
    schema = Schema(attributes_of((2,) * 18))
    pairs = [Group(schema.names[i : i + 2], related(0.7)) for i in range(0, 18, 2)]
    with pytest.raises(DataError, match="ties 9 groups of several attributes together"):
        report(Design(schema, pairs), np.full((2,) * 18, 2.0**-18), limits=SAMPLED)


def test_the_uncertainty_of_an_estimated_prior_widens_what_is_sampled() -> None:
    design = Design(SCHEMA, [Group(SCHEMA.names, unrelated(0.6, PERSONAL))])
    rng = np.random.default_rng(6)
    true = np.column_stack([rng.integers(0, k, 500) for k in SIZES])
    found = reconstruct(disguise(true, design, rng), design)
    estimates = [found.table([name]) for name in SCHEMA.names]
    known = {e.attributes[0].name: project(e.value) for e in estimates}
    limits = Limits(max_cells=10, drawn=2000, rng=np.random.default_rng(7))
    wide = report(design, estimates, limits=limits).record.from_record
    narrow = report(design, known, limits=limits).record.from_record
    exact = report(design, known).record.from_record
    assert np.diff(wide.interval("information"))[0] > np.diff(narrow.interval("information"))[0]
    low, high = wide.interval("information")
    assert low < exact.information < high
