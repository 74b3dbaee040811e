"""ComplianceEstimate: the result of a model of non-compliance."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from tacit.compliance.mixture_result import MixtureResult, boundary_test, interior_test
from tacit.compliance.report_mixture import ReportMixture
from tacit.reconstruction.estimate import Estimate
from tacit.reconstruction.hypothesis_test import HypothesisTest

#: Shares below this are 0.
_ABSENT = 1e-9


@dataclass(frozen=True, eq=False, repr=False)
class ComplianceEstimate(MixtureResult):
    """The distribution of the true answers and the share of people who do not comply.

    `test` is the test that everybody complies, `fit` the test of the model against any reported
    shares. `at_least` and `at_most` bound the shares of all people where the model leaves open
    what the others would answer (`Cheaters`).
    """

    distribution: Estimate
    share: Estimate
    test: HypothesisTest
    fit: HypothesisTest
    log_likelihood: float
    at_least: Estimate | None = None
    at_most: Estimate | None = None

    @property
    def estimates(self) -> list[Estimate]:
        """Distribution, bounds if there are any, and share."""
        found = [self.distribution, self.at_least, self.at_most, self.share]
        return [estimate for estimate in found if estimate is not None]

    @property
    def tests(self) -> list[HypothesisTest]:
        """Of full compliance, and of fit."""
        return [self.test, self.fit]

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


def compliance_tests(mixture: ReportMixture) -> tuple[HypothesisTest, HypothesisTest, float]:
    """The tests of full compliance and of fit, and the log-likelihood.

    The last class is that of non-compliers. In the test of fit, every share of 0 counts as a degree
    of freedom: conservative, as chi-squared bounds the distribution at the border.
    """
    shares, best = mixture.maximum
    followers = range(len(shares) - 1)
    complied = mixture.of_classes(followers).maximum[1]
    test = boundary_test("everybody complies", best - complied, mixture.n_records)
    cells = sum(counts.size - 1 for counts in mixture.counts)
    free = mixture.rank - 1 - int((shares < _ABSENT).sum())
    df, gain = cells - max(free, 0), mixture.saturated - best
    fit = interior_test("the model holds", gain, df, mixture.n_records)
    return test, fit, best
