"""Data that come with the package, with their attribution in `data/ATTRIBUTION.md`."""

from tacit.datasets.adult import adult_native
from tacit.datasets.adult_survey import adult_survey
from tacit.datasets.binary import adult_binary, wisconsin_binary
from tacit.datasets.uci_tables import load_adult, load_ljubljana, load_wisconsin

__all__ = [
    "adult_binary",
    "adult_native",
    "adult_survey",
    "load_adult",
    "load_ljubljana",
    "load_wisconsin",
    "wisconsin_binary",
]
