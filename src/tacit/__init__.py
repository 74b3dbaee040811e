"""tacit: ask what people would rather not say; learn about the crowd, not about a person."""

from typing import TYPE_CHECKING

from tacit.distribution import warn_about_namesake
from tacit.lazy_names import lazy_names

if TYPE_CHECKING:
    from tacit.channel.keep_or_draw import forced, frapp, truthful, uniform_perturbation, unrelated
    from tacit.channel.matrix import matrix
    from tacit.channel.numbered_reports import christofides, kuk
    from tacit.channel.one_sided import mangat, triangular
    from tacit.channel.related import crosswise, mangat_singh, related
    from tacit.design import Design, Group
    from tacit.errors import TacitError
    from tacit.reconstruction.reconstruct import reconstruct
    from tacit.record_disguise import disguise
    from tacit.schema import Attribute, Schema
    from tacit.studio_connection import connect

__version__ = "0.1.0"

warn_about_namesake()

__all__ = [
    "Attribute",
    "Design",
    "Group",
    "Schema",
    "TacitError",
    "christofides",
    "connect",
    "crosswise",
    "disguise",
    "forced",
    "frapp",
    "kuk",
    "mangat",
    "mangat_singh",
    "matrix",
    "reconstruct",
    "related",
    "triangular",
    "truthful",
    "uniform_perturbation",
    "unrelated",
]

__getattr__, __dir__ = lazy_names(
    __name__,
    {
        "tacit.channel": (
            "christofides crosswise forced frapp kuk mangat mangat_singh matrix related "
            "triangular truthful uniform_perturbation unrelated"
        ),
        "tacit.design": "Design Group",
        "tacit.errors": "TacitError",
        "tacit.reconstruction": "reconstruct",
        "tacit.record_disguise": "disguise",
        "tacit.schema": "Attribute Schema",
        "tacit.studio_connection": "connect",
    },
)
