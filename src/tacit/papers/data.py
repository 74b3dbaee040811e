"""Adult and Wisconsin as the papers used them: yes/no, the class last, split 80/20."""

from __future__ import annotations

from functools import cache

from tacit.core.arrays import Codes
from tacit.core.schema import Schema
from tacit.datasets import adult_binary, wisconsin_binary
from tacit.errors import DataError, unknown

#: "We used first 10,000 instances" (Du & Zhan, section 5).
FIRST = 10_000
#: The share of training records (Zhan & Matwin, section 5).
SHARE = 0.8
#: The attribute to predict.
TARGETS = {"adult": "income", "wisconsin": "class"}


@cache
def binary(name: str) -> tuple[Codes, Schema]:
    """Codes and schema of a data set."""
    match name:
        case "adult":
            return adult_binary()
        case "wisconsin":
            return wisconsin_binary()
        case _:
            raise DataError(unknown("data set", name, tuple(TARGETS)))


def first_records() -> tuple[Codes, Schema]:
    """The first 10,000 records of Adult."""
    codes, schema = binary("adult")
    return codes[:FIRST], schema


def divided() -> tuple[Codes, Codes]:
    """The first 8,000 records of Adult for training, and the next 2,000 for tests.

    Du & Zhan divide the records once, before anything is repeated, and do not say how.
    """
    codes, _ = first_records()
    size = round(SHARE * len(codes))
    return codes[:size], codes[size:]


def commonest(codes: Codes) -> float:
    """The share of the commoner class."""
    share = float(codes[:, -1].mean())
    return max(share, 1 - share)
