"""What it costs an estimate if people who see their report refuse to send some: decision 0022.

In a share p of truly "yes", a person who is shown the report of one yes/no question refuses with
probability r if she dislikes it. The share of reported "yes" among those who send is no longer
M p, and the estimate (reported - M[yes, no]) / (M[yes, yes] - M[yes, no]) is biased however many
answer. `expected` is that limit, exactly; the test compares it with simulated surveys that
`tacit.reconstruct` estimates.
"""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction
from pathlib import Path

import numpy as np
import pytest
from scipy.stats import norm

from tacit import Attribute, Design, Group, Schema, disguise, reconstruct
from tacit.core.channel import Coin, forced, related, unrelated
from tests.support.chance import FALSE_ALARM
from tests.support.tables import brute_force

DECISION = Path(__file__).parents[2] / "docs/decisions/0022-what-the-review-page-shows.md"
HALF = (Fraction(1, 2), Fraction(1, 2))
COINS: dict[str, Callable[[Fraction], Coin]] = {
    "related": related,
    "unrelated": lambda theta: unrelated(theta, personal=HALF),
    "forced": lambda theta: forced(theta, forced=(Fraction(1, 4), Fraction(3, 4))),
}
THETAS = {
    "related": (Fraction(2, 3), Fraction(3, 4), Fraction(5, 6)),
    "unrelated": (Fraction(1, 2), Fraction(2, 3), Fraction(3, 4)),
    "forced": (Fraction(1, 2), Fraction(2, 3), Fraction(3, 4)),
}
SHARES = (Fraction(1, 10), Fraction(3, 10))
REFUSING = Fraction(1, 10)
#: Who refuses: whether a person with this truth (0 no, 1 yes) dislikes the report "yes".
SCENARIOS = {"an untrue yes": (True, False), "a true yes": (False, True), "any yes": (True, True)}


def chances(coin: Coin) -> tuple[Fraction, Fraction]:
    """P(report yes | truly no) and P(report yes | truly yes)."""
    matrix = brute_force(coin, (Attribute("a", ["no", "yes"]),))
    return matrix[1, 0], matrix[1, 1]


def expected(coin: Coin, share: Fraction, scenario: str, refusing: Fraction) -> Fraction:
    """The share that is estimated if everybody who dislikes her report refuses this often."""
    yes = chances(coin)
    people = (1 - share, share)
    sent = {True: Fraction(0), False: Fraction(0)}
    for truth, dislikes in enumerate(SCENARIOS[scenario]):
        sent[True] += people[truth] * yes[truth] * (1 - refusing * dislikes)
        sent[False] += people[truth] * (1 - yes[truth])
    reported = sent[True] / (sent[True] + sent[False])
    return (reported - yes[0]) / (yes[1] - yes[0])


def rows() -> list[str]:
    """The table of the decision: bias of the estimated share, by design and scenario."""
    made = []
    for family, thetas in THETAS.items():
        for theta in thetas:
            cells = [
                f"{float(expected(COINS[family](theta), share, scenario, REFUSING) - share):+.3f}"
                for scenario in SCENARIOS
                for share in SHARES
            ]
            made.append(f"| {family} {theta} | {' | '.join(cells)} |")
    return made


def test_the_decision_does_not_quote_other_numbers() -> None:
    text = DECISION.read_text(encoding="utf-8")
    assert [row for row in rows() if row not in text] == []


@pytest.mark.parametrize("family", COINS)
def test_selective_refusal_is_not_harmless(family: str) -> None:
    """Simulated surveys come out where the formula says; without refusal, at the truth."""
    coin = COINS[family](THETAS[family][1])
    share, n = Fraction(3, 10), 200_000
    for refusing in (Fraction(0), Fraction(1, 2)):
        found, error = simulated(coin, share, "an untrue yes", refusing, n)
        wanted = float(expected(coin, share, "an untrue yes", refusing))
        assert abs(found - wanted) < norm.isf(FALSE_ALARM / 2) * error
        biased = abs(found - float(share)) > norm.isf(FALSE_ALARM / 2) * error
        assert biased == (refusing > 0), "negative control: without refusal there is no bias"


def simulated(
    coin: Coin, share: Fraction, scenario: str, refusing: Fraction, n: int
) -> tuple[float, float]:
    """The estimated share and its standard error, of those of n people who send."""
    rng = np.random.default_rng(12)
    design = Design(Schema([Attribute("a", ["no", "yes"])]), [Group(["a"], coin)])
    truth = (rng.random((n, 1)) < float(share)).astype(np.int64)
    reported = disguise(truth, design, rng)
    dislikes = np.array(SCENARIOS[scenario])[truth[:, 0]] & (reported[:, 0] == 1)
    stays = ~(dislikes & (rng.random(n) < float(refusing)))
    estimate = reconstruct(reported[stays], design).table(["a"])
    return float(estimate.value[1]), float(np.sqrt(estimate.covariance[1, 1]))
