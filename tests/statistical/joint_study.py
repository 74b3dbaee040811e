"""Error rates and accuracy of Chow-Liu trees, with true records drawn anew in every run.

    python -m tests.statistical.joint_study null --runs 2000 --seed 1
    python -m tests.statistical.joint_study recovery --runs 100 --seed 1
    python -m tests.statistical.joint_study coverage --runs 500 --seed 1

`null` draws independent attributes and prints how often a tree has any edge. `recovery` draws
records from a known tree and prints how many of its edges are found. `coverage` prints how often
95 % intervals of queries cover the truth, and how often fidelity takes noise for misfit.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np

from tacit import (
    Attribute,
    Design,
    Group,
    Schema,
    disguise,
    matrix,
    related,
    truthful,
    uniform_perturbation,
    unrelated,
)
from tacit.core.arrays import Array, Codes
from tacit.core.channel import Coin
from tacit.mine import ChowLiuTree
from tacit.models.tree_distribution import ROOT, TreeDistribution

MakeCoin = Callable[[Sequence[Attribute]], Coin]

#: Half of a 95 % interval, in standard errors.
Z = 1.96
KEEP_SEVEN = [["0.7", "0.1"], ["0.2", "0.2"], ["0.1", "0.7"]]


def _unrelated(theta: float) -> MakeCoin:
    return lambda own: unrelated(theta, {a.name: [1 / a.size] * a.size for a in own})


@dataclass(frozen=True)
class NullSetting:
    """Independent attributes and how they are disguised.

    `rare` is the share of the last category of every attribute; random shares if it is None.
    """

    name: str
    sizes: tuple[int, ...]
    rare: float | None
    n_records: int
    groups: int
    coin: MakeCoin

    def design(self) -> Design:
        """The attributes in turn in each of the groups."""
        schema = schema_of(self.sizes)
        parts = [schema.attributes[g :: self.groups] for g in range(self.groups)]
        return Design(schema, [Group([a.name for a in own], self.coin(own)) for own in parts])

    def shares(self, rng: np.random.Generator) -> list[Array]:
        """The distribution of each attribute."""
        if self.rare is None:
            return [rng.dirichlet(np.full(k, 2.0)) for k in self.sizes]
        return [np.append(np.full(k - 1, (1 - self.rare) / (k - 1)), self.rare) for k in self.sizes]


def schema_of(sizes: Sequence[int]) -> Schema:
    """q0, q1, ... with categories c0, c1, ..."""
    return Schema([Attribute(f"q{i}", [f"c{j}" for j in range(k)]) for i, k in enumerate(sizes)])


SETTINGS = (
    NullSetting("truthful", (2,) * 10, None, 2000, 1, lambda _: truthful()),
    NullSetting("truthful, rare .01", (2,) * 10, 0.01, 2000, 1, lambda _: truthful()),
    NullSetting("truthful, rare .001", (2,) * 20, 0.001, 1000, 1, lambda _: truthful()),
    NullSetting("truthful, 2 to 6", (2, 3, 4, 5, 6, 2, 3, 4), None, 1000, 1, lambda _: truthful()),
    NullSetting("one related group, .7", (2,) * 10, None, 2000, 1, lambda _: related(0.7)),
    NullSetting("one related group, .55", (2,) * 10, None, 500, 1, lambda _: related(0.55)),
    NullSetting("three related groups, .8", (2,) * 10, 0.05, 2000, 3, lambda _: related(0.8)),
    NullSetting("related, 3 categories, .8", (3,) * 8, None, 2000, 2, lambda _: related(0.8)),
    NullSetting("unrelated, .5", (2, 3, 2, 4, 3, 2, 2, 3), None, 2000, 2, _unrelated(0.5)),
    NullSetting("MASK, .9", (2,) * 15, 0.02, 5000, 15, lambda _: related(0.9)),
    NullSetting("uniform, .4", (4, 3, 5, 2, 3), None, 1000, 5, lambda _: uniform_perturbation(0.4)),
    NullSetting("matrix 3 x 2", (2,) * 8, None, 1000, 8, lambda _: matrix(KEEP_SEVEN)),
)


def independent_records(setting: NullSetting, rng: np.random.Generator) -> Codes:
    """True records without any dependence."""
    columns = [rng.choice(len(p), setting.n_records, p=p) for p in setting.shares(rng)]
    return np.column_stack(columns).astype(np.uint8)


def n_edges(setting: NullSetting, seed: int, error: float = 0.05) -> int:
    """Edges of the tree of one survey of independent attributes; all of them are wrong."""
    rng = np.random.default_rng([14, seed])
    design = setting.design()
    reported = disguise(independent_records(setting, rng), design, rng)
    return len(ChowLiuTree(design, error).fit(reported).edges_)


def chain_of_six(strength: float) -> TreeDistribution:
    """Six yes/no attributes: a path of four, with two more attached to its second."""
    parents = (ROOT, 0, 1, 2, 1, 1)
    flip = np.array([[0.5 + strength, 0.5 - strength], [0.4 - strength / 2, 0.6 + strength / 2]])
    tables = [np.array([0.6, 0.4]) if p == ROOT else flip for p in parents]
    return TreeDistribution(parents, tuple(tables))


def found_edges(model: ChowLiuTree) -> set[tuple[str, str]]:
    """The edges of a tree."""
    return {(min(e.first[0], e.second[0]), max(e.first[0], e.second[0])) for e in model.edges_}


TRUE_EDGES = {("q0", "q1"), ("q1", "q2"), ("q2", "q3"), ("q1", "q4"), ("q1", "q5")}


def fitted(theta: float, groups: int, n: int, seed: int) -> ChowLiuTree:
    """The tree of records of the known tree, in related groups."""
    rng = np.random.default_rng([15, seed])
    schema = schema_of((2,) * 6)
    parts = [schema.names[g::groups] for g in range(groups)]
    design = Design(schema, [Group(part, related(theta)) for part in parts])
    true = chain_of_six(0.3).draws(n, rng).astype(np.uint8)
    return ChowLiuTree(design).fit(disguise(true, design, rng))


def null_rates(runs: int, seed: int) -> None:
    for setting in SETTINGS:
        wrong = [n_edges(setting, seed * 10**6 + run) > 0 for run in range(runs)]
        rate = float(np.mean(wrong))
        error = np.sqrt(rate * (1 - rate) / runs)
        sys.stdout.write(
            f"| {setting.name} | {setting.n_records:,} | {rate:.4f} +- {error:.4f} |\n"
        )
        sys.stdout.flush()


def recoveries(runs: int, seed: int) -> None:
    for groups in (1, 2, 6):
        for theta in (1.0, 0.9, 0.8, 0.7, 0.6):
            for n in (2_000, 20_000, 200_000):
                models = [fitted(theta, groups, n, seed * 10**6 + run) for run in range(runs)]
                edges = [found_edges(model) for model in models]
                right = np.mean([len(e & TRUE_EDGES) / len(TRUE_EDGES) for e in edges])
                wrong = np.mean([len(e - TRUE_EDGES) for e in edges])
                whole = np.mean([e == TRUE_EDGES for e in edges])
                sys.stdout.write(
                    f"| {groups} | {theta} | {n:,} | {right:.3f} | {wrong:.3f} | {whole:.2f} |\n"
                )
                sys.stdout.flush()


@dataclass(frozen=True)
class Query:
    """An event of the known tree, with a condition or without."""

    event: dict[str, str]
    given: dict[str, str] | None

    def truth(self) -> float:
        """Its probability, from the joint table."""
        joint = chain_of_six(0.3).joint()

        def chance(event: dict[str, str]) -> float:
            place: list[slice | int] = [slice(None)] * joint.ndim
            for name, label in event.items():
                place[int(name[1:])] = int(label[1:])
            return float(joint[tuple(place)].sum())

        given = self.given or {}
        return chance({**self.event, **given}) / (chance(given) if given else 1.0)


QUERIES = (
    Query({"q0": "c1"}, None),
    Query({"q0": "c0", "q1": "c0"}, None),
    Query({"q0": "c1", "q3": "c1"}, None),
    Query({"q0": "c1", "q3": "c0", "q4": "c1"}, None),
    Query({"q3": "c1"}, {"q0": "c1"}),
    Query({"q5": "c0", "q2": "c1"}, {"q4": "c0", "q3": "c1"}),
    Query({f"q{i}": "c0" for i in range(6)}, None),
)


def scores(theta: float, groups: int, n: int, seed: int) -> Array | None:
    """Errors of the queries in standard errors; None if the tree was not recovered."""
    model = fitted(theta, groups, n, seed)
    if found_edges(model) != TRUE_EDGES:
        return None
    found = [model.probability(q.event, q.given) for q in QUERIES]
    truths = [q.truth() for q in QUERIES]
    return np.array([(float(e) - t) / float(e.stderr) for e, t in zip(found, truths, strict=True)])


def coverages(runs: int, seed: int) -> None:
    settings = ((1.0, 1, 5_000), (0.8, 1, 20_000), (0.8, 3, 50_000), (0.7, 2, 200_000))
    for theta, groups, n in settings:
        seeds = [seed * 10**6 + run for run in range(runs)]
        found = [c for s in seeds if (c := scores(theta, groups, n, s)) is not None]
        false = [fitted(theta, groups, n, s).fidelity() for s in seeds[: runs // 5]]
        alarms = [np.mean([len(f.differ(k)) > 0 for f in false]) for k in (2, 3)]
        covered = (np.abs(found) <= Z).mean(axis=0)
        rates = ", ".join(f"{rate:.3f}" for rate in covered)
        rare = " and ".join(f"{rate:.3f}" for rate in alarms)
        sys.stdout.write(f"| {theta} | {groups} | {n:,} | {len(found)} | {rates} | {rare} |\n")
        sys.stdout.flush()


PARTS = {"null": null_rates, "recovery": recoveries, "coverage": coverages}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("part", choices=PARTS)
    parser.add_argument("--runs", type=int, default=2000)
    parser.add_argument("--seed", type=int, default=1)
    chosen = parser.parse_args()
    PARTS[chosen.part](chosen.runs, chosen.seed)


if __name__ == "__main__":
    main()
