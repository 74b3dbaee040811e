"""A small survey in two groups whose answers tell the class `ill`: true and reported records."""

from __future__ import annotations

from typing import Any

import numpy as np

from tacit import Attribute, Design, Group, Schema, disguise
from tacit.core.channel import related

SCHEMA = Schema(
    [
        Attribute("smokes", ["no", "yes"]),
        Attribute("ill", ["no", "yes"]),
        Attribute("region", ["north", "east", "south"]),
    ]
)
DESIGN = Design(SCHEMA, [Group(["ill", "smokes"], related(0.8)), Group(["region"], related(0.7))])
#: The columns beside the class.
OTHERS = [0, 2]


def true_records(n: int = 4000) -> Any:
    rng = np.random.default_rng(2)
    ill = rng.random(n) < 0.3
    smokes = rng.random(n) < np.where(ill, 0.8, 0.2)
    region = np.where(ill, rng.choice(3, n, p=[0.6, 0.3, 0.1]), rng.choice(3, n, p=[0.1, 0.3, 0.6]))
    return np.stack([smokes, ill, region], axis=1).astype(np.uint8)


REPORTED = disguise(true_records(), DESIGN, np.random.default_rng(3))
FEATURES = true_records()[:50, OTHERS]
