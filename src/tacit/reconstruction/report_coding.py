"""Warnings that the reports of a comparison were coded the wrong way round.

`crosswise` and `triangular` report whether two answers are the same, or whether any is yes. Whoever
codes "different" as yes gets 1 - share with crosswise, which no test of fit can see, and an
impossible share with triangular.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from tacit.channel import Coin
from tacit.reconstruction.fit import MISFIT_LEVEL

if TYPE_CHECKING:
    from tacit.reconstruction.estimate import Estimate


def coding_warning(coin: Coin, estimate: Estimate) -> str:
    """A warning if the share of the second category suggests reversed reports; else nothing.

    For crosswise: the interval lies above one half, although such questions are asked about what
    is rare. For triangular: the reports contradict the design, and exchanged ones would not.
    """
    if estimate.fit is None:
        return ""
    matrix = coin.channel(estimate.attributes).matrix
    exchanged = np.linalg.solve(matrix, (matrix @ estimate.value)[::-1])
    share, other = float(estimate.value[1]), float(exchanged[1])
    if coin.asks == "comparison":
        suspect = estimate.interval().lower[1] > 1 / 2
    else:
        suspect = share < 0 and 0 <= other <= 1 and estimate.fit.pvalue < MISFIT_LEVEL
    if not suspect:
        return ""
    meaning = coin.report_meaning(estimate.attributes)
    return (
        f"CODING: are the reports reversed? They mean {meaning}. If they are coded the other way "
        f"round, the share of {estimate.attributes[0].categories[1]} is {other:.4f}, not "
        f"{share:.4f}; records may also say {' and '.join(map(repr, coin.report_words))}"
    )
