"""A logit on a disguised outcome against statsmodels' GLM on the undisguised one."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import pandas as pd
import statsmodels.api as sm
import statsmodels.formula.api as smf

from benchmarks.measure import Row, best
from tacit import Attribute, Design, Group, Schema, disguise, related
from tacit.regression import logit

RECORDS, LIMIT = 10**6, 3.0
FORMULA = "age + income + hours + C(region) + C(job) + C(sex)"


def rows() -> Iterator[Row]:
    """CPU time with formula and standard errors, in the same run, as a ratio."""
    true = _people()
    design = Design(Schema([Attribute("smokes", ["no", "yes"])]), [Group(["smokes"], related(0.8))])
    rng = np.random.default_rng(32)
    reported = disguise(true[["smokes"]], design, rng)
    data = true.assign(smokes=reported["smokes"])
    known = true.assign(smokes=(true["smokes"] == "yes").astype(float))
    family = sm.families.Binomial()
    peer = smf.glm(f"smokes ~ {FORMULA}", known, family=family).fit()
    found = logit(f"smokes ~ {FORMULA}", data, design)
    off = abs(found.params["age"] - peer.params["age"]) / found.bse["age"]
    assert off < 5, f"the coefficients must agree, they are {off:.1f} standard errors apart"
    own = best(lambda: logit(f"smokes ~ {FORMULA}", data, design), 2)
    theirs = best(lambda: smf.glm(f"smokes ~ {FORMULA}", known, family=family).fit(), 2)
    yield Row(
        "logit of a disguised outcome, 10^6 records, 3 numbers and 3 categories, against "
        "statsmodels' GLM on the true outcome",
        own / theirs,
        LIMIT,
        "times its CPU time",
        f"{own:.2f} s of CPU against {theirs:.2f} s, formula and standard errors included",
        at_most=True,
    )


def _people() -> pd.DataFrame:
    rng = np.random.default_rng(31)
    age, income, hours = rng.normal(size=(3, RECORDS))
    region, job = rng.choice(4, RECORDS), rng.choice(5, RECORDS)
    woman = rng.choice(2, RECORDS)
    eta = -0.5 + 0.4 * age - 0.3 * income + 0.1 * hours + 0.2 * (region == 1) - 0.3 * woman
    smokes = rng.random(RECORDS) < 1 / (1 + np.exp(-eta - 0.1 * job))
    labels = np.array(["no", "yes"])
    return pd.DataFrame(
        {
            "smokes": labels[smokes.astype(int)],
            "age": age,
            "income": income,
            "hours": hours,
            "region": np.array(["north", "east", "south", "west"])[region],
            "job": np.array(["none", "office", "craft", "trade", "care"])[job],
            "sex": np.array(["man", "woman"])[woman],
        }
    )
