"""tacit: ask what people would rather not say; learn about the crowd, not about a person."""

from typing import TYPE_CHECKING

from tacit.core.imports import lazy_names, warn_about_namesake

if TYPE_CHECKING:
    from tacit.core.channel import (
        christofides,
        crosswise,
        forced,
        frapp,
        kuk,
        mangat,
        mangat_singh,
        matrix,
        related,
        triangular,
        truthful,
        uniform_perturbation,
        unrelated,
    )
    from tacit.core.design import Design, Group
    from tacit.core.disguise import disguise
    from tacit.core.schema import Attribute, Schema
    from tacit.errors import TacitError
    from tacit.reconstruction.reconstruct import reconstruct
    from tacit.studio.connection import connect

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
        "tacit.core.channel": (
            "christofides crosswise forced frapp kuk mangat mangat_singh matrix related "
            "triangular truthful uniform_perturbation unrelated"
        ),
        "tacit.core.design": "Design Group",
        "tacit.errors": "TacitError",
        "tacit.reconstruction": "reconstruct",
        "tacit.core.disguise": "disguise",
        "tacit.core.schema": "Attribute Schema",
        "tacit.studio.connection": "connect",
    },
    "collect compliance core datasets evaluate mine models optimize output papers plan privacy "
    "quantitative reconstruction records regression studio survey",
)
