"""tacit: ask what people would rather not say; learn about the crowd, not about a person."""

from typing import TYPE_CHECKING

from tacit.core.imports import lazy_names, warn_about_namesake

if TYPE_CHECKING:
    from tacit.core.channel import christofides as christofides
    from tacit.core.channel import crosswise as crosswise
    from tacit.core.channel import forced as forced
    from tacit.core.channel import frapp as frapp
    from tacit.core.channel import kuk as kuk
    from tacit.core.channel import mangat as mangat
    from tacit.core.channel import mangat_singh as mangat_singh
    from tacit.core.channel import matrix as matrix
    from tacit.core.channel import related as related
    from tacit.core.channel import triangular as triangular
    from tacit.core.channel import truthful as truthful
    from tacit.core.channel import uniform_perturbation as uniform_perturbation
    from tacit.core.channel import unrelated as unrelated
    from tacit.core.design import Design as Design
    from tacit.core.design import Group as Group
    from tacit.core.disguise import disguise as disguise
    from tacit.core.schema import Attribute as Attribute
    from tacit.core.schema import Schema as Schema
    from tacit.errors import TacitError as TacitError
    from tacit.reconstruction.reconstruct import reconstruct as reconstruct
    from tacit.studio.connection import connect as connect

__version__ = "0.1.0"

warn_about_namesake()

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
