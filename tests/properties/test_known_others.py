"""An adversary who knows the other answers: equal to enumeration, for every family and grouping."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pytest
from scipy.stats import norm

from tacit import Attribute, Design, Group, Schema, related, unrelated
from tacit.core.arrays import Array
from tacit.core.channel import Coin
from tacit.privacy import Figures, Limits, prior_of
from tacit.privacy.known_others import risks_knowing
from tests.support.chance import FALSE_ALARM
from tests.support.grids import slow_but_first
from tests.support.written_out import WrittenOut, random_design, random_prior, written_out

#: What closed forms may differ by from enumeration: both are sums of roundings.
AGREEMENT = 1e-12
DESIGNS, AT_ONCE = 500, 50
EIGHT = Schema([Attribute(f"a{i}", ["no", "yes"]) for i in range(8)])
SAMPLED = Limits(max_cells=1, drawn=4000)


def enumerated(design: Design, table: Array, name: str) -> tuple[float, float, float, float]:
    """PSE, MAP privacy, worst posterior and bits of J[(report, other true answers), target]."""
    out = WrittenOut.of(design)
    joint = out.matrix * out.prior(table)
    others = [n for n in design.schema.names if n != name]
    label = out.label(tuple(others)) if others else np.zeros(joint.shape[1], dtype=int)
    parts = []
    for known in np.unique(label):
        cells = np.flatnonzero(label == known)
        parts.append(joint[:, cells[np.argsort(out.true[name][cells])]])
    return written_out(np.concatenate(parts))


@pytest.mark.parametrize("start", slow_but_first(range(0, DESIGNS, AT_ONCE), 4))
def test_knowing_all_other_answers_equals_enumeration(start: int) -> None:
    for seed in range(start, start + AT_ONCE):
        rng = np.random.default_rng(seed)
        design = random_design(rng)
        prior, table = random_prior(design, rng)
        for name, risk in risks_knowing(design, prior_of(prior, design), Limits()).items():
            found = risk.figures()
            pse, map_privacy, worst, bits = enumerated(design, table, name)
            for got, true in ((found.pse, pse), (found.map_privacy, map_privacy)):
                assert max(true, 0) - AGREEMENT <= got <= max(true, 0) + 1e-16
            for got, true in ((found.worst_posterior, worst), (found.information, bits)):
                assert true - 1e-16 <= got <= true + AGREEMENT


def knowing(coin: Coin, names: Sequence[str]) -> Figures:
    """The figures of the first of these answers under one coin, to someone who knows the others."""
    design = Design(EIGHT.subset(names), [Group(names, coin)])
    return risks_knowing(design, prior_of(None, design), Limits())[names[0]].figures()


def test_eight_answers_under_one_coin_protect_each_other_less_the_more_are_known() -> None:
    coin = unrelated("1/2", ["1/2", "1/2"])
    worst = [knowing(coin, EIGHT.names[: k + 1]).worst_posterior for k in (0, 1, 2, 7)]
    assert [round(posterior, 3) for posterior in worst] == [0.75, 0.833, 0.9, 0.996]


@pytest.mark.parametrize("known", EIGHT.names[1:])
def test_under_one_related_coin_any_known_answer_reveals_all_others(known: str) -> None:
    found = knowing(related("3/4"), ["a0", known])
    assert (found.map_privacy, found.worst_posterior) == (0, 1)


@pytest.mark.parametrize(
    "coin", [related("2/3"), unrelated("1/3", ["1/4", "3/4"]), unrelated("1/2", ["1/9", "8/9"])]
)
@pytest.mark.parametrize("tied", [False, True])
def test_drawn_known_answers_come_near_all_of_them(coin: Coin, tied: bool) -> None:
    small = Schema([Attribute(f"a{i}", ["no", "yes"]) for i in range(5)])
    others = [Group([n], related("3/4")) for n in ("a4", "a2")]
    design = Design(small, [Group(["a3", "a0", "a1"], coin), *others])
    rng = np.random.default_rng(5)
    given = rng.dirichlet(np.ones(32)).reshape((2,) * 5)
    prior = prior_of(given if tied else {n: rng.dirichlet([1, 1]) for n in small.names}, design)
    risks = risks_knowing(design, prior, Limits(), ["a0", "a4"])
    exact, other = (risk.figures() for risk in risks.values())
    drawn = risks_knowing(design, prior, SAMPLED, ["a0"])["a0"].figures()
    assert drawn.central is not None
    assert drawn.stderr is not None
    z = norm.isf(FALSE_ALARM / 4)
    for place, name in ((0, "pse"), (1, "map_privacy")):
        error = z * drawn.stderr[place] + AGREEMENT
        assert abs(drawn.central[place] - getattr(exact, name)) <= error
    assert drawn.worst_posterior >= exact.worst_posterior - AGREEMENT
    # Negative control: another attribute's figure would be detected.
    assert abs(drawn.central[1] - other.map_privacy) > z * drawn.stderr[1] + AGREEMENT
