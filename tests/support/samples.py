"""Stratified, clustered and weighted samples, and their errors by plain loops."""

from __future__ import annotations

from typing import Any

import numpy as np
import polars as pl

from tacit import Attribute, Design, Group, Schema, related, truthful
from tacit.core.arrays import Array
from tacit.core.disguise import disguise

SCHEMA = Schema([Attribute("smokes", ["no", "yes"]), Attribute("income", ["low", "mid", "high"])])
PLAIN = Design(SCHEMA, [Group(["smokes", "income"], truthful())])
DISGUISED = Design(SCHEMA, [Group(["smokes"], related("0.8")), Group(["income"], truthful())])
HOW: Any = {"weights": "w", "strata": "region", "clusters": "village"}


def sample(design: Design, seed: int = 1, n: int = 400) -> Any:
    """People of 3 regions with 6 villages each; answers and weights depend on both."""
    rng = np.random.default_rng(seed)
    region, village = rng.integers(0, 3, n), rng.integers(0, 6, n)
    smokes = rng.random(n) < 0.15 + 0.1 * region + 0.05 * village
    income = (rng.random(n) * (2.5 + 0.5 * smokes)).astype(int)
    labels = {
        "smokes": np.where(smokes, "yes", "no"),
        "income": np.array(["low", "mid", "high"])[income],
    }
    reported = disguise(pl.DataFrame(labels), design, rng)
    return reported.with_columns(
        w=pl.Series(1 + region + rng.integers(0, 3, n)),
        region=pl.Series(np.array(["north", "south", "west"])[region]),
        village=pl.Series(village),
    )


def units_of(frame: Any, clustered: bool = True) -> tuple[list[Any], list[Any]]:
    """The stratum and the sampling unit of each record."""
    strata = frame["region"].to_list()
    inside = frame["village"].to_list() if clustered else list(range(len(frame)))
    return strata, list(zip(strata, inside, strict=True))


def linearised_variance(values: Array, weights: Array, strata: Any, units: Any, f: Any) -> float:
    """The variance of the weighted mean of values, stratum by stratum and unit by unit."""
    mean = float(weights @ values / weights.sum())
    total = 0.0
    for stratum in sorted(set(strata)):
        sums: dict[Any, float] = {}
        for value, weight, own, unit in zip(values, weights, strata, units, strict=True):
            if own == stratum:
                sums[unit] = sums.get(unit, 0.0) + weight * (value - mean)
        each = np.array(list(sums.values()))
        n = len(each)
        total += (1 - f.get(stratum, 0)) * n / (n - 1) * float(((each - each.mean()) ** 2).sum())
    return total / float(weights.sum()) ** 2


def jackknife_variance(values: Array, weights: Array, strata: Any, units: Any) -> float:
    """The same by leaving out every unit and estimating again."""
    mean = float(weights @ values / weights.sum())
    total = 0.0
    for unit in set(units):
        stratum = next(s for s, u in zip(strata, units, strict=True) if u == unit)
        own = np.array([s == stratum for s in strata])
        n = len({u for s, u in zip(strata, units, strict=True) if s == stratum})
        kept = np.where(own, weights * n / (n - 1), weights)
        kept = np.where(np.array([u == unit for u in units]), 0.0, kept)
        total += (n - 1) / n * (float(kept @ values / kept.sum()) - mean) ** 2
    return total
