"""Count records wherever they are: a frame, an array of codes, or a file."""

from __future__ import annotations

from typing import Any

from tacit.coding import encode
from tacit.counting.memory import count
from tacit.counting.patterns import PatternTable
from tacit.schema import Schema


def count_records(records: Any, schema: Schema) -> PatternTable:
    """The table of distinct records with multiplicities."""
    return count(encode(records, schema), schema)
