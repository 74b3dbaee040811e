"""Coverage and sizes of tests in stratified, clustered and weighted samples, by simulation.

python -m tests.statistical.sample_study --runs 4000 --seed 1 [--part shares|models|tests|finite]

Four strata of unequal size, 15 clusters of 20 people each; the share of "yes" differs between
clusters, and people with a small chance to be drawn answer otherwise. Beside each estimate, from a
quarter of the samples, the control: it takes the records for a simple random sample of weighted
people.

shares: P(a0 = c1), P(a0 = c1 | a1 = c2) and its difference from the group a1 = c0
models: coefficients of a logit, and accuracy of a classifier
tests:  how often independence is rejected when it holds (5 %)
finite: all people of 15 of the 20 clusters of each stratum; truth is the share in this population
"""

from __future__ import annotations

import sys
from collections.abc import Iterator
from dataclasses import replace
from functools import partial
from typing import Any, NamedTuple

import numpy as np

from tacit import Design, Group
from tacit.core.arrays import Array, Codes
from tacit.core.channel import related, truthful
from tacit.core.disguise import disguise
from tacit.evaluate import accuracy
from tacit.reconstruction import (
    Estimate,
    likelihood_ratio,
    pearson,
    reconstruct,
    wald,
)
from tacit.reconstruction.comparisons import GroupShares
from tacit.reconstruction.interval import Interval, ScoreTest, score_interval
from tacit.reconstruction.sampling import bootstrap, jackknife, linearised
from tacit.regression import logit
from tests.statistical.inference_study import BOTH, DESIGNS, SCHEMA, Best, run_parts

LEVEL, ALPHA = 0.95, 0.05
SIZES = np.array([0.4, 0.3, 0.2, 0.1])
SHARES = np.array([0.25, 0.3, 0.4, 0.5])
CLUSTERS, PEOPLE = 15, 20
#: Kinds of people: their chance to be drawn is 1 / kind, their share of "yes" differs by these.
KINDS, KIND_EFFECT = np.array([1, 2, 3]), np.array([-0.04, 0.0, 0.04])
CLUSTER_EFFECT = 0.2
#: P(a1 | a0).
GIVEN = np.array([[0.5, 0.3, 0.2], [0.2, 0.3, 0.5]])
ALONE = np.array([0.4, 0.3, 0.3])
PAIR: Any = ({"a1": "c2"}, {"a1": "c0"})
YES = {"a0": "c1"}
METHODS: Any = {"linearised": linearised, "jackknife": jackknife, "bootstrap": bootstrap(200)}


class Sample(NamedTuple):
    """True codes of the people drawn, and how they were drawn."""

    codes: Codes
    weights: Array
    strata: Any
    clusters: Any

    def arguments(self, clustered: bool = True) -> Any:
        if not clustered:
            return {"weights": self.weights}
        return {"weights": self.weights, "strata": self.strata, "clusters": self.clusters}


def show(line: str) -> None:
    sys.stdout.write(line + "\n")
    sys.stdout.flush()


def drawn(rng: Any, given: Array = GIVEN) -> Sample:
    """A sample of 4 x 15 x 20 people."""
    n = len(SIZES) * CLUSTERS * PEOPLE
    cluster = np.arange(n) // PEOPLE
    stratum = cluster // CLUSTERS
    kind = rng.choice(3, n, p=(1 / KINDS) / (1 / KINDS).sum())
    effect = rng.uniform(-CLUSTER_EFFECT, CLUSTER_EFFECT, len(SIZES) * CLUSTERS)
    yes = rng.random(n) < SHARES[stratum] + effect[cluster] + KIND_EFFECT[kind]
    other = (rng.random(n)[:, None] > given.cumsum(axis=1)[yes.astype(int)]).sum(axis=1)
    codes = np.stack([yes, np.minimum(other, 2)], axis=1).astype(np.uint8)
    weights = SIZES[stratum] * KINDS[kind]
    return Sample(codes, weights, stratum, cluster)


def true_table(given: Array = GIVEN) -> Array:
    """The joint distribution in the population: kinds are equally frequent."""
    yes = float(SIZES @ SHARES + KIND_EFFECT.mean())
    return np.array([1 - yes, yes])[:, None] * given


def surveys(
    design: Design, runs: int, rng: Any, given: Array = GIVEN
) -> Iterator[tuple[Codes, Sample]]:
    """Samples, with what their people report."""
    for _ in range(runs):
        sample = drawn(rng, given)
        yield disguise(sample.codes, design, rng), sample


def rate(found: Interval, truth: float) -> float:
    """How many of the intervals have the truth."""
    near = 1e-9
    return float(np.mean((found.lower <= truth + near) & (truth - near <= found.upper)))


def intervals(estimates: list[Estimate]) -> Interval:
    """The intervals of many probabilities at once."""
    scores = [e.score for e in estimates if e.score is not None]
    center = np.array([s.center for s in scores])
    n = np.array([np.broadcast_to(s.n_records, s.center.shape) for s in scores])
    noise, skew = (np.stack([getattr(s, k) for s in scores], axis=1) for k in ("noise", "skew"))
    return score_interval(ScoreTest(center, noise, skew, n), LEVEL, estimates[0].df)


def differences(found: list[GroupShares], limits: Interval) -> Interval:
    """The intervals of differences, from those of the shares of both groups."""
    pairs = zip(found, limits.lower, limits.upper, strict=True)
    known = [
        replace(own, shares=replace(own.shares, interval_of=partial(_same, Interval(low, up))))
        for own, low, up in pairs
    ]
    each = [own.difference().interval(LEVEL) for own in known]
    return Interval(np.array([e.lower for e in each]), np.array([e.upper for e in each]))


def _same(limits: Interval, level: float) -> Interval:
    return limits


def shares(runs: int, rng: Any) -> None:
    """A share, a share in a group, and the difference of two groups."""
    table = true_table()
    within = table[1] / table.sum(axis=0)
    for name, design in DESIGNS.items():
        more = [k for k in METHODS if k != "linearised"] if name == "mixed" else []
        found: dict[str, list[tuple[Estimate, GroupShares]]] = {}
        for place, (reported, sample) in enumerate(surveys(design, runs, rng)):
            for kind in ["linearised"] if place >= runs / 4 else ["linearised", "control", *more]:
                how = sample.arguments(kind != "control")
                how["errors"] = METHODS.get(kind, linearised)
                rec = reconstruct(reported, design, **how)
                pair = rec.probability(YES), rec._compared(YES, PAIR)
                found.setdefault(kind, []).append(pair)
        for kind, own in found.items():
            single, groups = [e for e, _ in own], [g for _, g in own]
            limits = intervals([g.shares for g in groups])
            rates = {
                "share": rate(intervals(single), float(table[1].sum())),
                "given": rate(Interval(limits.lower[:, 0], limits.upper[:, 0]), within[2]),
                "difference": rate(differences(groups, limits), within[2] - within[0]),
            }
            shown = " ".join(f"{t} {own:.4f}" for t, own in rates.items())
            effect = np.mean([float(e.design_effect) for e in single])
            show(
                f"shares  {name:20} {kind:10} {shown} design effect {effect:.2f} runs {len(single)}"
            )


def models(runs: int, rng: Any) -> None:
    """Coefficients of a logit of a0 on a1 = c2 and a1 = c1, and accuracy."""
    table = true_table()
    odds = np.log(table[1] / table[0])
    truths = np.array([odds[0], odds[1] - odds[0], odds[2] - odds[0]])
    model = Best(np.array([[1.0, 1, 0], [0, 0, 1]]))
    right = table[0, :2].sum() + table[1, 2]
    for name in ("truthful groups", "truthful"):
        design, hits = DESIGNS[name], {True: np.zeros(4), False: np.zeros(4)}
        for place, (reported, sample) in enumerate(surveys(design, runs, rng)):
            x = np.stack([np.ones(len(reported)), reported[:, 1] == 1, reported[:, 1] == 2], axis=1)
            for clustered in (True, False) if place < runs / 4 else (True,):
                how = sample.arguments(clustered)
                fit = logit("a0", reported, design, covariates=x, **how)
                low, up = fit.conf_int().T
                hits[clustered][:3] += (low <= truths) & (truths <= up)
                low, up = accuracy(model, reported, design, "a0", **how).interval()
                hits[clustered][3] += bool(low <= right <= up)
        for clustered, own in hits.items():
            kind = "linearised" if clustered else "control"
            shown = np.round(own / (runs if clustered else np.ceil(runs / 4)), 4)
            show(f"models  {name:20} {kind:10} logit {shown[:3].tolist()} accuracy {shown[3]}")


def tests(runs: int, rng: Any) -> None:
    """The size of tests of independence of a0 and a1, where a1 differs between clusters too."""
    alone = np.stack([ALONE, ALONE])
    for name, design in DESIGNS.items():
        rejected: dict[str, list[bool]] = {}
        for place, (reported, sample) in enumerate(surveys(design, runs, rng, alone)):
            for clustered in (True, False) if place < runs / 4 else (True,):
                rec = reconstruct(reported, design, **sample.arguments(clustered))
                for method in (wald, pearson, likelihood_ratio) if clustered else (wald,):
                    kind = method.__name__ if clustered else "control"
                    test = rec.goodness_of_fit(["a0"], true_table(alone).sum(axis=1), method=method)
                    rejected.setdefault(f"{kind} fit", []).append(test.pvalue < ALPHA)
                    both = rec.independence(BOTH, method=method)
                    rejected.setdefault(f"{kind} independence", []).append(both.pvalue < ALPHA)
        for kind, own in rejected.items():
            show(f"tests   {name:20} {kind:31} size {np.mean(own):.4f}")


def finite(runs: int, rng: Any) -> None:
    """Whole clusters of a finite population; the control takes 1 - f from the noise as well."""
    n, per = 4 * 20 * PEOPLE, 20
    cluster = np.arange(n) // PEOPLE
    stratum = cluster // per
    effect = rng.uniform(-0.15, 0.15, 4 * per)
    codes = np.stack([rng.random(n) < SHARES[stratum] + effect[cluster], np.zeros(n)], axis=1)
    codes = codes.astype(np.uint8)
    design = Design(SCHEMA, [Group(["a0"], related("0.8")), Group(["a1"], truthful())])
    truth, found, naive = float(codes[:, 0].mean()), [], []
    for _ in range(runs):
        kept = np.concatenate([h * per + rng.permutation(per)[:CLUSTERS] for h in range(4)])
        chosen = np.isin(cluster, kept)
        own = disguise(codes[chosen], design, rng)
        rec = reconstruct(own, design, strata=stratum[chosen], clusters=cluster[chosen], fpc=per)
        found.append(rec.probability(YES))
        plain = reconstruct(own, design, strata=stratum[chosen], clusters=cluster[chosen])
        spread = plain.probability(YES).covariance * (1 - CLUSTERS / per)
        simple = plain.probability(YES).simple
        assert simple is not None
        naive.append(simple.of_sample(spread, plain.probability(YES).df))
    for kind, own in (("corrected", found), ("control", naive)):
        show(f"finite  related .8           {kind:10} share {rate(intervals(own), truth):.4f}")


PARTS = {"shares": shares, "models": models, "tests": tests, "finite": finite}


if __name__ == "__main__":
    run_parts(PARTS)
