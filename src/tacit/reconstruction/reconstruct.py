"""reconstruct: reported records and their design -> any table of the true answers."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from tacit.arrays import Array
from tacit.counting import PatternTable, count_reported
from tacit.design import Design, check_design
from tacit.errors import DataError
from tacit.reconstruction.estimate import Estimate
from tacit.reconstruction.events import Events, event_codes, event_text
from tacit.reconstruction.expectation import expectation, tabulate
from tacit.reconstruction.inversion import inversion
from tacit.reconstruction.report_weights import ReportWeights, event_probability
from tacit.reconstruction.table_problem import TableProblem

TableMethod = Callable[[TableProblem], Estimate]

#: A table of more cells than this is refused; it would not fit in memory.
MAX_CELLS = 2**26
#: Problems of at most this many cells are kept, and so many of them.
_SMALL_CELLS, _KEPT_PROBLEMS = 2**12, 256


@dataclass(frozen=True, eq=False)
class Reconstruction:
    """Reported patterns and their design; estimates anything about the true records."""

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
        """Probability that a true record has these answers; a list allows any of its labels.

        An event may have any number of conditions.
        """
        schema = self.design.schema
        codes = event_codes(event, schema)
        self.design.channel(self.design.closure(tuple(event))).require_reconstructable()
        found = Events.conjunction(schema.sizes, codes)
        return event_probability(self._report_weights, found, f"P({event_text(event)})")

    def expectation(self, h: Any, attributes: Sequence[str]) -> Estimate:
        """Mean of h over true records: a function of one label per attribute, or a table."""
        problem = self._problem(attributes)
        names = ", ".join(a.name for a in problem.attributes)
        name = f"E[{getattr(h, '__name__', 'h')}({names})]".replace("<lambda>", "h")
        return expectation(problem, tabulate(h, problem.attributes), name)

    @cached_property
    def _report_weights(self) -> ReportWeights:
        return ReportWeights(self.patterns, self.design)

    @cached_property
    def _problems(self) -> dict[tuple[tuple[str, ...], int], TableProblem]:
        """Problems of small tables, kept with their inverses for further questions."""
        return {}

    def _problem(self, attributes: Sequence[str]) -> TableProblem:
        asked = tuple(attributes) if isinstance(attributes, Iterator) else attributes
        names = self.design.closure(asked)
        known = self._problems.get((names, len(asked)))
        if known is not None:
            return known
        channel = self.design.channel(names)
        cells = max(math.prod(channel.true.sizes), math.prod(channel.reported.sizes))
        if cells > MAX_CELLS:
            raise DataError(
                f"a table of {', '.join(asked)} has {cells:,} cells, more than the "
                f"{MAX_CELLS:,} allowed; ask for fewer attributes at once"
            )
        counts = self.patterns.marginal(channel.reported.names).astype(np.float64)
        problem = TableProblem(counts, channel, len(asked), self.n_records)
        if cells <= _SMALL_CELLS and len(self._problems) < _KEPT_PROBLEMS:
            self._problems[names, len(asked)] = problem
        return problem


def reconstruct(reported: Any, design: Design) -> Reconstruction:
    """Count reported records once, to estimate any number of tables of the true answers from them.

    `reported` is a data frame, an integer array of codes, a CSV, Parquet or Arrow file, a glob, a
    directory, a count file, an Ibis table, a Spark frame, a table of PostgreSQL
    (postgresql://USER@HOST/NAME#TABLE) or the database of the service (without #TABLE), or a
    pattern table. Files that name another design as their origin are refused.
    """
    check_design(design)
    if isinstance(reported, PatternTable):
        if reported.schema != design.reported:
            raise DataError("the pattern table was counted under another schema than the design's")
        return Reconstruction(reported, design)
    return Reconstruction(count_reported(reported, design), design)
