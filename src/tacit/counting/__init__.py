"""Reported records to count tables."""

from tacit.counting.count_engine import CountEngine, PatternsBy
from tacit.counting.engine_choice import engine_of
from tacit.counting.memory import count, count_or_list
from tacit.counting.pair_tables import pair_tables
from tacit.counting.patterns import PatternTable
from tacit.counting.plain_columns import with_columns
from tacit.counting.records import count_records, count_reported

__all__ = [
    "CountEngine",
    "PatternTable",
    "PatternsBy",
    "count",
    "count_or_list",
    "count_records",
    "count_reported",
    "engine_of",
    "pair_tables",
    "with_columns",
]
