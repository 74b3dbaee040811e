"""Data that come with the package, with their attribution in `data/ATTRIBUTION.md`."""

from tacit.datasets.tables import (
    adult_binary,
    adult_native,
    adult_survey,
    load_adult,
    load_ljubljana,
    load_wisconsin,
    wisconsin_binary,
)

__all__ = [
    "adult_binary",
    "adult_native",
    "adult_survey",
    "load_adult",
    "load_ljubljana",
    "load_wisconsin",
    "wisconsin_binary",
]
