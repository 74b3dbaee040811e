"""robustness: the figures of a front if the prior it was made for is wrong.

A channel keeps its epsilon whatever the prior, but its privacy, its worst posterior and its error
depend on the true distribution. For other priors given, or drawn from the uncertainty of an
estimate (its covariance, normal, moved to the nearest distribution), every channel of the front is
measured under the true one. The error assumes least squares weights from the reports themselves, as
`reconstruct` takes them.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np

from tacit.core.arrays import Array
from tacit.core.label_codes import frame_of
from tacit.errors import DesignError
from tacit.optimize.fronts import BLUE, RED, Front, front_figure
from tacit.optimize.objectives import mse, privacy, worst_posterior
from tacit.output.number_text import number_of
from tacit.output.table import Table, TabularResult
from tacit.reconstruction import Estimate
from tacit.reconstruction.tables import project

if TYPE_CHECKING:
    from matplotlib.figure import Figure

_SHOWN = 20


@dataclass(frozen=True, eq=False, repr=False)
class Robustness(TabularResult):
    """Figures of each channel (columns) under each prior (rows).

    delta_kept: whether the worst posterior is still within the front's delta.
    """

    front: Front
    priors: Array
    privacy: Array
    mse: Array
    worst_posterior: Array

    @cached_property
    def delta_kept(self) -> Array:
        """Whether each channel keeps the bound delta under each prior."""
        return np.asarray(self.worst_posterior <= float(self.front.problem.delta) + 1e-12)

    def columns(self, level: float = 0.95) -> dict[str, list[float]]:
        """The promised figures, and the range of the real ones over the middle of the priors."""
        if not 0 < level < 1:
            raise DesignError(f"level must lie between 0 and 1, got {level!r}")
        tails = [(1 - level) / 2, (1 + level) / 2]
        low, high = np.quantile(self.privacy, tails, axis=0)
        small, large = np.quantile(self.mse, tails, axis=0)
        return {
            "privacy": self.front.privacy.tolist(),
            "privacy_low": low.tolist(),
            "privacy_high": high.tolist(),
            "mse": self.front.mse.tolist(),
            "mse_low": small.tolist(),
            "mse_high": large.tolist(),
            "worst_posterior": self.worst_posterior.max(axis=0).tolist(),
            "delta_kept": self.delta_kept.mean(axis=0).tolist(),
        }

    def to_frame(self, level: float = 0.95, backend: str | None = None) -> Any:
        """The table as a data frame."""
        return frame_of(self.columns(level), backend)

    def to_dict(self, level: float = 0.95) -> dict[str, Any]:
        """JSON-ready table."""
        return {
            "front": self.front.caption(),
            "priors": self.priors.tolist(),
            "level": level,
            "table": self.columns(level),
        }

    def to_table(self, level: float = 0.95, most: int = _SHOWN) -> Table:
        """The table as a person reads it: rows evenly chosen with both ends."""
        columns = self.columns(level)
        places = np.unique(np.linspace(0, len(self.front) - 1, most).round().astype(int))
        rows = [
            [
                f"{columns['privacy'][i]:.4f}",
                f"{columns['privacy_low'][i]:.3f} .. {columns['privacy_high'][i]:.3f}",
                f"{columns['mse'][i]:.2e}",
                f"{columns['mse_low'][i]:.2e} .. {columns['mse_high'][i]:.2e}",
                f"{columns['worst_posterior'][i]:.4f}",
                f"{100 * columns['delta_kept'][i]:.0f} %",
            ]
            for i in places
        ]
        heads = ("privacy", "really", "mse", "really", "worst", "delta kept")
        return Table(heads, rows, self.caption(), "r" * len(heads))

    def caption(self) -> str:
        """One line on what the table is."""
        return f"the {self.front.caption()}, under {number_of(len(self.priors), 'other prior')}"

    def plot(self, level: float = 0.95) -> Figure:
        """The front as promised, and where its channels really are."""
        figure, axes = front_figure(self.caption())
        columns = self.columns(level)
        share = f"{100 * level:g} % of {number_of(len(self.priors), 'prior')}"
        middle = np.median(self.privacy, axis=0), np.median(self.mse, axis=0)
        sides = [
            np.abs(np.array([columns[f"{name}_low"], columns[f"{name}_high"]]) - at)
            for name, at in zip(("privacy", "mse"), middle, strict=True)
        ]
        axes.plot(self.front.privacy, self.front.mse, lw=1.4, color=BLUE, label="as promised")
        axes.errorbar(
            *middle, xerr=sides[0], yerr=sides[1], fmt="o", ms=3, lw=0.8, color=RED, label=share
        )
        axes.legend(frameon=False, fontsize=9)
        return figure


def robustness(
    front: Front, truth: Any, draws: int = 200, rng: np.random.Generator | None = None
) -> Robustness:
    """The front's channels under other priors than the one assumed.

    truth: one other prior or several (a row each); or an Estimate, whose uncertainty is drawn
    from `draws` times with `rng`.
    """
    n = front.problem.n
    if isinstance(truth, Estimate):
        priors = _drawn(truth, n, draws, rng)
    else:
        priors = np.asarray(truth, dtype=np.float64)
        priors = priors.reshape(-1, n) if priors.size % n == 0 else priors
    if priors.ndim != 2 or priors.shape[1] != n or not len(priors):
        raise DesignError(f"truth must be priors of {n} categories, a row each")
    if (priors < 0).any() or not np.allclose(priors.sum(axis=1), 1, atol=1e-9):
        raise DesignError("truth: every prior must be at least 0 everywhere and sum to 1")
    figures = [
        [
            (privacy(m, p), mse(m, p, front.problem.n_records), worst_posterior(m, p))
            for m in front.channels
        ]
        for p in priors
    ]
    values = np.array(figures).transpose(2, 0, 1)
    return Robustness(front, priors, *values)


def _drawn(truth: Estimate, n: int, draws: int, rng: np.random.Generator | None) -> Array:
    """Distributions near the estimate, as uncertain as it is."""
    if truth.value.size != n:
        raise DesignError(f"truth has {truth.value.size} categories, the front {n}")
    if rng is None:
        raise DesignError("rng is needed to draw from an estimate: numpy.random.default_rng(seed)")
    cells = rng.multivariate_normal(
        truth.value.ravel(), truth.covariance, size=draws, method="eigh", check_valid="ignore"
    )
    return np.array([project(cell) for cell in cells])
