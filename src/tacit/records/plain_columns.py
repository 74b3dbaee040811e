"""Undisguised columns of the records as attributes: counted with the reports, never disguised.

A design with these columns in truthful groups has all that estimates, comparisons and tests need.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from tacit.core.channel import truthful
from tacit.core.design import Design, Group
from tacit.core.label_codes import with_no_answer
from tacit.core.schema import Schema
from tacit.errors import DataError, SchemaError
from tacit.records.counts import check_origins
from tacit.records.engine_choice import engine_of, is_counts
from tacit.records.patterns import PatternTable

#: The category of cells that are missing, and the most categories of a column.
MISSING, MOST = "missing", 1000


def with_columns(records: Any, design: Design, columns: Sequence[str]) -> Design:
    """The design with these columns of its records as further attributes, in truthful groups.

    The categories are the values that occur; they are counted first, without the reports.
    """
    names = _checked(columns, design)
    if is_counts(records) or isinstance(records, PatternTable):
        raise DataError(
            f"counts have no column {names[0]!r}, only attributes of the design; give the records"
        )
    if isinstance(records, np.ndarray):
        raise DataError("an array of codes has no undisguised columns; give a frame")
    check_origins(records, design)
    from tacit.core.binning import listed_attributes  # Arrow is slow to start

    one = with_no_answer(design.reported.subset(design.reported.names[:1]))
    found = engine_of(records, one).patterns_by(names)
    attributes = listed_attributes(found.columns, MISSING, MOST)
    groups = [Group([attribute.name], truthful()) for attribute in attributes]
    return Design(Schema([*design.schema, *attributes]), [*design.groups, *groups], design.asked_if)


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
