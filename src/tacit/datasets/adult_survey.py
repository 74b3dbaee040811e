"""A survey simulated on Adult: five questions to the same people, asked in two groups."""

from __future__ import annotations

from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from tacit.attribute import Attribute
from tacit.channel import related, unrelated
from tacit.datasets.adult import load_adult
from tacit.design import Design, Group
from tacit.schema import Schema

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
    records = pa.table(
        {
            "income": adult["income"],
            "sex": adult["sex"],
            "age": adult["age"],
            "marital": _renamed(adult["marital-status"], MARITAL),
            "hours": adult["hours-per-week"],
        }
    )
    return records, Design(SCHEMA, [_income(), _others()])


def _income() -> Group:
    return Group(["income"], related(theta="3/4"))


def _others() -> Group:
    others = [attribute for attribute in SCHEMA if attribute.name != "income"]
    alike = {a.name: [f"1/{a.size}"] * a.size for a in others}
    return Group([a.name for a in others], unrelated(theta="1/3", personal=alike))


def _renamed(column: Any, names: dict[str, str]) -> Any:
    places = pc.index_in(column, value_set=pa.array(list(names)))
    return pa.chunked_array([pa.array(list(names.values())).take(chunk) for chunk in places.chunks])
