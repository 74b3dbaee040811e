"""Several samples in one estimate, and models of people who do not follow the instructions.

`pool` estimates one distribution from samples under different designs. `Cheaters`,
`LyingCarriers` and `Careless` extend the channel by people who do not follow it; `sensitivity`
shows what an assumed share of them would change where the design cannot identify it.
"""

from tacit.compliance.noncompliance import (
    Careless,
    Cheaters,
    ComplianceEstimate,
    LyingCarriers,
    SensitivityCurve,
    sensitivity,
)
from tacit.compliance.pool import Pooled, pool

__all__ = [
    "Careless",
    "Cheaters",
    "ComplianceEstimate",
    "LyingCarriers",
    "Pooled",
    "SensitivityCurve",
    "pool",
    "sensitivity",
]
