"""Undisguised columns of the records as attributes: counted with the reports, never disguised.

A design with these columns in truthful groups has all that estimates, comparisons and tests need.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from tacit.channel import truthful
from tacit.counting.count_engine import PatternsBy, sorted_patterns
from tacit.counting.engine_choice import engine_of, is_counts
from tacit.counting.patterns import PatternTable
from tacit.counting.records import check_origins
from tacit.design import Design, Group
from tacit.errors import DataError, SchemaError
from tacit.files import Progress
from tacit.label_codes import encode
from tacit.schema import Schema

#: The category of cells that are missing, and the most categories of a column.
MISSING, MOST = "missing", 1000


def count_with_columns(
    records: Any, design: Design, columns: Sequence[str], progress: Progress | None = None
) -> tuple[PatternTable, Design]:
    """The pattern table of reports and undisguised columns, and the design that has them all."""
    names = _checked(columns, design)
    if is_counts(records) or isinstance(records, PatternTable):
        raise DataError(
            f"counts have no column {names[0]!r}, only attributes of the design; give the records"
        )
    check_origins(records, design)
    engine = engine_of(records, design.reported, progress, design.fingerprint)
    return widened(engine.patterns_by(names), design)


def widened(found: PatternsBy, design: Design) -> tuple[PatternTable, Design]:
    """Counts by columns as the pattern table of a design with truthful groups for the columns."""
    from tacit.schema_inference import listed_attributes  # Arrow is slow to start

    attributes = listed_attributes(found.columns, MISSING, MOST)
    own = Schema(attributes)
    groups = [Group([name], truthful()) for name in own.names]
    wide = Design(Schema([*design.schema, *attributes]), [*design.groups, *groups])
    codes = np.column_stack([found.patterns.patterns, encode(found.columns, own)])
    return sorted_patterns(wide.reported, codes, found.patterns.counts), wide


def _checked(columns: Sequence[str], design: Design) -> list[str]:
    if isinstance(columns, str) or not all(isinstance(name, str) for name in columns):
        raise SchemaError(f"columns must be a list of names, got {columns!r}")
    names = list(columns)
    for place, name in enumerate(names):
        if name in design.schema or name in design.reported:
            raise SchemaError(f"{name!r} is part of the design already; leave it out of columns")
        if name in names[:place]:
            raise SchemaError(f"column {name!r} is given twice; give it once")
    return names
