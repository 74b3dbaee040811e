"""Designs and records that tests of regressions share."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd

from tacit import (
    Attribute,
    Design,
    Group,
    Schema,
    disguise,
    forced,
    matrix,
    related,
    truthful,
    uniform_perturbation,
)

SCHEMA = Schema([Attribute("smokes", ["no", "yes"]), Attribute("income", ["low", "mid", "high"])])
#: More reports than true answers.
UNSURE = [["3/5", "1/5"], ["1/5", "3/5"], ["1/5", "1/5"]]

DESIGNS = {
    "truthful": Design(SCHEMA, [Group(["smokes", "income"], truthful())]),
    "one group": Design(SCHEMA, [Group(["smokes", "income"], related("0.85"))]),
    "two groups": Design(
        SCHEMA,
        [
            Group(["smokes"], forced("2/3", ["1/2", "1/2"])),
            Group(["income"], uniform_perturbation("0.7")),
        ],
    ),
    "mixed": Design(SCHEMA, [Group(["smokes"], matrix(UNSURE)), Group(["income"], truthful())]),
}
EXACT = DESIGNS["truthful"]


def people(n: int, seed: int = 5) -> pd.DataFrame:
    """True records: smoking depends on age, region and income; a wage on income and age."""
    rng = np.random.default_rng(seed)
    age = rng.normal(size=n)
    region = rng.choice(list("abc"), n)
    income = rng.choice(3, n, p=[0.3, 0.4, 0.3])
    eta = -0.4 + 0.8 * age - 0.6 * (region == "b") + np.array([0.0, 0.5, -0.7])[income]
    smokes = rng.random(n) < 1 / (1 + np.exp(-eta))
    health = np.digitize(0.7 * age + 0.5 * (region == "c") + rng.logistic(size=n), [-0.5, 1.0])
    return pd.DataFrame(
        {
            "smokes": np.where(smokes, "yes", "no"),
            "income": np.array(["low", "mid", "high"])[income],
            "age": age,
            "region": region,
            "wage": 2 + 0.5 * age + np.array([0.0, 1.0, 2.0])[income] + rng.normal(size=n),
            "health": health,
        }
    )


def reported(true: pd.DataFrame, design: Design, seed: int = 6) -> Any:
    """The same people with disguised answers; other columns stay."""
    own = disguise(true, design, np.random.default_rng(seed))
    return pd.concat([own, true.drop(columns=list(SCHEMA.names))], axis=1)
