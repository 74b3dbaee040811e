"""How often itemsets and rules are wrong, and how often their intervals contain the truth.

    python -m tests.statistical.itemset_study --runs 2000 --seed 1

Every run draws true records from a population and disguises them. Some itemsets, or the confidences
of some rules, are exactly at the threshold: claims of these are wrong. Prints the share of runs
with a wrong claim and the mean share of wrong claims, by design, population and error control; then
the coverage of intervals of the rule with the highest confidence, from the records that selected it
and from others. 2,000 runs take a quarter of an hour on one core.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Callable, Iterator
from dataclasses import dataclass

import numpy as np

from tacit import Attribute, Design, Group, Schema, disguise
from tacit.core.arrays import Array, Codes
from tacit.core.channel import matrix, related, truthful, uniform_perturbation, unrelated
from tacit.mine import (
    FalseDiscovery,
    FamilyWise,
    PlainThreshold,
    association_rules,
    itemsets,
    split_records,
)
from tacit.mine.error_control import ErrorControl
from tacit.mine.itemset_rules import AssociationRules
from tacit.records import PatternTable, count

ERROR = 0.05
RECORDS = 2000
ITEMS = 6
SCHEMA = Schema([Attribute(f"i{i}", ["no", "yes"]) for i in range(ITEMS)])
NAMES = SCHEMA.names
NOISE = [[0.8, 0.15], [0.2, 0.85]]
DESIGNS = {
    "truthful": [Group(NAMES, truthful())],
    "MASK, theta .9": [Group([name], related(0.9)) for name in NAMES],
    "MASK, theta .75": [Group([name], related(0.75)) for name in NAMES],
    "one related group, .7": [Group(NAMES, related(0.7))],
    "two unrelated groups": [
        Group(NAMES[i::2], unrelated(0.6, ["7/10", "3/10"])) for i in range(2)
    ],
    "matrix and uniform": [
        *(Group([name], matrix(NOISE)) for name in NAMES[:2]),
        Group(NAMES[2:], uniform_perturbation(0.7)),
    ],
}

#: Items are independent within a class: the share of each class, P(item | class).
Classes = tuple[Array, Array]


@dataclass(frozen=True)
class Crowd:
    """A population with thresholds that some of its itemsets and rules meet exactly."""

    classes: Classes
    min_support: float
    min_confidence: float

    def draw(self, n: int, rng: np.random.Generator) -> Codes:
        """True records."""
        shares, given = self.classes
        own = rng.choice(len(shares), n, p=shares)
        return (rng.random((n, ITEMS)) < given[own]).astype(np.uint8)

    def support(self, items: tuple[int, ...]) -> float:
        """The share of the population that has all these items."""
        return support_in(self.classes, items)

    def confidence(self, conditions: tuple[int, ...], conclusion: tuple[int, ...]) -> float:
        """The share of those with the conditions that also have the conclusion."""
        return self.support(conditions + conclusion) / self.support(conditions)


def support_in(classes: Classes, items: tuple[int, ...]) -> float:
    shares, given = classes
    return float(shares @ given[:, list(items)].prod(axis=1))


def _single() -> Crowd:
    """Half of the items are exactly at the threshold, the others well above."""
    given = np.array([[0.6, 0.6, 0.6, 0.3, 0.3, 0.3]])
    return Crowd((np.ones(1), given), 0.3, 0.6)


def _pairs() -> Crowd:
    """All pairs are exactly at the threshold, single items above it, triples below."""
    classes = np.array([0.4, 0.6]), np.array([[0.8] * ITEMS, [0.3] * ITEMS])
    pair = support_in(classes, (0, 1))
    return Crowd(classes, pair, pair / support_in(classes, (0,)))


def _bundle() -> Crowd:
    """Three items go together, their supports well above; pairs with others at the threshold."""
    classes = np.array([0.35, 0.65]), np.array([[0.9] * 3 + [0.5] * 3, [0.2] * 3 + [0.5] * 3])
    return Crowd(classes, support_in(classes, (0, 3)), 0.5)


CROWDS: dict[str, Callable[[], Crowd]] = {"single": _single, "pairs": _pairs, "bundle": _bundle}


def reports(crowd: Crowd, design: Design, rng: np.random.Generator, n: int) -> PatternTable:
    """Reported records of newly drawn true ones."""
    return count(disguise(crowd.draw(n, rng), design, rng), design.reported)


def wrong_itemsets(
    crowd: Crowd, records: PatternTable, design: Design, control: ErrorControl
) -> float:
    """The share of itemsets whose true support is not above the threshold."""
    found = itemsets(records, design, crowd.min_support, max_length=3, control=control)
    true = [crowd.support(tuple(map(NAMES.index, one.items))) for one in found]
    return float(np.mean(np.array(true) <= crowd.min_support + 1e-12)) if true else 0.0


def wrong_rules(
    crowd: Crowd, records: PatternTable, design: Design, control: ErrorControl
) -> float:
    """The share of rules whose true confidence is not above the threshold."""
    found = itemsets(records, design, 0.05, max_length=2, control=control)
    if not len(found):
        return 0.0
    rules = association_rules(found, crowd.min_confidence)
    true = [crowd.confidence(*sides(rule)) for rule in rules]
    return float(np.mean(np.array(true) <= crowd.min_confidence + 1e-12)) if true else 0.0


def sides(rule: object) -> tuple[tuple[int, ...], tuple[int, ...]]:
    """Items in the conditions and in the conclusion."""
    given, then = rule.conditions, rule.conclusion  # type: ignore[attr-defined]
    return tuple(map(NAMES.index, given)), tuple(map(NAMES.index, then))


Wrong = Callable[[Crowd, PatternTable, Design, ErrorControl], float]


def error_rates(
    name: str, crowd: Crowd, wrong: Wrong, controls: list[ErrorControl], runs: int, seed: int
) -> Array:
    """Runs x controls: the share of wrong claims."""
    design, rng = Design(SCHEMA, DESIGNS[name]), np.random.default_rng(seed)
    found = []
    for _ in range(runs):
        records = reports(crowd, design, rng, RECORDS)
        found.append([wrong(crowd, records, design, control) for control in controls])
    return np.array(found)


def coverage(name: str, crowd: Crowd, runs: int, seed: int, n: int = 2 * RECORDS) -> Array:
    """Whether intervals of the most confident rule contain the truth.

    Runs x (from the records that selected it, from others) x (support, confidence, lift).
    """
    design, rng = Design(SCHEMA, DESIGNS[name]), np.random.default_rng(seed)
    found = []
    for _ in range(runs):
        first, second = split_records(reports(crowd, design, rng, n), design, rng)
        mined = itemsets(first, design, 0.02, max_length=2, control=PlainThreshold())
        both = [association_rules(one, 0.0) for one in (mined, mined.estimated_on(second))]
        found.append([list(_contains(rules, crowd)) for rules in both])
    return np.array(found)


def _contains(rules: AssociationRules, crowd: Crowd) -> Iterator[bool]:
    conditions, conclusion = sides(rules[0])
    confidence = crowd.confidence(conditions, conclusion)
    true = {
        "support": crowd.support(conditions + conclusion),
        "confidence": confidence,
        "lift": confidence / crowd.support(conclusion),
    }
    numbers = rules.numbers()
    for name, value in true.items():
        yield numbers[f"{name}_lower"][0] <= value <= numbers[f"{name}_upper"][0]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--runs", type=int, default=2000)
    parser.add_argument("--seed", type=int, default=1)
    chosen = parser.parse_args()

    def say(text: str) -> None:
        sys.stdout.write(text + "\n")
        sys.stdout.flush()

    controls: list[ErrorControl] = [FamilyWise(ERROR), FalseDiscovery(ERROR), PlainThreshold()]
    say(
        f"{chosen.runs} runs; family-wise: runs with a wrong claim; fdr: mean share of wrong claims"
    )
    for (name, crowd), (what, wrong) in _cases():
        rates = error_rates(name, CROWDS[crowd](), wrong, controls, chosen.runs, chosen.seed)
        any_wrong, share = (rates > 0).mean(axis=0), rates.mean(axis=0)
        say(
            f"{what:9s} {crowd:7s} {name:22s} family-wise {any_wrong[0]:.4f}  fdr {share[1]:.4f}  "
            f"plain: any {any_wrong[2]:.3f}, share {share[2]:.3f}"
        )
    say("coverage of 95 % intervals (support, confidence, lift): selecting records | others")
    for name in DESIGNS:
        same, other = coverage(name, _pairs(), chosen.runs, chosen.seed).mean(axis=0)
        shown = " | ".join(" ".join(f"{v:.4f}" for v in part) for part in (same, other))
        say(f"{name:22s} {shown}")


def _cases() -> Iterator[tuple[tuple[str, str], tuple[str, Wrong]]]:
    for what, crowds in (
        ("itemsets", ("single", "pairs", "bundle")),
        ("rules", ("single", "pairs")),
    ):
        wrong = wrong_itemsets if what == "itemsets" else wrong_rules
        for crowd in crowds:
            yield from (((name, crowd), (what, wrong)) for name in DESIGNS)


if __name__ == "__main__":
    main()
