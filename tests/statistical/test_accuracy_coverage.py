"""Standard errors of estimated accuracy are those of many test sets, and 95 % intervals cover.

Test sets are drawn from a population whose joint distribution is known, so the accuracy of the
model on it is too. Errors in units of their standard error have a mean square of 1, which
500 test sets tell far better than coverage does. A correct program fails an assertion once in a
million. The negative control has standard errors that are 20 % too small.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import pytest
from scipy.stats import binom, chi2

from tacit import Design, Group, Schema, disguise, matrix, related, unrelated
from tacit.evaluate import accuracy, personal_accuracy, recall
from tacit.evaluate.accuracy import signed_records
from tacit.reconstruction.interval import normal_interval
from tacit.records import count
from tests.statistical.inference_study import stacked as stacked_intervals
from tests.support.chance import FALSE_ALARM
from tests.support.families import attributes_of

TEST_SETS, SEED, LEVEL = 500, 2718, 0.95
TOO_SMALL = 0.8
TAILS = (FALSE_ALARM / 2, 1 - FALSE_ALARM / 2)
LEAST, MOST = binom.ppf(TAILS, TEST_SETS, LEVEL) / TEST_SETS
SMALLEST, LARGEST = chi2.ppf(TAILS, TEST_SETS) / TEST_SETS

THREE = [[0.7, 0.1, 0.2], [0.2, 0.8, 0.1], [0.1, 0.1, 0.7]]
UNSURE = [[0.7, 0.1], [0.1, 0.7], [0.2, 0.2]]


def yes_no(d: int, *coins: Any) -> Design:
    """d yes/no attributes in one group for each coin."""
    schema = Schema(attributes_of((2,) * d))
    parts = np.array_split(np.array(schema.names), len(coins))
    groups = [Group([str(n) for n in p], coin) for p, coin in zip(parts, coins, strict=True)]
    return Design(schema, groups)


DESIGNS = {
    "one related group": yes_no(6, related(0.75)),
    "three groups": yes_no(6, related(0.8), related("5/6"), related(0.9)),
    "unrelated": yes_no(4, unrelated(0.6, [0.4, 0.6])),
    "unrelated, drawn": yes_no(7, unrelated(0.6, ["1/4", "3/4"])),
    "matrices of k categories": Design(
        Schema(attributes_of((3, 2))), [Group(["a0"], matrix(THREE)), Group(["a1"], matrix(UNSURE))]
    ),
}


@dataclass(frozen=True)
class Population:
    """A joint distribution of true records, and the best classifier of its first attribute."""

    design: Design
    shares: Any

    @classmethod
    def of(cls, design: Design) -> Population:
        rng = np.random.default_rng(SEED)
        sizes = design.schema.sizes
        shares = rng.gamma(0.5, size=sizes)
        agreeing = np.indices(sizes) / np.reshape([k - 1 for k in sizes], (-1, *[1] * len(sizes)))
        shares *= np.exp(-3 * np.abs(agreeing[0] - agreeing[1:].mean(axis=0)))
        return cls(design, shares / shares.sum())

    def predict(self, codes: Any) -> Any:
        return self.shares.argmax(axis=0)[tuple(codes.T)]

    @property
    def right(self) -> Any:
        """Share of records of each class that are classified rightly."""
        best = self.shares.argmax(axis=0)
        return np.array([(p * (best == c)).sum() for c, p in enumerate(self.shares)])

    def reported(self, n: int, rng: np.random.Generator) -> Any:
        """TEST_SETS sets of n reported records."""
        cells = rng.choice(self.shares.size, TEST_SETS * n, p=self.shares.ravel())
        true = np.stack(np.unravel_index(cells, self.shares.shape), axis=1).astype(np.uint8)
        return disguise(true, self.design, rng).reshape(TEST_SETS, n, -1)


def coverage(value: Any, stderr: Any, truth: Any) -> Any:
    lower, upper = normal_interval(value, stderr, LEVEL)
    return np.mean((lower <= truth) & (truth <= upper), axis=0)


def mean_square(value: Any, stderr: Any, truth: Any) -> Any:
    """Of the errors in units of their standard error."""
    return np.mean(((value - truth) / stderr) ** 2, axis=0)


def assert_covers(value: Any, stderr: Any, truth: Any) -> None:
    covered, square = coverage(value, stderr, truth), mean_square(value, stderr, truth)
    assert ((covered >= LEAST) & (covered <= MOST)).all(), covered
    assert ((square >= SMALLEST) & (square <= LARGEST)).all(), square
    assert (mean_square(value, TOO_SMALL * stderr, truth) > LARGEST).all()


@pytest.mark.parametrize("name", DESIGNS)
def test_intervals_of_accuracy_cover_the_accuracy_on_the_population(name: str) -> None:
    population, rng = Population.of(DESIGNS[name]), np.random.default_rng(SEED)
    found = [
        accuracy(population, codes, population.design, "a0", rng, draws=2)
        for codes in population.reported(400, rng)
    ]
    stacked = [np.array([getattr(e, k) for e in found]) for k in ("value", "stderr")]
    assert_covers(*stacked, population.right.sum())
    lower, upper = stacked_intervals(found[:400])
    assert (lower >= 0).all()
    assert (upper <= 1).all()
    covered = np.sum((lower <= population.right.sum()) & (population.right.sum() <= upper))
    assert covered >= binom.ppf(FALSE_ALARM, 400, LEVEL)


def test_one_of_the_designs_draws_its_copies() -> None:
    for name, design in DESIGNS.items():
        one = count(np.zeros((1, len(design.reported)), np.uint8), design.reported)
        assert signed_records(design, one, 8).random == ("drawn" in name)


def test_intervals_of_recall_cover_the_recall_on_the_population() -> None:
    population = Population.of(DESIGNS["one related group"])
    rng = np.random.default_rng(SEED)
    found = [
        recall(population, codes, population.design, "a0")
        for codes in population.reported(800, rng)
    ]
    classes = population.shares.sum(axis=tuple(range(1, population.shares.ndim)))
    stacked = [np.stack([getattr(e, k) for e in found]) for k in ("value", "stderr")]
    assert_covers(*stacked, population.right / classes)


def test_intervals_from_results_that_respondents_report_cover_the_accuracy() -> None:
    """Respondents draw their personal answers, report, and report a result on them too."""
    population, n, theta = Population.of(DESIGNS["unrelated"]), 400, 0.6
    rng = np.random.default_rng(SEED)
    shape = (TEST_SETS, n, 4)
    cells = rng.choice(16, shape[:2], p=population.shares.ravel())
    true = np.stack(np.unravel_index(cells, population.shares.shape), axis=-1)
    personal = (rng.random(shape) < 0.6).astype(np.uint8)
    reported = np.where(rng.random((*shape[:2], 1)) < theta, true, personal).astype(np.uint8)
    answers = personal.reshape(-1, 4)
    results = (population.predict(answers[:, 1:]) == answers[:, 0]).reshape(shape[:2])
    found = [
        personal_accuracy(population, codes, population.design, own, "a0")
        for codes, own in zip(reported, results[:, : n // 2], strict=True)
    ]
    stacked = [np.array([getattr(e, k) for e in found]) for k in ("value", "stderr")]
    assert_covers(*stacked, population.right.sum())
