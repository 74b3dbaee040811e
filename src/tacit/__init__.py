"""tacit: ask what people would rather not say; learn the truth about the crowd, never a person."""

from tacit.channel import (
    crosswise,
    forced,
    frapp,
    matrix,
    related,
    truthful,
    uniform_perturbation,
    unrelated,
)
from tacit.design import Design, Group
from tacit.disguising import disguise
from tacit.errors import TacitError
from tacit.reconstruction import reconstruct
from tacit.schema import Attribute, Schema

__version__ = "0.1.0"

__all__ = [
    "Attribute",
    "Design",
    "Group",
    "Schema",
    "TacitError",
    "crosswise",
    "disguise",
    "forced",
    "frapp",
    "matrix",
    "reconstruct",
    "related",
    "truthful",
    "uniform_perturbation",
    "unrelated",
]
