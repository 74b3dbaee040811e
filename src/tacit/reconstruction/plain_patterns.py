"""plain_patterns: counts of records that all count the same, for what uses no design weights."""

from __future__ import annotations

from typing import Any

from tacit.core.design import Design
from tacit.reconstruction.reconstruct import reconstruct
from tacit.records import PatternTable


def plain_patterns(records: Any, design: Design) -> PatternTable:
    """Count reported records; raise for the pattern table of a sample."""
    return reconstruct(records, design).patterns.refuse(weights=True)
