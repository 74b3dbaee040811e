"""Reported records to count tables."""

from tacit.counting.memory import count, count_or_list
from tacit.counting.patterns import PatternTable
from tacit.counting.records import count_records, count_reported

__all__ = ["PatternTable", "count", "count_or_list", "count_records", "count_reported"]
