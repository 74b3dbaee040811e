"""A study of a sample with missing answers, the same wherever the records are counted."""

from __future__ import annotations

from functools import cache
from typing import Any

import numpy as np
import pyarrow as pa

from tacit import reconstruct
from tacit.evaluate import accuracy
from tacit.regression import linear, logit
from tests.support.engines import BINARY, Put, records_of, with_nulls

HOW: Any = {"weights": "w", "strata": "stratum", "clusters": "village"}
YES = {"q0": "yes"}
GROUPS: Any = ({"region": "north"}, {"region": "south"})


class Guess:
    """The second answer is that of the first question."""

    def predict(self, codes: Any) -> Any:
        return codes[:, 1]


@cache
def sampled_people() -> pa.Table:
    """Reported records with weights, strata, clusters, a region and an age; some did not answer."""
    n, rng = 900, np.random.default_rng(16)
    reported = with_nulls(records_of(BINARY, n), "q0", [0, 7, 50, 899])
    village = np.arange(n) // 30
    return (
        with_nulls(reported, "q3", [3])
        .append_column("w", pa.array(rng.integers(1, 4, n) / 2))
        .append_column("stratum", pa.array(np.where(village < 15, "hills", "coast")))
        .append_column("village", pa.array(village))
        .append_column("region", pa.array(np.where(rng.random(n) < 0.5, "north", "south")))
        .append_column("age", pa.array(rng.integers(18, 40, n)))
    )


def figures_of(records: Any) -> dict[str, Any]:
    """What the study finds: numbers with their errors."""
    rec = reconstruct(records, BINARY, columns=["region"], **HOW)
    weighted = logit("q0 ~ age + q3", records, BINARY, **HOW)
    line = linear("age ~ q0", records, BINARY)
    estimates = [
        rec.probability(YES),
        rec.table(["q0"], given=["region"]),
        rec.difference(YES, between=GROUPS),
        rec.table(["q0", "q3"]),
        accuracy(Guess(), records, BINARY, "q0", **HOW),
    ]
    return {
        "value": np.concatenate([each.value.ravel() for each in estimates]),
        "stderr": np.concatenate([each.stderr.ravel() for each in estimates]),
        "left out": [each.n_left_out for each in estimates],
        "bounds": list(rec.bounds(YES).interval()),
        "independence": rec.independence(["q0", "q3"]).pvalue,
        "homogeneity": rec.homogeneity(["q0"], across=["region"]).pvalue,
        "params": np.concatenate([weighted.params, line.params]),
        "bse": np.concatenate([weighted.bse, line.bse]),
        "used": [weighted.nobs, line.nobs],
    }


@cache
def expected_figures() -> dict[str, Any]:
    return figures_of(sampled_people())


def same_study_of_a_sample(put: Put) -> None:
    """Weights, missing answers, undisguised groups, tests and regressions from counts."""
    found = figures_of(put(sampled_people()))
    assert found["left out"] == [4, 4, 4, 5, 5]
    for name, own in expected_figures().items():
        np.testing.assert_allclose(found[name], own, rtol=1e-6, atol=1e-9, err_msg=name)
