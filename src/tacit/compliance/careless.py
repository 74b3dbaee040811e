"""Careless: people who answer at random, measured by an anchor question.

    q = (1 - b) M p + b uniform,    q_anchor = (1 - b) M' known + b uniform

Atsusaka & Stevenson (2023), "A bias-corrected estimator for the crosswise model with inattentive
respondents", Political Analysis 31(1), 134-148: the anchor is a question whose true prevalence is
known, 0 in their study. Here for any channel and any number of categories. If the same people
answer both questions, the pairs of reports are used: careless people answer both at random,
independently; for the others, answer and anchor are independent, as they are if everybody has the
same answer to the anchor.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, ClassVar

import numpy as np

from tacit.compliance.noncompliance import NoncomplianceModel
from tacit.compliance.sample_counts import (
    Sample,
    SampleCounts,
    check_same,
    read_sample,
    sample_pairs,
)
from tacit.core.arrays import Array
from tacit.core.channel.numbers import distribution
from tacit.core.design import Design
from tacit.core.schema import Attribute
from tacit.errors import DataError


@dataclass(frozen=True)
class Careless(NoncomplianceModel):
    """A share of people answers at random; the distribution of the `anchor` question is `known`.

    The anchor may be an attribute of the same records, of other samples, or both. The distribution
    is that of the people who comply.
    """

    anchor: str | None = None
    known: tuple[Fraction, ...] = ()
    share_name: ClassVar[str] = "share of careless answers"
    remedy: ClassVar[str] = "ask an anchor question whose true distribution is known"

    def __init__(self, anchor: str | None = None, known: Any = ()) -> None:
        object.__setattr__(self, "anchor", anchor)
        exact = distribution(known, "known") if anchor is not None else ()
        object.__setattr__(self, "known", exact)

    @classmethod
    def of_survey(cls, survey: Any) -> Careless:
        """The model with the control question of a survey, or of a published survey."""
        control = getattr(getattr(survey, "survey", survey), "control", None)
        if control is None:
            raise DataError("the survey has no control question; see `control` in docs/survey.md")
        return cls(control.question, control.distribution)

    def read(
        self, samples: Sequence[Sample], attribute: str | None
    ) -> tuple[list[SampleCounts], Attribute]:
        pairs = sample_pairs(samples)
        name = self._name(pairs[0][1], attribute)
        wanted = [name] if self.anchor is None else [name, self.anchor]
        found = []
        for number, (data, design) in enumerate(pairs, start=1):
            names = [each for each in wanted if each in design.schema]
            found.append(read_sample(data, design, names or [name], f"sample {number}"))
        target = check_same(found, name)
        if self.anchor is not None:
            self._check_known(check_same(found, self.anchor))
        return found, target

    def _name(self, design: Design, attribute: str | None) -> str:
        if attribute is not None:
            return attribute
        others = [name for name in design.schema.names if name != self.anchor]
        if len(others) != 1:
            raise DataError(f"name the attribute to estimate: {', '.join(others)}")
        return others[0]

    def _check_known(self, anchor: Attribute) -> None:
        if anchor.size != len(self.known):
            raise DataError(
                f"known needs {anchor.size} shares, one per category of {anchor.name!r}, "
                f"got {len(self.known)}"
            )

    def matrices(self, sample: SampleCounts, target: Attribute) -> tuple[Array, Array]:
        matrix = sample.matrix
        rows = len(matrix)
        others = np.full(rows, 1 / rows)
        known = np.array([float(p) for p in self.known])
        names = [a.name for a in sample.attributes]
        if names == [target.name]:
            return matrix, others
        if names == [self.anchor]:
            return np.outer(matrix @ known, np.ones(target.size)), others
        return matrix.reshape(rows, target.size, -1) @ known, others
