"""Layout: questions in groups, for each step of a family's parameter."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

import numpy as np

from tacit.core.channel import Coin, truthful
from tacit.core.design import Design, Group
from tacit.core.schema import Attribute, Schema
from tacit.errors import DesignError
from tacit.plan.answer_privacy import PrivacyWish, answer_privacy
from tacit.plan.assumptions import Assumptions, assume_all
from tacit.plan.coin_family import coin_family, coin_text
from tacit.plan.expected_estimate import estimate_from, expected_widths, true_table
from tacit.plan.plan_subject import design_of, labels_of, number_of_categories
from tacit.plan.requirements import smallest


@dataclass(frozen=True, eq=False)
class Layout:
    """A design per step, from 1 (most private) to `last`; one step if the coin is fixed.

    `distinct` are the attributes whose widths may differ: one if all questions are alike.
    """

    assumed: Assumptions
    distinct: tuple[str, ...]
    last: int
    design: Callable[[int], Design]

    @property
    def fixed(self) -> bool:
        """Whether there is one step only."""
        return self.last == 1

    def steps(self, wishes: Sequence[PrivacyWish]) -> list[int]:
        """The most accurate step whose answers keep each bound, without repetition."""
        found = map(self._most_accurate, wishes)
        return list(dict.fromkeys(step for step in found if step is not None))

    def _most_accurate(self, wish: PrivacyWish) -> int | None:
        name = self.distinct[0]

        def breaks(step: int) -> bool:
            return wish.missed(answer_privacy(self.design(step), name, self.assumed)) is not None

        if breaks(1):
            return None
        return smallest(breaks, 1, self.last) - 1 if breaks(self.last) else self.last

    def text(self, step: int) -> str:
        """The coins of the groups."""
        coins = dict.fromkeys(coin_text(group.coin) for group in self.design(step).groups)
        return ", ".join(coins)

    def pair_width(self, step: int, n: int, level: float) -> float | None:
        """Half the width of the widest interval of a pair of planned categories.

        Pairs in one group and across two groups; None for a single question.
        """
        design = self.design(step)
        first, *others = design.groups
        pairs = [first.attributes[:2]] if len(first.attributes) > 1 else []
        pairs += [(first.attributes[0], others[-1].attributes[-1])] if others else []
        return max((self._pair(design, pair, n, level) for pair in pairs), default=None)

    def _pair(self, design: Design, pair: Sequence[str], n: int, level: float) -> float:
        channel = design.channel(design.closure(pair))
        table = channel.disguised(true_table(channel, self.assumed))
        widths = expected_widths(estimate_from(channel, table, 2, n), level)
        places = [self.assumed[name].category for name in pair]
        if None in places:
            return float(widths.max())
        return float(widths[tuple(place for place in places if place is not None)])


@dataclass(frozen=True)
class Questions:
    """Questions that are alike: their number, their shares, and how to group them.

    `figure` is the figure of privacy that optimal channels are bounded by.
    """

    number: int
    prevalence: Any
    categories: int | None
    groups: tuple[int, ...]
    figure: str


def layouts(subject: Any, questions: Questions) -> Iterator[Layout]:
    """A layout per number of groups that the family allows; one for a design."""
    given = design_of(subject)
    if given is not None:
        assumed = assume_all(given, questions.prevalence)
        yield Layout(assumed, given.schema.names, 1, lambda _: given)
        return
    size = number_of_categories(subject, questions.prevalence, questions.categories)
    schema = Schema([Attribute(f"q{i + 1}", labels_of(size)) for i in range(questions.number)])
    plain = Design(schema, [Group(schema.names, truthful())])
    assumed = assume_all(plain, dict.fromkeys(schema.names, questions.prevalence))
    first = schema.names[:1]
    if isinstance(subject, Coin):
        last, make = 1, lambda _: subject
    else:
        family = coin_family(subject, assumed[first[0]].shares.tolist(), questions.figure)
        last, make = family.last, lru_cache(maxsize=64)(family.make)
    refused: DesignError | None = None
    found = False
    for count in questions.groups:
        parts = [part.tolist() for part in np.array_split(np.array(schema.names), count)]
        design = _Grouped(schema, parts, make)
        try:
            design(1)
        except DesignError as error:
            refused = error  # a family for single questions only
            continue
        found = True
        yield Layout(assumed, first, last, design)
    if refused is not None and not found:
        raise refused


@dataclass(frozen=True, eq=False)
class _Grouped:
    """Groups of questions that all have the coin of a step."""

    schema: Schema
    parts: list[list[str]]
    make: Callable[[int], Coin]

    def __call__(self, step: int) -> Design:
        return Design(self.schema, [Group(part, self.make(step)) for part in self.parts])
