"""sensitivity: the estimate as a function of an assumed share of people who do not comply.

One sample without an anchor question cannot show how many people do not comply. For every assumed
share, the model of non-compliance gives a channel, and the estimate follows from it by maximum
likelihood.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import chain
from typing import Any

import numpy as np

from tacit.compliance.mixture import share_of_all
from tacit.compliance.noncompliance import NoncomplianceModel
from tacit.compliance.pool import mixture_of
from tacit.core.arrays import Array
from tacit.core.design import Design
from tacit.core.imports import optional_imports
from tacit.core.schema import Attribute
from tacit.errors import DataError
from tacit.output.number_text import decimals, number_of, span
from tacit.output.table import Figure, Table, TabularResult
from tacit.reconstruction.estimate import Estimate

#: Assumed shares by default: 0 to 30 %.
_SHARES = tuple(i / 100 for i in range(0, 31, 2))


@dataclass(frozen=True, eq=False, repr=False)
class SensitivityCurve(TabularResult):
    """An estimate for each assumed share."""

    attribute: Attribute
    share_name: str
    shares: Array
    estimates: tuple[Estimate, ...]

    @property
    def value(self) -> Array:
        """Estimates: shares x categories."""
        return np.array([estimate.value for estimate in self.estimates])

    @property
    def stderr(self) -> Array:
        """Standard errors: shares x categories."""
        return np.array([estimate.stderr for estimate in self.estimates])

    def columns(self, level: float = 0.95) -> dict[str, list[Any]]:
        """The curve as columns: share, category, estimate, stderr, lower, upper."""
        tables = [list(estimate.columns(level).values()) for estimate in self.estimates]
        columns = [list(chain(*column)) for column in zip(*tables, strict=True)]
        shares = np.repeat(self.shares, self.attribute.size).tolist()
        names = ("share", "category", "estimate", "stderr", "lower", "upper")
        return dict(zip(names, [shares, *columns], strict=True))

    def to_dict(self, level: float = 0.95) -> dict[str, Any]:
        """JSON-ready curve."""
        title = {"attribute": self.attribute.name, "assumed": self.share_name, "level": level}
        return title | {"table": self.columns(level)}

    def to_table(self, level: float = 0.95) -> Table:
        """The curve as a person reads it."""
        shares, categories, values, errors, lower, upper = self.columns(level).values()
        interval = f"{100 * level:g} % interval"
        heads = ("share", self.attribute.name, "estimate", "std. error", interval)
        labels = (f"{share:.2f}" for share in shares), map(str, categories)
        shown = map(decimals, values, errors), map(decimals, errors), map(span, lower, upper)
        rows = zip(*labels, *shown, strict=True)
        records = number_of(self.estimates[0].n_records, "reported record")
        missing = self.estimates[0].n_left_out
        if missing:
            records += f" ({missing:,} without an answer left out)"
        title = f"{self.attribute.name} from {records}, by assumed {self.share_name}"
        return Table(heads, list(rows), title, "llrrr")

    def plot(self, level: float = 0.95) -> Figure:
        """The curve of each category with its interval; yes/no answers show the second only."""
        with optional_imports():
            from matplotlib.figure import Figure

            from tacit.output.plot_style import BLUE, GREY, INK, RED, plain, short_label

        figure = Figure(figsize=(7.2, 4.6), layout="constrained")
        axes = figure.subplots()
        columns, n_categories = self.columns(level), self.attribute.size
        lower, upper = (np.reshape(columns[name], self.value.shape) for name in ("lower", "upper"))
        for code in range(1 if n_categories == 2 else 0, n_categories):
            label = short_label(str(self.attribute.categories[code]))
            color = (INK, BLUE, RED, GREY)[code % 4]
            line = ("-", "--", "-.", ":")[code // 4 % 4]
            values = 100 * self.value[:, code]
            axes.plot(100 * self.shares, values, lw=1.6, label=label, color=color, ls=line)
            band = 100 * lower[:, code], 100 * upper[:, code]
            axes.fill_between(100 * self.shares, *band, color=color, alpha=0.15, lw=0)
        axes.set_xlabel(f"assumed {self.share_name}, %")
        axes.set_ylabel(f"% of people, with {100 * level:g} % interval")
        axes.set_title(short_label(self.attribute.name, 70), fontsize="medium", loc="left")
        axes.set_ylim(0, None)
        plain(axes, "both")
        axes.legend(frameon=False, fontsize="small")
        return figure


def sensitivity(
    reported: Any,
    design: Design,
    model: NoncomplianceModel,
    shares: Sequence[float] = _SHARES,
    attribute: str | None = None,
) -> SensitivityCurve:
    """The estimate from one sample for each assumed share of people who do not comply.

    At a share of 0 it is the estimate of people who all comply.
    """
    if not isinstance(model, NoncomplianceModel):
        raise DataError(f"model must be Cheaters(), LyingCarriers() or Careless(), got {model!r}")
    try:
        assumed = np.atleast_1d(np.asarray(shares, dtype=np.float64)).ravel()
    except (TypeError, ValueError):
        raise DataError(f"shares must be numbers, got {shares!r}") from None
    if not assumed.size or not ((assumed >= 0) & (assumed < 1)).all():
        raise DataError("shares must be one or more numbers from 0 to below 1")
    (sample,), target = model.read([(reported, design)], attribute)
    sample.channel.require_reconstructable()
    quantities = [share_of_all(part) for part in np.eye(target.size)]
    estimates = tuple(
        mixture_of([sample], [model.given(sample, target, share)]).estimate(
            quantities, (target,), f"{target.name}, {model.share_name} {share:g}"
        )
        for share in assumed.tolist()
    )
    return SensitivityCurve(target, model.share_name, assumed, estimates)
