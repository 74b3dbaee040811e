"""ComplianceEstimate: the result of a model of non-compliance."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from tacit.arrays import Array
from tacit.compliance.likelihood_ratio_test import LikelihoodRatioTest, tests_table
from tacit.compliance.report_mixture import ReportMixture
from tacit.extras import optional_imports
from tacit.reconstruction.estimate import Estimate
from tacit.reconstruction.interval import Interval
from tacit.table import Table, latex_of, markdown_of

if TYPE_CHECKING:
    from matplotlib.figure import Figure

#: Shares below this are 0.
_ABSENT = 1e-9


@dataclass(frozen=True, eq=False)
class ComplianceEstimate:
    """The distribution of the true answers and the share of people who do not comply.

    `test` is the test that everybody complies, `fit` the test of the model against any reported
    shares. `at_least` and `at_most` bound the shares of all people where the model leaves open
    what the others would answer (`Cheaters`).
    """

    distribution: Estimate
    share: Estimate
    test: LikelihoodRatioTest
    fit: LikelihoodRatioTest
    log_likelihood: float
    at_least: Estimate | None = None
    at_most: Estimate | None = None

    @property
    def value(self) -> Array:
        """The estimated distribution."""
        return self.distribution.value

    @property
    def stderr(self) -> Array:
        """Its standard errors."""
        return self.distribution.stderr

    @property
    def covariance(self) -> Array:
        """Its covariance matrix."""
        return self.distribution.covariance

    def interval(self, level: float = 0.95) -> Interval:
        """Profile-likelihood limits of the distribution, within [0, 1]."""
        return self.distribution.interval(level)

    def to_frame(self, level: float = 0.95, backend: str | None = None) -> Any:
        """The distribution as a data frame."""
        return self.distribution.to_frame(level, backend)

    def to_dict(self, level: float = 0.95) -> dict[str, Any]:
        """JSON-ready result."""
        bounds = {"at_least": self.at_least, "at_most": self.at_most}
        return {
            "distribution": self.distribution.to_dict(level),
            "share": self.share.to_dict(level),
            "test": self.test.to_dict(),
            "fit": self.fit.to_dict(),
            "log_likelihood": self.log_likelihood,
            **{name: each.to_dict(level) for name, each in bounds.items() if each is not None},
        }

    @property
    def estimates(self) -> list[Estimate]:
        """Distribution, bounds if there are any, and share."""
        found = [self.distribution, self.at_least, self.at_most, self.share]
        return [estimate for estimate in found if estimate is not None]

    def tables(self, level: float = 0.95) -> list[Table]:
        """The estimates and the tests as people read them."""
        return [*(each.to_table(level) for each in self.estimates), tests_table(self.tests)]

    def to_markdown(self, level: float = 0.95) -> str:
        """The tables in Markdown."""
        return markdown_of(self.tables(level))

    def to_latex(self, level: float = 0.95) -> str:
        """The tables in LaTeX, for the package booktabs."""
        return latex_of(self.tables(level))

    def plot(self, level: float = 0.95) -> Figure:
        """The estimates with their intervals; needs the extra `plot`."""
        with optional_imports():
            from tacit.reconstruction.estimate_plot import plot_estimates

        return plot_estimates(self.estimates, level, shares=True)

    @property
    def tests(self) -> list[LikelihoodRatioTest]:
        """The tests of full compliance and of fit."""
        return [self.test, self.fit]

    def __str__(self) -> str:
        return "\n".join(map(str, [*self.estimates, *self.tests]))

    def _repr_html_(self) -> str:
        return "".join(table.html() for table in self.tables())

    __repr__ = __str__


def compliance_tests(
    mixture: ReportMixture,
) -> tuple[LikelihoodRatioTest, LikelihoodRatioTest, float]:
    """The tests of full compliance and of fit, and the log-likelihood.

    The last class is that of non-compliers. In the test of fit, every share of 0 counts as a degree
    of freedom: conservative, as chi-squared bounds the distribution at the border.
    """
    shares, best = mixture.maximum
    followers = range(len(shares) - 1)
    complied = mixture.of_classes(followers).maximum[1]
    test = LikelihoodRatioTest.boundary("everybody complies", best - complied)
    cells = sum(counts.size - 1 for counts in mixture.counts)
    free = mixture.rank - 1 - int((shares < _ABSENT).sum())
    fit = LikelihoodRatioTest.interior(
        "the model holds", mixture.saturated - best, cells - max(free, 0)
    )
    return test, fit, best
