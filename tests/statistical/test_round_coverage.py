"""The accuracy that a round finds: 95 % intervals cover the true accuracy of the model.

People are drawn at random, the model of the round is applied to their true records, and whether it
was right is disguised by the round's design. The share of right predictions among all people is
computed from a million of them. A correct program fails an assertion once in a million. The
negative control takes the reports for the truth.
"""

from __future__ import annotations

import numpy as np
import pytest
from scipy.stats import binom

from tacit import disguise, reconstruct
from tacit.core.arrays import Codes
from tacit.records import count_reported
from tacit.survey import Published, Survey
from tests.support.chance import FALSE_ALARM
from tests.support.device_models import round_survey

ROUNDS, PEOPLE, LEVEL = 600, 400, 0.95
LEAST = binom.ppf(FALSE_ALARM, ROUNDS, LEVEL) / ROUNDS


def right(made: Survey, n: int, rng: np.random.Generator) -> Codes:
    """Whether the model is right about people; their target often follows its prediction."""
    assert made.model is not None
    sizes = [len(question.categories) for question in made.model.questions]
    codes = rng.integers(0, sizes, (n, len(sizes)))
    predicted = made.model.predict(codes)
    other = rng.integers(0, len(made.model.target.categories), n)
    target = np.where(rng.random(n) < 0.6, predicted, other)
    return (target == predicted).astype(np.uint8)[:, None]


@pytest.mark.slow
@pytest.mark.parametrize("kind", ["tree", "scores"])
def test_the_interval_of_a_round_covers_the_accuracy_of_its_model(kind: str) -> None:
    made = round_survey(5, kind)
    design = Published(made).design
    rng = np.random.default_rng(17)
    truth = float(right(made, 1_000_000, rng).mean())
    covered, as_if_true = 0, 0
    for _ in range(ROUNDS):
        reported = disguise(right(made, PEOPLE, rng), design, rng)
        table = reconstruct(count_reported(reported, design), design).table(["correct"])
        lower, upper = (limit[1] for limit in table.interval(LEVEL))
        covered += lower <= truth <= upper
        share = reported.mean()
        as_if_true += abs(share - truth) <= 2 * np.sqrt(share * (1 - share) / PEOPLE)
    assert covered / ROUNDS >= LEAST
    assert covered < ROUNDS  # not by being endless
    assert as_if_true / ROUNDS < LEAST
