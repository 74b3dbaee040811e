"""tacit: ask what people would rather not say; learn the truth about the crowd, never a person."""

from typing import TYPE_CHECKING

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
from tacit.errors import TacitError
from tacit.lazy_names import lazy_names
from tacit.schema import Attribute, Schema

if TYPE_CHECKING:
    from tacit.reconstruction.reconstruct import reconstruct
    from tacit.record_disguise import disguise

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

__getattr__ = lazy_names(
    __name__, {"disguise": "tacit.record_disguise", "reconstruct": "tacit.reconstruction"}
)
