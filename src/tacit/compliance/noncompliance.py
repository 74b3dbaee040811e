"""NoncomplianceModel: a channel extended by a class of people who do not follow it.

    q_j = M_j a + b e_j        shares a_c of people who follow the instructions, b of the others

e_j is what the others report in sample j. The reports are a mixture of k + 1 classes, so everything
that holds for pooled samples holds here: a concave likelihood, profile-likelihood intervals,
and a check of whether the reports identify the shares.

`sensitivity` is for one sample without an anchor question, which cannot show how many people do not
comply: for every assumed share, the model gives a channel, and the estimate follows from it by
maximum likelihood.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import chain
from typing import Any, ClassVar

import numpy as np

from tacit.compliance.mixture import MixtureResult, Quantity, ReportMixture, share_of_all
from tacit.compliance.pool import Sample, SampleCounts, check_same, mixture_of, read_samples
from tacit.core.arrays import Array
from tacit.core.channel.numbers import probabilities
from tacit.core.design import Design
from tacit.core.imports import optional_imports
from tacit.core.schema import Attribute, Label
from tacit.errors import DataError, unknown
from tacit.output.number_text import decimals, number_of, span
from tacit.output.table import Figure, Table, TabularResult
from tacit.reconstruction.estimate import Estimate
from tacit.reconstruction.hypothesis_test import HypothesisTest
from tacit.reconstruction.likelihood import log_likelihood

#: Shares below this are 0.
_ABSENT = 1e-9


@dataclass(frozen=True, eq=False, repr=False)
class ComplianceEstimate(MixtureResult):
    """The distribution of the true answers and the share of people who do not comply.

    `test` is the test that everybody complies, `fit` the test of the model against any reported
    shares. `at_least` and `at_most` bound the shares of all people where the model leaves open
    what the others would answer (`Cheaters`).
    """

    at_least: Estimate | None
    at_most: Estimate | None
    share: Estimate
    test: HypothesisTest
    fit: HypothesisTest


def compliance_tests(mixture: ReportMixture) -> tuple[HypothesisTest, HypothesisTest, float]:
    """The tests of full compliance and of fit, and the log-likelihood.

    The last class is that of non-compliers, whose share is 0, the least it can be, if everybody
    complies: twice the gain is then 0 in half of all surveys, else chi-squared with 1 degree of
    freedom (Self & Liang, 1987, case 5). In the test of fit, every share of 0 counts as a degree of
    freedom: conservative, as chi-squared bounds the distribution at the border.
    """
    shares, best = mixture.maximum
    followers = ReportMixture(mixture.counts, tuple(m[:, :-1] for m in mixture.matrices))
    complied = followers.maximum[1]
    test = mixture.test("everybody complies", best - complied, 1)
    test = replace(test, pvalue=test.pvalue / 2 if test.statistic > 0 else 1.0)
    cells = sum(counts.size - 1 for counts in mixture.counts)
    free = mixture.rank - 1 - int((shares < _ABSENT).sum())
    df = cells - max(free, 0)
    saturated = log_likelihood(mixture.reports, mixture.reports / mixture.sizes)
    return test, mixture.test("the model holds", saturated - best, df), best


#: Reports that are this much more likely if exchanged, in logarithms, are probably reversed: once
#: in 1,000 surveys by chance.
LARGE_GAIN = float(np.log(1000))


class NoncomplianceModel(ABC):
    """People who follow the instructions, and one class of people who do not."""

    #: What the share is a share of, for captions.
    share_name: ClassVar[str]
    #: Whose distribution is estimated, for captions.
    among: ClassVar[str] = " among people who comply"
    #: What identifies the model, for errors.
    remedy: ClassVar[str]
    #: A question whose true distribution is known.
    anchor: str | None = None

    @abstractmethod
    def matrices(self, sample: SampleCounts, target: Attribute) -> tuple[Array, Array]:
        """matrix[reported, true] of people who comply, and the reports of the others."""

    def read(
        self, samples: Sequence[Sample], attribute: str | None
    ) -> tuple[list[SampleCounts], Attribute]:
        """Count the samples; also the attribute whose distribution is estimated."""
        read = read_samples(samples, attribute, self.anchor)
        targets = [a for sample in read for a in sample.attributes if a.name != self.anchor]
        if len({target.name for target in targets}) != 1:
            raise DataError("a model of non-compliance needs one attribute")
        return read, targets[0]

    def distribution(self, target: Attribute) -> list[Quantity]:
        """The share of each category: by default among people who comply."""
        unit = np.eye(target.size + 1)
        return [Quantity(part, 1 - unit[-1]) for part in unit[:-1]]

    def share(self, target: Attribute) -> Quantity:
        """The share of people who do not comply: by default among all."""
        return share_of_all(np.eye(target.size + 1)[-1])

    def given(self, sample: SampleCounts, target: Attribute, share: float) -> Array:
        """matrix[reported, true] if this share of people does not comply."""
        matrix, others = self.matrices(sample, target)
        return (1 - share) * matrix + share * others[:, None]

    def fit(self, samples: Sequence[Sample], attribute: str | None = None) -> ComplianceEstimate:
        """Estimate distribution and share from a list of (reported records, design).

        Refused if the samples cannot identify the share; `sensitivity` shows what an assumed share
        changes.
        """
        read, target = self.read(samples, attribute)
        columns = (np.column_stack(self.matrices(sample, target)) for sample in read)
        mixture = mixture_of(read, columns)
        share, shares = self.share(target), self.distribution(target)
        combinations = [part for q in (share, *shares) for part in (q.part, q.whole)]
        if not all(map(mixture.identified, combinations)):
            raise DataError(
                f"these samples cannot identify the {self.share_name}: {self.remedy}; "
                "tacit.compliance.sensitivity shows the estimate for assumed shares"
            )
        distribution = mixture.estimate(shares, (target,), target.name + self.among)
        warning = _coding_warning(read, mixture)
        distribution = replace(distribution, warning_of=lambda: warning)
        test, fit, best = compliance_tests(mixture)
        others = mixture.estimate([share], (), self.share_name)
        bounds = self.bounds(mixture, target)
        return ComplianceEstimate(distribution, best, *bounds, others, test, fit)

    def bounds(
        self, mixture: ReportMixture, target: Attribute
    ) -> tuple[Estimate | None, Estimate | None]:
        """Lower and upper bounds on the shares of all people, if others may have any answer."""
        return None, None


def _coding_warning(samples: Sequence[SampleCounts], mixture: ReportMixture) -> str:
    """A warning if the reports of comparisons fit far better when their categories are exchanged.

    They have the likelihood of exchanged rows of the matrices.
    """
    coins = {
        name: sample.design.group_of(name).coin
        for sample in samples
        for name in sample.channel.reported.names
        if name in sample.design.schema
    }
    reversible = [name for name, coin in coins.items() if coin.report_words]
    if not reversible:
        return ""
    exchanged = []
    for sample in samples:
        reported = sample.channel.reported
        axes = tuple(reported.index(name) for name in reversible if name in reported)
        exchanged.append(np.flip(sample.counts.reshape(reported.sizes), axes).ravel())
    other = ReportMixture(tuple(exchanged), mixture.matrices)
    gain = other.maximum[1] - mixture.maximum[1]
    if gain < LARGE_GAIN:
        return ""
    return (
        f"CODING: are the reports of {', '.join(reversible)} reversed? Coded the other way round "
        f"they fit the model far better (log-likelihood {gain:+.1f})"
    )


def safe_code(safe: Label | None, attribute: Attribute, label: str) -> int:
    """Code of the safe answer among the categories of an attribute; the first by default."""
    if safe is None:
        return 0
    texts = [str(label) for label in attribute.categories]
    if str(safe) not in texts:
        message = unknown("answer", safe, texts, f" to {attribute.name!r}")
        raise DataError(f"{label}: {message}")
    return texts.index(str(safe))


@dataclass(frozen=True)
class Cheaters(NoncomplianceModel):
    """A share of people reports `safe`, by default the first category, whatever is true.

        q_j = M_j a + b e_safe,    sum a + b = 1

    The distribution is that of the people who comply. Two samples with different coins identify
    honest carriers, honest non-carriers and cheaters, here for any channels and any number of
    categories. What cheaters would answer is not known: the share of a category among all people
    lies between a_c and a_c + b.

    Reference: Clark & Desharnais (1998), Honest answers to embarrassing questions: detecting
    cheating in the randomized response model, Psychological Methods 3, 160-168.
    """

    safe: Label | None = None
    share_name: ClassVar[str] = "share of cheaters"
    remedy: ClassVar[str] = "use two samples whose coins differ, such as two values of theta"

    def matrices(self, sample: SampleCounts, target: Attribute) -> tuple[Array, Array]:
        (reported,) = sample.channel.reported.attributes
        return sample.matrix, np.eye(reported.size)[safe_code(self.safe, reported, sample.label)]

    def bounds(self, mixture: ReportMixture, target: Attribute) -> tuple[Estimate, Estimate]:
        *honest, cheaters = np.eye(target.size + 1)
        name, least = f"{target.name} among all people", [share_of_all(part) for part in honest]
        most = [share_of_all(part + cheaters) for part in honest]
        at_least = mixture.estimate(least, (target,), f"{name}, at least")
        return at_least, mixture.estimate(most, (target,), f"{name}, at most")


@dataclass(frozen=True)
class LyingCarriers(NoncomplianceModel):
    """Carriers report `safe`, by default the first category, with some probability.

        q_j = M_j,no (1 - pi) + M_j,yes pi t + e_no pi (1 - t)

    The distribution is that of all people; the share is that of carriers who deny. The classes are
    those of `Cheaters`; the assumption that all who deny are carriers identifies the prevalence pi
    instead of bounds on it.

    Reference: Moshagen, Musch & Erdfelder (2012), A stochastic lie detector, Behavior Research
    Methods 44, 222-231, with the channel of Mangat (1994): carriers are asked to admit,
    non-carriers to answer truthfully with probability p_j only, so
    q_j,yes = pi t + (1 - pi)(1 - p_j). Here for any channel of a yes/no answer.
    """

    safe: Label | None = None
    share_name: ClassVar[str] = "share of carriers who deny"
    among: ClassVar[str] = ""
    remedy: ClassVar[str] = "use two samples whose coins differ, such as two values of theta"

    def matrices(self, sample: SampleCounts, target: Attribute) -> tuple[Array, Array]:
        (reported,) = sample.channel.reported.attributes
        sizes = target.size, reported.size
        if sizes != (2, 2):
            raise DataError(
                f"{sample.label}: carriers who deny need a yes/no answer with two reports, but "
                f"{reported.name!r} has {sizes[0]} categories and {sizes[1]} reports; "
                "use Cheaters"
            )
        return sample.matrix, np.eye(2)[safe_code(self.safe, reported, sample.label)]

    def distribution(self, target: Attribute) -> list[Quantity]:
        unit = np.eye(3)
        safe = safe_code(self.safe, target, target.name)
        return [share_of_all(unit[c] if c == safe else 1 - unit[safe]) for c in range(2)]

    def share(self, target: Attribute) -> Quantity:
        unit = np.eye(3)
        return Quantity(unit[2], 1 - unit[safe_code(self.safe, target, target.name)])

    def given(self, sample: SampleCounts, target: Attribute, share: float) -> Array:
        matrix, others = self.matrices(sample, target)
        denied = (1 - share) * matrix + share * others[:, None]
        safe = safe_code(self.safe, target, sample.label)
        denied[:, safe] = matrix[:, safe]
        return denied


@dataclass(frozen=True)
class Careless(NoncomplianceModel):
    """A share of people answers at random; the distribution of the `anchor` question is `known`.

        q = (1 - b) M p + b uniform,    q_anchor = (1 - b) M' known + b uniform

    The anchor may be an attribute of the same records, of other samples, or both. The distribution
    is that of the people who comply. If the same people answer both questions, the pairs of
    reports are used: careless people answer both at random, independently; for the others, answer
    and anchor are independent, as they are if everybody has the same answer to the anchor.

    Reference: Atsusaka & Stevenson (2023), A bias-corrected estimator for the crosswise model with
    inattentive respondents, Political Analysis 31(1), 134-148, with an anchor of prevalence 0. Here
    for any channel and any number of categories.
    """

    anchor: str | None = None
    known: Any = ()
    share_name: ClassVar[str] = "share of careless answers"
    remedy: ClassVar[str] = "ask an anchor question whose true distribution is known"

    def __post_init__(self) -> None:
        exact = probabilities(self.known, "known") if self.anchor is not None else ()
        object.__setattr__(self, "known", exact)

    @classmethod
    def of_survey(cls, survey: Any) -> Careless:
        """The model with the control question of a survey, or of a published survey."""
        control = getattr(getattr(survey, "survey", survey), "control", None)
        if control is None:
            raise DataError("the survey has no control question; see `control` in docs/survey.md")
        return cls(control.question, control.distribution)

    def read(
        self, samples: Sequence[Sample], attribute: str | None
    ) -> tuple[list[SampleCounts], Attribute]:
        read, target = super().read(samples, attribute)
        if self.anchor is not None:
            anchor = check_same(read, self.anchor)
            if anchor.size != len(self.known):
                raise DataError(
                    f"known needs {anchor.size} shares, one per category of {anchor.name!r}, "
                    f"got {len(self.known)}"
                )
        return read, target

    def matrices(self, sample: SampleCounts, target: Attribute) -> tuple[Array, Array]:
        matrix, names = sample.matrix, [a.name for a in sample.attributes]
        rows, anchored = len(matrix), np.array([float(p) for p in self.known])
        others = np.full(rows, 1 / rows)
        if names == [target.name]:
            return matrix, others
        if names == [self.anchor]:
            return np.outer(matrix @ anchored, np.ones(target.size)), others
        return matrix.reshape(rows, target.size, -1) @ anchored, others


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
