"""reconstruct: reported records and their design -> any table of the true answers."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from tacit.arrays import Array
from tacit.counting import PatternTable, count_reported
from tacit.design import Design, check_design
from tacit.errors import DataError, SchemaError
from tacit.reconstruction.estimate import Estimate
from tacit.reconstruction.expectation import expectation, tabulate
from tacit.reconstruction.inversion import inversion
from tacit.reconstruction.table_problem import TableProblem
from tacit.schema import Attribute

TableMethod = Callable[[TableProblem], Estimate]

#: A table of more cells than this is refused; it would not fit in memory.
MAX_CELLS = 2**26


@dataclass(frozen=True, eq=False)
class Reconstruction:
    """Reported patterns and their design; answers what is asked about the true records."""

    patterns: PatternTable
    design: Design

    @property
    def n_records(self) -> int:
        """Number of reported records."""
        return self.patterns.n_records

    def table(self, attributes: Sequence[str], method: TableMethod = inversion) -> Estimate:
        """Joint distribution of the true answers to these attributes."""
        if not callable(method):
            from tacit.reconstruction import METHODS

            known = ", ".join(METHODS)
            raise DataError(f"method must be one of tacit.reconstruction: {known}; got {method!r}")
        return method(self._problem(attributes))

    def joint(self) -> Array:
        """The table of all attributes by inversion, values only."""
        problem = self._problem(self.design.schema.names)
        problem.channel.require_reconstructable()
        return problem.channel.to_true(problem.inverses, problem.frequencies)

    def probability(self, event: Mapping[str, Any]) -> Estimate:
        """Probability that a true record has these answers; a list allows any of its labels."""
        if not isinstance(event, Mapping) or not event:
            raise SchemaError(
                "the event names no attribute: give a mapping such as "
                f"{{'smokes': 'yes'}}, got {event!r}"
            )
        problem = self._problem(tuple(event))
        sides = [_indicator(a, event[a.name]) for a in problem.attributes]
        h = sides[0]
        for side in sides[1:]:
            h = np.multiply.outer(h, side)
        said = ", ".join(
            f"{name} = {' or '.join(map(str, _labels(label)))}" for name, label in event.items()
        )
        return expectation(problem, h, f"P({said})")

    def expectation(self, h: Any, attributes: Sequence[str]) -> Estimate:
        """Mean of h over true records: a function of one label an attribute, or a table."""
        problem = self._problem(attributes)
        said = ", ".join(a.name for a in problem.attributes)
        name = f"E[{getattr(h, '__name__', 'h')}({said})]".replace("<lambda>", "h")
        return expectation(problem, tabulate(h, problem.attributes), name)

    def _problem(self, attributes: Sequence[str]) -> TableProblem:
        asked = tuple(attributes) if isinstance(attributes, Iterator) else attributes
        channel = self.design.channel(self.design.closure(asked))
        cells = max(math.prod(channel.true.sizes), math.prod(channel.reported.sizes))
        if cells > MAX_CELLS:
            raise DataError(
                f"a table of {', '.join(asked)} has {cells:,} cells, more than the "
                f"{MAX_CELLS:,} allowed; ask for fewer attributes at once"
            )
        counts = self.patterns.marginal(channel.reported.names).astype(np.float64)
        return TableProblem(counts, channel, len(asked), self.n_records)


def reconstruct(reported: Any, design: Design) -> Reconstruction:
    """Count reported records once; then any table of the true answers can be asked for.

    `reported` is a data frame, an integer array of codes, the path of a CSV or Parquet file, or
    a pattern table counted before. A file that names another design as its origin is refused.
    """
    check_design(design)
    if isinstance(reported, PatternTable):
        if reported.schema != design.reported:
            raise DataError("the pattern table was counted under another schema than the design's")
        return Reconstruction(reported, design)
    return Reconstruction(count_reported(reported, design), design)


def _indicator(attribute: Attribute, wanted: Any) -> Array:
    """1 for the categories that the event allows."""
    side = np.zeros(attribute.size)
    side[[attribute.code(label) for label in _labels(wanted)]] = 1.0
    if not side.any():
        raise SchemaError(f"the event allows no category of {attribute.name!r}; give at least one")
    return side


def _labels(wanted: Any) -> list[Any]:
    """One label or several, as a list."""
    several = isinstance(wanted, list | tuple | set | frozenset)
    return list(wanted) if several else [wanted]
