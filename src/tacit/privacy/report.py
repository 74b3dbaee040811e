"""report: how private the answers of a design are, as a value, a table, a figure and a page."""

from __future__ import annotations

import html
import json
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from tacit.coding import frame_of
from tacit.design import Design, check_design
from tacit.errors import DataError
from tacit.privacy import rounding
from tacit.privacy.answers import Answer, answers
from tacit.privacy.prior import Prior, prior_of
from tacit.privacy.repeated import Repeated, repeated
from tacit.privacy.rules import AfterMining, after_mining
from tacit.privacy.scopes import Limits, Scope, Scopes, measure
from tacit.privacy.sentences import sentences, warnings
from tacit.privacy.tables import (
    MINED,
    STAR,
    Rows,
    aligned,
    as_html,
    mined_rows,
    repeated_rows,
    scope_columns,
    scope_rows,
)
from tacit.reconstruction.interval import check_level

if TYPE_CHECKING:
    from matplotlib.figure import Figure


@dataclass(frozen=True)
class Levels:
    """One figure for every attribute, every group and the record."""

    attributes: dict[str, float]
    groups: tuple[float, ...]
    record: float


@dataclass(frozen=True)
class Report:
    """The privacy of a design under a prior; every figure at its pessimistic end.

    `pse`, `map_privacy`, `worst_posterior` and `information` are those of an adversary who holds
    the whole reported record; `attributes[name].alone` and `groups[i].alone` those of one who
    sees that report alone.
    """

    design: Design
    prior: Prior
    scopes: Scopes
    answers: dict[str, tuple[Answer, ...]]
    after_mining: dict[str, AfterMining]
    repeated: Repeated | None
    level: float

    @property
    def attributes(self) -> dict[str, Scope]:
        """Each attribute's figures."""
        return self.scopes.attributes

    @property
    def groups(self) -> tuple[Scope, ...]:
        """Each group's figures, in the order of the design."""
        return self.scopes.groups

    @property
    def record(self) -> Scope:
        """The figures of the whole record."""
        return self.scopes.record

    @property
    def pse(self) -> Levels:
        """How often a guess drawn from the posterior misses (Zhan & Matwin, 4.1)."""
        return self._levels("pse")

    @property
    def map_privacy(self) -> Levels:
        """How often the best guess misses (Huang & Du, eq. 8)."""
        return self._levels("map_privacy")

    @property
    def worst_posterior(self) -> Levels:
        """The largest probability of a true answer given a report (Huang & Du, eq. 9)."""
        return self._levels("worst_posterior")

    @property
    def information(self) -> Levels:
        """Bits that a report carries about the truth."""
        return self._levels("information")

    @property
    def epsilon(self) -> Levels:
        """Local differential privacy of each own report, rounded up; groups add up."""
        return Levels(
            {name: scope.epsilon for name, scope in self.attributes.items()},
            tuple(scope.epsilon for scope in self.groups),
            self.record.epsilon,
        )

    def _levels(self, name: str) -> Levels:
        return Levels(
            {key: getattr(scope.from_record, name) for key, scope in self.attributes.items()},
            tuple(getattr(scope.from_record, name) for scope in self.groups),
            getattr(self.record.from_record, name),
        )

    @property
    def sentences(self) -> tuple[str, ...]:
        """What a respondent should know."""
        return sentences(self.design, self.scopes, self.answers)

    @property
    def warnings(self) -> tuple[str, ...]:
        """Where single answers look safer than they are."""
        return warnings(self.design, self.scopes)

    def basis(self) -> str:
        """One line on the prior and on how the figures were computed."""
        text = f"Prior: {self.prior.source}."
        if self.prior.stacked > 1:
            text += f" Figures at the pessimistic end of their {100 * self.level:g} % interval."
        scopes = (*self.attributes.values(), *self.groups, self.record)
        errors = [max(s.from_record.stderr[:2]) for s in scopes if s.from_record.stderr is not None]
        if errors:
            text += (
                f" Large groups by Monte Carlo: PSE and MAP {rounding.monte_carlo(max(errors))}."
            )
        return text + " Privacy is rounded down, risk up."

    def rows(self) -> Rows:
        """Header and rows as text: by the own report, then by the whole record (starred)."""
        return scope_rows(self.scopes)

    def tables(self) -> list[Rows]:
        """All tables as text: the scopes, and what was asked for beyond them."""
        mined = [mined_rows(self.after_mining)] if self.after_mining else []
        again = [repeated_rows(self.repeated)] if self.repeated is not None else []
        return [self.rows(), *mined, *again]

    def lead(self) -> list[str]:
        """What comes first: sentences, warnings, what the figures rest on."""
        told = [f"\nwarning: {text}" for text in self.warnings]
        return [*self.sentences, *told, f"\n{self.basis()}"]

    def notes(self) -> list[str]:
        """What the tables mean, below them."""
        mined = [MINED] if self.after_mining else []
        again = [self.repeated.caption()] if self.repeated is not None else []
        return [STAR, *mined, *again]

    def to_frame(self, backend: str | None = None) -> Any:
        """A data frame with a row for each attribute, group and the record."""
        return frame_of(scope_columns(self.scopes), backend)

    def to_dict(self) -> dict[str, Any]:
        """JSON-ready; an infinite number is None."""
        content: dict[str, Any] = {
            "tacit": "privacy",
            "version": 1,
            "design": self.design.fingerprint,
            "prior": self.prior.source,
            "level": self.level,
            "sentences": list(self.sentences),
            "warnings": list(self.warnings),
            "attributes": {name: scope.to_dict() for name, scope in self.attributes.items()},
            "groups": [scope.to_dict() for scope in self.groups],
            "record": self.record.to_dict(),
            "answers": [a.to_dict() for found in self.answers.values() for a in found],
        }
        if self.after_mining:
            content["after_mining"] = [found.to_dict() for found in self.after_mining.values()]
        if self.repeated is not None:
            content["repeated"] = self.repeated.to_dict()
        plain: dict[str, Any] = rounding.finite(content)
        return plain

    def to_json(self) -> str:
        """JSON text."""
        return json.dumps(self.to_dict(), indent=2, ensure_ascii=False, allow_nan=False) + "\n"

    def figure(self) -> Figure:
        """How often a guess is right: without a report, with its own, with the whole record."""
        from tacit.privacy.figure import guesses

        return guesses(self.attributes, self.record)

    def to_html(self) -> str:
        """A page by itself: sentences, warnings, figure, tables; it loads nothing."""
        from tacit.privacy.page import page

        return page(self)

    def __str__(self) -> str:
        shown = [line for rows in self.tables() for line in ("", *aligned(rows))]
        return "\n".join([*self.lead(), *shown, "", *self.notes()])

    def _repr_html_(self) -> str:
        told = (*self.sentences, *self.warnings, self.basis())
        return (
            "".join(f"<p>{html.escape(text)}</p>" for text in told)
            + "".join(map(as_html, self.tables()))
            + "".join(f"<p>{html.escape(text)}</p>" for text in self.notes())
        )


def report(
    design: Design,
    prior: Any = None,
    *,
    rules: Sequence[Any] = (),
    repeats: int | None = None,
    limits: Limits | None = None,
) -> Report:
    """How private the answers of a design are, per attribute, per group and per record.

    `prior` as `prior_of` takes it: None for equally likely categories, distributions by
    attribute, a joint table, or estimates, whose uncertainty is carried along. `rules` are those
    of a published model (or a list of such lists), `repeats` how often one person takes part,
    `limits` how far to compute exactly, and the randomness of what is drawn beyond.
    """
    check_design(design)
    limits = limits or Limits()
    check_level(limits.level)
    known = prior_of(prior, design, limits.rng, limits.priors)
    scopes = measure(design, known, limits)
    told = {name: answers(design, known, name, limits.level) for name in design.schema.names}
    mined = after_mining(_models(rules), design, known, scopes.attributes, limits)
    again = None if repeats is None else repeated(design, repeats, known, limits=limits)
    return Report(design, known, scopes, told, mined, again, limits.level)


def _models(rules: Any) -> list[list[Any]]:
    """The rules of one model, or of several, as a list of models."""
    if isinstance(rules, str) or not hasattr(rules, "__iter__"):
        raise DataError(f"rules must be a list of rules, got {rules!r:.60}")
    listed = list(rules)
    if listed and all(isinstance(item, list | tuple) for item in listed):
        return [list(item) for item in listed]
    return [listed] if listed else []
