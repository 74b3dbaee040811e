"""Data that come with the package, with their attribution in `data/ATTRIBUTION.md`."""

from tacit.datasets.adult import load_adult
from tacit.datasets.adult_survey import adult_survey

__all__ = ["adult_survey", "load_adult"]
