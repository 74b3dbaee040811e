"""Many repeats of the literal naive Bayes at once, on counts of yes/no patterns.

Zhan & Matwin's classifier only uses how often the class, each attribute and both are yes in a
reported data set. These counts are drawn directly, with the distribution that disguising
record by record gives them: a pattern that n people have is kept by Binomial(n, theta) of them.
The classifier is computed for all repeats at once, in two ways, because the paper does not say
what to do with negative shares: `printed` multiplies them unchanged, `cut` cuts them at zero like
`tacit.mine.literal`; a test compares the two.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from fractions import Fraction
from functools import cache

import numpy as np
import numpy.typing as npt

from tacit.core.arrays import TINY, Array, Codes, Mask
from tacit.core.design import Design, Group
from tacit.core.disguise import disguise
from tacit.core.schema import Schema
from tacit.mine import NaiveBayes
from tacit.papers.paper_data import SHARE, TARGETS, binary
from tacit.papers.study_settings import Setting, Tell
from tacit.privacy.comparison import related_scheme, unrelated_scheme
from tacit.records import count

Counts = npt.NDArray[np.int64]
#: How many training and test records have each pattern.
Division = tuple[Counts, Counts]

#: Records added to every cell, as `NaiveBayes` does.
ALPHA = 1.0
#: Consecutive repeats with the same division of the records; all thetas share the divisions.
ALIKE = 2
#: Repeats computed together.
BLOCK = 100


@dataclass(frozen=True, eq=False)
class Population:
    """Distinct true records, the class last, and how many people have each."""

    patterns: Array
    counts: Counts

    @classmethod
    def of(cls, codes: Codes, schema: Schema) -> Population:
        """The patterns of a data set."""
        table = count(codes, schema)
        return cls(table.patterns.astype(np.float64), np.asarray(table.counts))

    @property
    def n_train(self) -> int:
        """The number of training records."""
        return round(SHARE * int(self.counts.sum()))

    def split(self, rng: np.random.Generator) -> Division:
        """A random division of the people."""
        train: Counts = rng.multivariate_hypergeometric(
            self.counts, self.n_train, method="marginals"
        )
        return train, self.counts - train


#: Reported yes/no counts from how many of each pattern kept the truth and how many did not.
Reported = Callable[[Population, Counts, Counts, np.random.Generator], Array]
#: Shares of the true pair tables from those of the reported ones.
Restored = Callable[[Array, float], Array]


def pair_counts(population: Population, weights: Counts) -> Array:
    """Count tables [attribute, class, category] of people with these patterns."""
    x, c = population.patterns[:, :-1], population.patterns[:, -1]
    total, classes = weights.sum(), weights @ c
    ones, both = weights @ x, (weights * c) @ x
    tables = [[total - classes - ones + both, ones - both], [classes - both, both]]
    return np.moveaxis(np.array(tables), 2, 0)


def opposite(population: Population, kept: Counts, rest: Counts, rng: np.random.Generator) -> Array:
    """Related questions: the rest report the opposite of everything (Du & Zhan, section 3)."""
    return np.asarray(pair_counts(population, kept) + pair_counts(population, rest)[:, ::-1, ::-1])


def personal(population: Population, kept: Counts, rest: Counts, rng: np.random.Generator) -> Array:
    """Unrelated questions: the rest report a fair coin per attribute (Zhan & Matwin, 5.1)."""
    yes = rng.binomial(int(rest.sum()), 0.5)
    classes = np.array([int(rest.sum()) - yes, yes])
    ones = rng.binomial(classes, 0.5, (population.patterns.shape[1] - 1, 2))
    return pair_counts(population, kept) + np.stack([classes - ones, ones], axis=2)


def from_opposite(tables: Array, theta: float) -> Array:
    """P(E) = (theta P*(E) - (1 - theta) P*(not E)) / (2 theta - 1) (Du & Zhan, eq. 3)."""
    mirrored = tables[..., ::-1, ::-1]
    return np.asarray((theta * tables - (1 - theta) * mirrored) / (2 * theta - 1))


def from_personal(tables: Array, theta: float) -> Array:
    """P(E) = (P*(E) - (1 - theta) P(Y in E)) / theta; a pair has P(Y in E) = 1/4 (eq. 1)."""
    return np.asarray((tables - (1 - theta) / 4) / theta)


def cut(tables: Array, n_records: int, people: Array) -> Mask:
    """Which patterns are classified yes, with negative shares cut at zero.

    tables: true pair shares [repeat, attribute, class, category]; ALPHA records are added to
    every cell, as `tacit.mine.literal` does.
    """
    share = ALPHA / n_records
    prior = np.maximum(tables[:, 0].sum(axis=-1), share)
    raised = np.maximum(tables, 0) + share
    logs = np.log(raised / raised.sum(axis=-1, keepdims=True))
    sums = np.log(prior)[..., None] + _along(logs, people)
    return np.asarray(sums[:, 1] > sums[:, 0])


def printed(tables: Array, n_records: int, people: Array) -> Mask:
    """Which patterns are classified yes by P(c) prod P(a, c) / P(c), negative shares as they are.

    Products are compared by sign and size; a share of exactly zero counts as almost zero.
    """
    prior = tables[:, 0].sum(axis=-1)
    shares = tables / prior[:, None, :, None]
    negative = (prior < 0)[..., None] + _along((shares < 0).astype(np.float64), people)
    sign = 1 - 2 * (np.rint(negative) % 2)
    size = np.log(np.maximum(np.abs(prior), TINY))[..., None]
    size = size + _along(np.log(np.maximum(np.abs(shares), TINY)), people)
    larger = np.where(sign[:, 1] > 0, size[:, 1] > size[:, 0], size[:, 1] < size[:, 0])
    return np.asarray(np.where(sign[:, 1] == sign[:, 0], larger, sign[:, 1] > 0))


def _along(values: Array, people: Array) -> Array:
    """Values of the categories of each pattern, summed: [repeat, class, pattern]."""
    x = people[:, :-1].T
    by_class = np.moveaxis(values, 1, 2)
    start = by_class[..., 0].sum(axis=-1)
    return np.asarray(start[..., None] + (by_class[..., 1] - by_class[..., 0]) @ x)


def repeated_scores(
    population: Population,
    theta: float,
    scheme: tuple[Reported, Restored],
    repeats: Iterable[tuple[Division, np.random.Generator]],
) -> dict[str, Array]:
    """Accuracy of both ways on the true test records, one score per repeat."""
    report, restore = scheme
    tables, tested = [], []
    for (train, test), rng in repeats:
        kept = rng.binomial(train, theta)
        tables.append(report(population, kept, train - kept, rng))
        tested.append(test)
    found = restore(np.array(tables) / population.n_train, theta)
    weights = np.array(tested) / np.sum(tested, axis=1, keepdims=True)
    yes = population.patterns[:, -1] > 0
    return {
        name: (weights * (way(found, population.n_train, population.patterns) == yes)).sum(axis=1)
        for name, way in WAYS.items()
    }


#: The two ways to treat negative shares.
WAYS = {"literal": printed, "cut at zero": cut}
#: By scheme: how the reported counts are drawn, and the true shares from them.
SCHEMES = {
    "unrelated": (personal, from_personal),
    "related": (opposite, from_opposite),
}
COINS = {"unrelated": unrelated_scheme, "related": related_scheme}


@cache
def population(data: str) -> Population:
    """The patterns of a data set."""
    return Population.of(*binary(data))


def design_of(data: str, scheme: str, theta: float) -> Design:
    """One group of all attributes; personal answers are yes with probability 1/2."""
    _, schema = binary(data)
    return Design(schema, [Group(schema.names, COINS[scheme](Fraction(str(theta)), schema))])


def divided(one: Setting, start: int, stop: int) -> Iterator[tuple[Division, np.random.Generator]]:
    """The division of each repeat, and its generator; `start` begins a division."""
    people = population(one["data"])
    for first in range(start, stop, ALIKE):
        division = people.split(one.rng(first // ALIKE, of=f"{one['data']}-divisions"))
        for repeat in range(first, min(first + ALIKE, stop)):
            yield division, one.rng(repeat)


def literal_scores(one: Setting, tell: Tell) -> dict[str, list[float]]:
    """Accuracy of the paper's procedure, both ways, one score per repeat."""
    found: dict[str, list[float]] = {name: [] for name in WAYS}
    people, scheme = population(one["data"]), SCHEMES[one["scheme"]]
    for start in range(0, one.repeats, BLOCK):
        stop = min(start + BLOCK, one.repeats)
        repeats = divided(one, start, stop)
        for name, scores in repeated_scores(people, one["theta"], scheme, repeats).items():
            found[name] += scores.tolist()
        tell(stop)
    return found


def aware_scores(one: Setting, tell: Tell) -> list[float]:
    """Accuracy of tacit's own naive Bayes, learnt from reported records."""
    people, target = population(one["data"]), TARGETS[one["data"]]
    design = design_of(one["data"], one["scheme"], one["theta"])
    patterns = people.patterns.astype(np.uint8)
    classes = np.array(design.schema[target].categories)[patterns[:, -1]]
    found = []
    for (train, test), rng in divided(one, 0, one.repeats):
        reported = disguise(np.repeat(patterns, train, axis=0), design, rng)
        model = NaiveBayes(design, target).fit(reported)
        right = model.predict(patterns[:, :-1]) == classes
        found.append(float(test @ right) / float(test.sum()))
        tell(len(found))
    return found
