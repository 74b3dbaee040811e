"""The best disguise for a wanted privacy: fronts of channels, with a lower bound that is proved.

    front(prior, n_records=10_000, delta=0.8, method=Exact())

Methods: `Exact` (no channel is better, any number of reported categories), `Square` (true
categories are reported, by gradient), `Spea2` (the search of Huang & Du), `Warner` (the classic).
`robustness` shows what a front is worth when its prior is wrong.
"""

from tacit.optimize.exact import Exact
from tacit.optimize.fronts import (
    ChosenChannel,
    Front,
    ReportedCategory,
    Robustness,
    front,
    robustness,
)
from tacit.optimize.objectives import Warner
from tacit.optimize.spea2 import Spea2
from tacit.optimize.square import Square

__all__ = [
    "ChosenChannel",
    "Exact",
    "Front",
    "ReportedCategory",
    "Robustness",
    "Spea2",
    "Square",
    "Warner",
    "front",
    "robustness",
]
