"""A small survey with columns that are not disguised."""

from __future__ import annotations

from functools import cache

import numpy as np
import pandas as pd

from tacit import Attribute, Design, Group, Schema, disguise, matrix, related, uniform_perturbation
from tacit.core.label_codes import decode

SCHEMA = Schema(
    [
        Attribute("smokes", ["no", "yes"]),
        Attribute("income", ["low", "mid", "high"]),
        Attribute("drinks", ["no", "yes"]),
    ]
)
#: The reports of the last group are more than its true answers.
REGIONS = Design(
    SCHEMA,
    [
        Group(["smokes"], related("0.8")),
        Group(["income"], uniform_perturbation("0.6")),
        Group(["drinks"], matrix([["3/5", "1/5"], ["1/5", "3/5"], ["1/5", "1/5"]])),
    ],
)


@cache
def regional(n: int = 3000, seed: int = 16) -> pd.DataFrame:
    """Reported records with a region, a year and a weight; smoking depends on the region."""
    rng = np.random.default_rng(seed)
    place = rng.integers(0, 3, n)
    smokes = rng.random(n) < np.array([0.2, 0.45, 0.25])[place]
    true = np.column_stack([smokes, rng.integers(0, 3, n), rng.random(n) < 0.4])
    found = decode(disguise(true.astype(np.uint8), REGIONS, rng), REGIONS.reported, "pandas")
    found["region"] = np.array(["east", "north", "south"])[place]
    found["year"] = rng.integers(2008, 2012, n)
    found["urban"] = rng.random(n) < 0.5
    return found
