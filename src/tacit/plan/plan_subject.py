"""What a plan is about: a design, a survey, a file, a coin, or a family with an open parameter."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np

from tacit.core.channel import FAMILIES, Coin
from tacit.core.channel.coin import is_pair
from tacit.core.design import Design, Group
from tacit.core.schema import Attribute, Schema
from tacit.errors import DataError, DesignError
from tacit.plan.coin_family import OPTIMAL

#: The attribute of a plan that is made for a coin or a family alone.
ANSWER = "answer"


def design_of(subject: Any) -> Design | None:
    """The design of a subject that has one: a design, a survey, a file or a chosen channel."""
    if isinstance(subject, Design):
        return subject
    if isinstance(subject, Path) or (isinstance(subject, str) and not _is_family(subject)):
        return _read(Path(subject))
    survey = getattr(subject, "survey", subject)
    found = getattr(survey, "design", None)
    found = found() if callable(found) else found
    return found if isinstance(found, Design) else None


def _is_family(name: str) -> bool:
    return name in FAMILIES or name == OPTIMAL


def _read(path: Path) -> Design:
    from tacit.records import read_design
    from tacit.survey import read_survey

    if path.suffix.lower() in (".yaml", ".yml"):
        return read_survey(path).design
    if path.suffix.lower() == ".json":
        return read_design(path)
    raise DesignError(
        f"{str(path)!r} is neither a family ({', '.join([*FAMILIES, OPTIMAL])}) nor a file with a "
        "survey or a design (.yaml, .yml, .json)"
    )


def number_of_categories(subject: Any, prevalence: Any, categories: int | None) -> int:
    """The number of categories: as given, that of the distribution, or that of the coin; else 2."""
    if categories is not None:
        if type(categories) is not int or categories < 2:
            raise DataError(f"categories must be a whole number from 2, got {categories!r}")
        return categories
    if np.ndim(prevalence) == 1:
        return len(prevalence)
    fields = ("personal", "forced", "columns")
    known = next((getattr(subject, name) for name in fields if hasattr(subject, name)), ())
    return max(2, len(known)) if not known or not is_pair(known[0]) else 2


def one_question(coin: Coin, size: int) -> Design:
    """A design of one question."""
    return Design(Schema([Attribute(ANSWER, labels_of(size))]), [Group([ANSWER], coin)])


def labels_of(size: int) -> list[str]:
    """Labels of the categories of a question that is not written yet."""
    return ["no", "yes"] if size == 2 else [f"c{i + 1}" for i in range(size)]
