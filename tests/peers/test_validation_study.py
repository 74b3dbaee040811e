"""A validation study in which each person's truth is known: the table of docs/choosing.md.

Höglinger & Jann (2018): 6,152 people were asked whether they had cheated in a dice game, directly
or by one of three families; who cheated was observed. The data are not part of the project.
"""

from __future__ import annotations

from fractions import Fraction
from pathlib import Path

import pandas as pd
import pytest

from tacit import Attribute, Design, Group, Schema, crosswise, forced, truthful, unrelated
from tacit.compliance import pool
from tacit.core.channel import Coin

DATA = Path(__file__).resolve().parents[3] / "shared/data/sensitive/mturk.csv.gz"
pytestmark = pytest.mark.skipif(not DATA.exists(), reason="the data of the study are not here")


def _coin(asked_by: str, first: float, second: float) -> Coin:
    p, share = Fraction(str(first)), Fraction(str(second)).limit_denominator(1000)
    match asked_by:
        case "Crosswise":
            return crosswise(p)
        case "UQM":
            return unrelated(p, [1 - share, share])
        case "Forced":
            return forced(p, [1 - share, share])
    return truthful()


def _estimate(asked_by: str, people: str) -> tuple[float, float]:
    study = pd.read_csv(DATA)
    study = study[(study.Question == "cheating dice game") & (study.RRmodel == asked_by)]
    validated = study[study.cheater.isin(["honest", "cheater"] if people == "all" else [people])]
    schema = Schema([Attribute("cheated", ["no", "yes"])])
    samples = [
        (
            sample.RR_response.to_numpy()[:, None],
            Design(schema, [Group(["cheated"], _coin(asked_by, *devices))]),
        )
        for devices, sample in validated.groupby(["RRp1", "RRp2"])
    ]
    pooled = pool(samples)
    return float(pooled.value[1]), float(pooled.stderr[1])


@pytest.mark.parametrize(
    ("asked_by", "people", "share", "error"),
    [
        ("DQ", "all", 0.039, 0.010),
        ("UQM", "all", 0.054, 0.017),
        ("Crosswise", "all", 0.140, 0.020),
        ("Crosswise", "honest", 0.114, 0.020),
        ("Crosswise", "cheater", 0.538, 0.093),
    ],
)
def test_the_shares_in_the_docs_are_those_of_the_study(
    asked_by: str, people: str, share: float, error: float
) -> None:
    value, stderr = _estimate(asked_by, people)
    assert (round(value, 3), round(stderr, 3)) == (share, error)
