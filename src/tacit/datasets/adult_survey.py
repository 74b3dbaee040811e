"""A survey simulated on Adult: five questions to the same people, asked in two groups."""

from __future__ import annotations

from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from tacit.core.channel import related, unrelated
from tacit.core.design import Design, Group
from tacit.core.schema import Attribute, Schema
from tacit.datasets.uci_tables import load_adult

MARITAL = {
    "Never-married": "single",
    "Married-civ-spouse": "married",
    "Married-AF-spouse": "married",
    "Married-spouse-absent": "married",
    "Divorced": "formerly",
    "Separated": "formerly",
    "Widowed": "formerly",
}
SCHEMA = Schema(
    [
        Attribute("income", ["<=50K", ">50K"]),
        Attribute("sex", ["Female", "Male"]),
        Attribute("age", ["up to 30", "31 to 45", "over 45"], edges=[30, 45]),
        Attribute("marital", ["single", "married", "formerly"]),
        Attribute("hours", ["under 40", "40 hours", "over 40"], edges=[39, 40]),
    ]
)


def adult_survey() -> tuple[Any, Design]:
    """True records of five questions, and a design that asks them.

    Income has a coin of its own: the truth with probability 3/4, else the opposite. The other
    four share one: all true with probability 1/3, else each drawn uniformly from its categories.
    """
    adult = load_adult()
    married = pc.index_in(adult["marital-status"], value_set=pa.array(list(MARITAL)))
    records = pa.table(
        {
            "income": adult["income"],
            "sex": adult["sex"],
            "age": adult["age"],
            "marital": pa.array(list(MARITAL.values())).take(married.combine_chunks()),
            "hours": adult["hours-per-week"],
        }
    )
    others = [attribute for attribute in SCHEMA if attribute.name != "income"]
    alike = {a.name: [f"1/{a.size}"] * a.size for a in others}
    groups = [
        Group(["income"], related(theta="3/4")),
        Group(list(alike), unrelated(theta="1/3", personal=alike)),
    ]
    return records, Design(SCHEMA, groups)
