"""The store: reported records in SQLite or PostgreSQL, without anything that identifies people.

A response is durable when `Store.write` returns. No stored row, order, id or log links it to a
one-time link, an address or a time of day.
"""

from tacit.core.imports import optional_imports

with optional_imports():
    from tacit.collect.store.store import Store
    from tacit.collect.store.values import (
        Outcome,
        Response,
        SurveyState,
        code_type,
        packed,
        unpacked,
    )

__all__ = ["Outcome", "Response", "Store", "SurveyState", "code_type", "packed", "unpacked"]
