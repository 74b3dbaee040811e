"""How well latent classes are recovered, against the bound of the Fisher information.

    python -m tests.statistical.latent_study --runs 500 --seed 1 --setting "two related groups"

Every run redraws true records from known classes, disguises them and fits. It prints, over all
shares and profiles of a setting, the coverage of 95 % intervals, the spread over runs as a multiple
of the smallest possible one (the inverse of the Fisher information of the reports), and the stated
standard errors as a multiple of the spread. Then how often BIC and the held-out likelihood find
the number of classes, with --choose N runs.
"""

from __future__ import annotations

import argparse
import itertools
import sys
from dataclasses import dataclass

import numpy as np

from tacit import Attribute, Design, Group, Schema, disguise, related, truthful, unrelated
from tacit.core.arrays import Array
from tacit.mine import LatentClass
from tacit.mine.latent_class import CRITERIA, best_number
from tacit.models.latent_classes import LatentModel
from tacit.records import PatternTable
from tests.support.latent import all_reports, brute_reports, true_records

YES = Schema([Attribute(f"a{i}", ["no", "yes"]) for i in range(6)])
KINDS = Schema([Attribute(f"a{i}", range(k)) for i, k in enumerate((3, 2, 3, 2, 4))])


def _yes(*rows: list[float]) -> list[Array]:
    """Tables of yes/no attributes from P(yes | class), a row per class."""
    shares = np.array(rows)
    return [np.stack([1 - p, p], axis=1) for p in shares.T]


TWO = _yes([0.2, 0.3, 0.15, 0.7, 0.25, 0.6], [0.75, 0.8, 0.6, 0.2, 0.8, 0.15])
THREE = _yes(
    [0.15, 0.2, 0.85, 0.2, 0.25, 0.8],
    [0.8, 0.85, 0.8, 0.25, 0.2, 0.2],
    [0.2, 0.75, 0.15, 0.85, 0.8, 0.7],
)
MORE = [
    np.array([[0.6, 0.3, 0.1], [0.1, 0.25, 0.65]]),
    TWO[0],
    np.array([[0.2, 0.6, 0.2], [0.55, 0.15, 0.3]]),
    TWO[3],
    np.array([[0.1, 0.2, 0.3, 0.4], [0.45, 0.3, 0.15, 0.1]]),
]
ALIKE = {a.name: [f"1/{a.size}"] * a.size for a in KINDS}


@dataclass(frozen=True, eq=False)
class Setting:
    """Known classes, a design and a number of records."""

    design: Design
    prior: Array
    tables: list[Array]
    n: int

    @property
    def truth(self) -> Array:
        return np.concatenate([self.prior, *(table.ravel() for table in self.tables)])

    def bound(self) -> Array:
        """The smallest variance that an unbiased estimate of each share and cell can have."""
        expected, _ = brute_reports(self.design, self.prior, self.tables)
        ones = np.ones(expected.size, np.int64)
        patterns = PatternTable(self.design.reported, all_reports(self.design), ones)
        model = LatentModel(patterns, self.design, len(self.prior))
        model.shares, model.n_records = expected, self.n
        return np.diagonal(model.covariance(model.join(self.prior, self.tables), 1e-12))

    def reports(self, rng: np.random.Generator) -> Array:
        true, _ = true_records(self.prior, self.tables, self.n, rng)
        return np.asarray(disguise(true, self.design, rng))


SETTINGS = {
    "undisguised": Setting(
        Design(YES, [Group(YES.names, truthful())]), np.array([0.6, 0.4]), TWO, 1000
    ),
    "one related group": Setting(
        Design(YES, [Group(YES.names, related(0.75))]), np.array([0.6, 0.4]), TWO, 4000
    ),
    "two related groups": Setting(
        Design(YES, [Group(YES.names[:3], related(0.85)), Group(YES.names[3:], related(0.8))]),
        np.array([0.6, 0.4]),
        TWO,
        4000,
    ),
    "three classes": Setting(
        Design(YES, [Group(YES.names[::2], related(0.9)), Group(YES.names[1::2], related(0.9))]),
        np.array([0.5, 0.3, 0.2]),
        THREE,
        10_000,
    ),
    "unrelated, several categories": Setting(
        Design(KINDS, [Group(KINDS.names, unrelated(0.6, ALIKE))]), np.array([0.6, 0.4]), MORE, 4000
    ),
}


@dataclass(frozen=True, eq=False)
class Recovery:
    """Estimates and standard errors of all runs, runs x shares and cells."""

    setting: Setting
    values: Array
    errors: Array
    converged: int

    def coverage(self, scale: float = 1.0) -> Array:
        """The share of runs whose 95 % interval has the truth; errors multiplied by `scale`."""
        gaps = np.abs(self.values - self.setting.truth)
        return np.asarray((gaps <= 1.959964 * scale * self.errors).mean(axis=0))

    def spread(self) -> Array:
        """Mean squared errors over the bound of the Fisher information."""
        squares = ((self.values - self.setting.truth) ** 2).mean(axis=0)
        return np.asarray(squares / self.setting.bound())

    def honesty(self) -> Array:
        """Root mean square of the standard errors over the spread of the estimates."""
        return np.asarray(np.sqrt((self.errors**2).mean(axis=0)) / self.values.std(axis=0))


def recover(setting: Setting, runs: int, seed: int) -> Recovery:
    """Fit so many surveys; classes are matched with the true ones."""
    values, errors, converged = [], [], 0
    for run in range(runs):
        reported = setting.reports(np.random.default_rng((seed, run)))
        model = LatentClass(setting.design, len(setting.prior), n_init=5).fit(reported)
        converged += model.fit_.convergence.converged
        names = setting.design.schema.names
        found = [model.shares(), *(model.profile(name) for name in names)]
        orders = map(list, itertools.permutations(range(len(setting.prior))))
        flat = [
            [np.concatenate([part[o].ravel() for part in parts]) for parts in (
                [f.value for f in found], [f.stderr for f in found]
            )]
            for o in orders
        ]  # fmt: skip
        best = min(flat, key=lambda pair: float(np.abs(pair[0] - setting.truth).sum()))
        values.append(best[0])
        errors.append(best[1])
    return Recovery(setting, np.array(values), np.array(errors), converged)


def chosen_numbers(setting: Setting, runs: int, seed: int) -> dict[str, list[int]]:
    """How many classes each criterion chooses, run by run."""
    found: dict[str, list[int]] = {name: [] for name in CRITERIA}
    for run in range(runs):
        reported = setting.reports(np.random.default_rng((seed, 1, run)))
        model = LatentClass(setting.design, n_init=5).fit(reported)
        for name in CRITERIA:
            found[name].append(best_number(model.selection_, name).n_classes)
    return found


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--runs", type=int, default=500)
    parser.add_argument("--choose", type=int, default=0)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--setting", choices=SETTINGS, action="append")
    given = parser.parse_args()
    for name in given.setting or SETTINGS:
        setting = SETTINGS[name]
        if given.runs:
            found = recover(setting, given.runs, given.seed)
            covered, spread, honest = found.coverage(), found.spread(), found.honesty()
            sys.stdout.write(
                f"{name}: {given.runs} runs of {setting.n} records, {found.converged} converged; "
                f"coverage {covered.mean():.3f} ({covered.min():.3f} to {covered.max():.3f}); "
                f"mean squared error over the bound {spread.mean():.3f} "
                f"({spread.min():.3f} to {spread.max():.3f}); stated error over spread "
                f"{honest.mean():.3f} ({honest.min():.3f} to {honest.max():.3f})\n"
            )
        if given.choose:
            for criterion, numbers in chosen_numbers(setting, given.choose, given.seed).items():
                counts = dict(zip(*map(list, np.unique(numbers, return_counts=True)), strict=True))
                sys.stdout.write(f"{name}: {criterion} chooses {counts}\n")


if __name__ == "__main__":
    main()
