"""The families of randomized response: coins, which describe how one group is disguised.

A coin picks a strategy s with probability w_s and the group's answers are disguised with it:
M = sum_s w_s * kron_a B[s, a].  A coin says what may happen, in words a page or a
sampler can follow (`strategies`), and which channel results (`channel`); it draws nothing.

A family is a class with its parameters, its words and its source, and a function that checks the
parameters. By its channel it is a `Replacing`, a `KeepOrChange` or a `ByColumn`.
"""

from __future__ import annotations

import inspect
import math
from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping
from dataclasses import dataclass, fields
from fractions import Fraction
from typing import Any, ClassVar, Literal

import numpy as np

from tacit.core.channel import numbers
from tacit.core.channel.channel import AgreementChannel, Channel, MatrixChannel, ReplacementChannel
from tacit.core.channel.numbers import Distribution, Number, probability
from tacit.core.channel.strategies import Differ, Keep, Replace, Strategy, Substitute
from tacit.core.schema import Attribute
from tacit.errors import DesignError, TacitError, unknown

__all__ = [
    "FAMILIES",
    "Coin",
    "christofides",
    "coin_from_dict",
    "crosswise",
    "forced",
    "frapp",
    "kuk",
    "mangat",
    "mangat_singh",
    "matrix",
    "related",
    "triangular",
    "truthful",
    "uniform_perturbation",
    "unrelated",
]

Attributes = tuple[Attribute, ...]
#: What a coin may decide, each with its probability.
Decisions = tuple[tuple[Fraction, Strategy], ...]
#: Nested tuples of fractions, or (attribute name, probabilities) pairs.
Known = tuple[Any, ...]
Columns = tuple[numbers.Probabilities, ...]

#: Joint answers beyond these have no code in 64 bits.
_MOST_JOINT_CELLS = 1 << 62
#: A matrix with more entries is not written out in a text.
_MOST_SHOWN = 100
#: More draws per respondent are not practical.
MOST_CARDS = 50


@dataclass(frozen=True)
class Coin(ABC):
    """How one group is disguised. Subclasses are the families, equal when their parameters are."""

    family: ClassVar[str]
    #: A respondent is asked for the answer, one of two questions, whether two answers agree, or
    #: whether any of two answers is yes.
    asks: ClassVar[Literal["answer", "either", "comparison", "any_yes"]] = "answer"
    #: The source of the family, as a list of references has it; empty if there is none.
    reference: ClassVar[str] = ""
    #: What was done with an answer, for the methods section of a report; names in braces are
    #: parameters.
    procedure: ClassVar[str]
    #: What a report says about the answer; {no} and {yes} are the first and the last category.
    meaning: ClassVar[str] = "the true answer, or one that chance chose"
    #: Whether it disguises only one attribute with two categories.
    one_yes_no: ClassVar[bool] = False
    #: Whether any part of the group has a channel of its own.
    separable: ClassVar[bool] = True
    #: Further words for the categories of a report, by which records may name them.
    report_words: ClassVar[tuple[str, ...]] = ()

    def check(self, attributes: Attributes) -> None:
        """Raise DesignError if the coin cannot disguise these attributes."""
        if self.one_yes_no and [a.size for a in attributes] != [2]:
            raise DesignError(
                f"{self.family} needs a group of one attribute with two categories, got "
                + ", ".join(f"{a.name!r} with {a.size}" for a in attributes)
            )

    def reported(self, attributes: Attributes) -> Attributes:
        """The attributes of a report; the true ones unless reports have categories of their own."""
        if not self.report_words:
            return attributes
        words = self.report_words
        return tuple(Attribute(a.name, a.categories, a.missing, a.edges, words) for a in attributes)

    def report_meaning(self, attributes: Attributes) -> str:
        """What a report says about the answer."""
        categories = attributes[0].categories
        return self.meaning.format(no=categories[0], yes=categories[-1])

    @property
    def methods_text(self) -> str:
        """The procedure with its parameters."""
        parameters = {f.name: plain(getattr(self, f.name)) for f in fields(self)}
        return self.procedure.format(
            **{k: listed(v) if isinstance(v, list | dict) else v for k, v in parameters.items()}
        )

    @abstractmethod
    def strategies(self, attributes: Attributes) -> Decisions:
        """What the coin may decide, and how often."""

    @abstractmethod
    def channel(self, attributes: Attributes, positions: numbers.Unit | None = None) -> Channel:
        """The channel of the attributes at these positions, in that order; of all if None."""

    def flip_odds(self, attributes: Attributes) -> tuple[Fraction, Fraction] | None:
        """Odds of truth and opposite, if all answers are yes/no and the coin decides only that."""
        weights, strategies = zip(*self.strategies(attributes), strict=True)
        flips = strategies == (Keep(), Differ(_single_units(attributes)))
        return (weights[0], weights[1]) if flips and {a.size for a in attributes} == {2} else None

    @property
    def epsilon(self) -> float:
        """Local differential privacy of what this coin disguises, rounded up.

        It is that of one yes/no answer, unless the parameters say how many categories there are.
        `related` and `uniform_perturbation` have a larger one with more categories, and `related`
        an infinite one for several attributes. `Design.epsilon` is that of whole records.

        >>> from tacit import related, unrelated
        >>> related(0.75).epsilon, unrelated(0.5, [0.2, 0.3, 0.5]).epsilon
        (1.0986122886681098, 1.7917594692280552)
        """
        return self.channel(self.example_attributes).epsilon

    @property
    def example_attributes(self) -> Attributes:
        """Attributes that the coin can disguise: as its parameters say, else one yes/no answer."""
        return (Attribute("answer", ("no", "yes")),)

    @property
    def each_throw(self) -> tuple[Fraction, ...] | None:
        """The probabilities that each of several throws decides; None if one throw decides."""
        return None

    @property
    @abstractmethod
    def remedy(self) -> str:
        """Why the channel is singular when it is, and what would help."""

    def to_dict(self) -> dict[str, Any]:
        """JSON-ready description with exact numbers."""
        parameters = {f.name.rstrip("_"): plain(getattr(self, f.name)) for f in fields(self)}
        return {"family": self.family} | {k: v for k, v in parameters.items() if v is not None}

    def __str__(self) -> str:
        texts = {k: str(v).replace("'", "") for k, v in self.to_dict().items() if k != "family"}
        shown = (f"{k}={numbers.shortened(v)}" for k, v in texts.items())
        return f"{self.family}({', '.join(shown)})"


def listed(shares: Any) -> str:
    """Probabilities of one distribution, or of one per attribute, as text."""
    if isinstance(shares, Mapping):
        return "; ".join(f"{name}: {listed(margin)}" for name, margin in shares.items())
    if any(isinstance(share, list) for share in shares):
        return "; ".join(listed(row) for row in shares)
    return ", ".join(map(str, shares))


def plain(value: Any) -> Any:
    """Fractions as strings, tuples as lists, named pairs as objects."""
    if isinstance(value, tuple):
        if value and is_pair(value[0]):
            return {name: plain(item) for name, item in value}
        return [plain(item) for item in value]
    return str(value) if isinstance(value, Fraction) else value


def is_pair(value: Any) -> bool:
    """Whether value is a (name, parameters) pair, the frozen form of a JSON object's member."""
    return isinstance(value, tuple) and len(value) == 2 and isinstance(value[0], str)


def _single_units(attributes: Attributes) -> tuple[numbers.Unit, ...]:
    """Every attribute a unit of its own."""
    return tuple((i,) for i in range(len(attributes)))


# Keep the truth or replace it by a draw ------------------------------------------------------


class Replacing(Coin):
    """Keep the truth with probability `weight`, else report a draw from `drawn`.

        M = theta * I + (1 - theta) * y 1^T        y: a known distribution over the group's cells

        truthful               theta = 1                                 (Du & Zhan: class label)
        unrelated(theta, y)    y: answers to personal questions          (Zhan & Matwin, eq. 1)
        forced(theta, y)       y: what a die makes people say            (survey practice)
        uniform_perturbation   y uniform, theta = q                      (Huang & Du, III-B)
        frapp(lambda)          y uniform, theta = (lambda-1)/(lambda+n-1)  (Huang & Du, III-B)

    The inverse is (P* - (1 - theta) y) / theta for any number of attributes. At theta = 0 no
    estimate exists, although Zhan & Matwin list that case. With independent personal questions a
    pair of attributes has probability y_a y_b; the .5 that Zhan & Matwin give each expression holds
    for one attribute at a time.
    """

    advice: ClassVar[str] = "take theta above 0"

    def check(self, attributes: Attributes) -> None:
        super().check(attributes)
        self.drawn(attributes)

    @abstractmethod
    def weight(self, attributes: Attributes) -> Fraction:
        """Probability of the truth."""

    def drawn(self, attributes: Attributes) -> Distribution:
        """What is reported otherwise."""
        return numbers.uniform(a.size for a in attributes)

    def strategies(self, attributes: Attributes) -> Decisions:
        weight = self.weight(attributes)
        return ((weight, Keep()), (1 - weight, Replace(self.drawn(attributes))))

    def channel(self, attributes: Attributes, positions: numbers.Unit | None = None) -> Channel:
        drawn = self.drawn(attributes)
        if positions is not None:
            drawn = drawn.marginal(positions)
        return ReplacementChannel(self.weight(attributes), drawn)

    @property
    def remedy(self) -> str:
        reason = "its reports are draws that have next to nothing to do with the truth"
        return f"{reason}; {self.advice}"


@dataclass(frozen=True)
class Truthful(Replacing):
    """No disguise."""

    family = "truthful"
    procedure = "not disguised."
    meaning = "the true answer"

    def weight(self, attributes: Attributes) -> Fraction:
        return Fraction(1)

    def strategies(self, attributes: Attributes) -> Decisions:
        return ((Fraction(1), Keep()),)


@dataclass(frozen=True)
class KnownDraw(Replacing):
    """With probability theta the truth, else a draw from a distribution that is given."""

    theta: Fraction
    #: The parameter that is this distribution.
    known: ClassVar[str]

    def weight(self, attributes: Attributes) -> Fraction:
        return self.theta

    def drawn(self, attributes: Attributes) -> Distribution:
        return _fit(getattr(self, self.known), attributes, f"{self.family}: {self.known}")

    @property
    def example_attributes(self) -> Attributes:
        known = getattr(self, self.known)
        if is_pair(known[0]):
            sizes = {name: len(margin) for name, margin in known}
        else:
            shape = np.array(known, dtype=object).shape
            sizes = {f"answer {i + 1}": size for i, size in enumerate(shape)}
        return tuple(Attribute(name, range(size)) for name, size in sizes.items())


@dataclass(frozen=True)
class Unrelated(KnownDraw):
    """With probability theta the private answers, else those to the personal questions."""

    personal: Known
    family = "unrelated"
    known = "personal"
    asks = "either"
    reference = (
        "Greenberg, B. G., Abul-Ela, A.-L. A., Simmons, W. R., & Horvitz, D. G. (1969). The "
        "unrelated question randomized response model: Theoretical framework. Journal of the "
        "American Statistical Association, 64(326), 520-539."
    )
    procedure = (
        "with probability {theta} the sensitive question was answered, otherwise an unrelated one "
        "whose answers have the known probabilities {personal} (Greenberg et al., 1969)."
    )
    meaning = "the true answer, or the answer to the personal question"


@dataclass(frozen=True)
class Forced(KnownDraw):
    """With probability theta the truth, else what the device says."""

    forced: Known
    family = known = "forced"
    reference = (
        "Boruch, R. F. (1971). Assuring confidentiality of responses in social research: A note "
        "on strategies. The American Sociologist, 6(4), 308-311."
    )
    procedure = (
        "with probability {theta} the true answer was reported, otherwise one that "
        "chance decided, with the probabilities {forced} (Boruch, 1971)."
    )


@dataclass(frozen=True)
class UniformPerturbation(Replacing):
    """With probability q the truth, else any category, all alike."""

    q: Fraction
    family = "uniform_perturbation"
    advice = "take q above 0"
    reference = (
        "Agrawal, R., Srikant, R., & Thomas, D. (2005). Privacy preserving OLAP. Proceedings of "
        "ACM SIGMOD, 251-262."
    )
    procedure = (
        "with probability {q} the true answer was reported, otherwise any answer with "
        "the same probability, the true one included (Agrawal, Srikant & Thomas, 2005)."
    )

    def weight(self, attributes: Attributes) -> Fraction:
        return self.q


@dataclass(frozen=True)
class Frapp(Replacing):
    """The truth is lambda times as likely as any other joint answer of the group.

    n counts the joint categories of the whole group. For lambda < 1 the truth is the least
    likely report; then the coin keeps it with lambda/(lambda+n-1) and else picks another.
    """

    lambda_: Fraction
    family = "frapp"
    advice = "take lambda above 1"
    reference = (
        "Agrawal, S., & Haritsa, J. R. (2005). A framework for high-accuracy privacy-preserving "
        "mining. Proceedings of ICDE, 193-204."
    )
    procedure = (
        "the true answer was {lambda_} times as likely to be reported as any other "
        "(Agrawal & Haritsa, 2005)."
    )

    def check(self, attributes: Attributes) -> None:
        if self.lambda_ < 1 and _cells(attributes) > _MOST_JOINT_CELLS:
            raise DesignError(
                "frapp: with lambda below 1 a group may have at most 2^62 joint categories; "
                "make it smaller, or take lambda above 1"
            )

    def weight(self, attributes: Attributes) -> Fraction:
        return (self.lambda_ - 1) / (self.lambda_ + _cells(attributes) - 1)

    def strategies(self, attributes: Attributes) -> Decisions:
        if self.lambda_ >= 1:
            return super().strategies(attributes)
        keep = self.lambda_ / (self.lambda_ + _cells(attributes) - 1)
        return ((keep, Keep()), (1 - keep, Differ((tuple(range(len(attributes))),))))


class OneSided(Replacing):
    """Keep the answer with a probability, else report the second category.

    In mangat and triangular a true yes always reports yes, a true no sometimes does.

        M = [[1 - q, 0],        P(reported yes) = pi + (1 - pi) q
             [q,     1]]

        mangat(p)      q = 1 - p: who truly says no follows Warner's device     (Mangat, 1994)
        triangular(p)  q = p: "no" is sent only if the answer and that to an innocent question of
                       prevalence p are both no                         (Yu, Tian & Tang, 2008)

    Both are forced(1 - q, [0, 1]). A reported yes may come from anyone, but a reported
    no is certainly true, so epsilon is infinite. At q = 1 no estimate exists.
    """

    one_yes_no = True

    def drawn(self, attributes: Attributes) -> Distribution:
        return Distribution.independent([(Fraction(0), Fraction(1))])


@dataclass(frozen=True)
class Mangat(OneSided):
    """Yes is answered truthfully; no with probability p, else yes."""

    p: Fraction
    family = "mangat"
    procedure = (
        "a true yes was always reported as yes; a true no as no with probability {p}, "
        "otherwise as yes (Mangat, 1994)."
    )
    meaning = "{no} only if it is true; {yes} if it is true, or by chance"
    advice = "take p above 0"
    reference = (
        "Mangat, N. S. (1994). An improved randomized response strategy. Journal of the Royal "
        "Statistical Society B, 56(1), 93-95."
    )

    def weight(self, attributes: Attributes) -> Fraction:
        return self.p


_YU_TIAN_TANG = (
    "Yu, J.-W., Tian, G.-L., & Tang, M.-L. (2008). Two new models for survey sampling with "
    "sensitive characteristic: Design and analysis. Metrika, 67, 251-263."
)


@dataclass(frozen=True)
class Triangular(OneSided):
    """Yes means: my answer, or that to an innocent question of prevalence p, or both are yes."""

    p: Fraction
    family = "triangular"
    asks = "any_yes"
    report_words = ("both no", "at least one yes")
    advice = "choose an innocent question with p below 1 (born in the first quarter: 1/4)"
    reference = _YU_TIAN_TANG
    procedure = (
        "respondents reported only whether their answer, or that to an innocent question with "
        "known share {p}, or both are yes (Yu, Tian & Tang, 2008)."
    )
    meaning = "{yes} if at least one of two answers is {yes}, {no} if both are {no}"

    def weight(self, attributes: Attributes) -> Fraction:
        return 1 - self.p


def _cells(attributes: Attributes) -> int:
    return math.prod(a.size for a in attributes)


def _freeze(values: Any, what: str) -> Known:
    """A known distribution as nested tuples: shared, by attribute name, or a joint table."""
    if isinstance(values, Mapping) and values:
        margins = ((str(n), numbers.probabilities(v, f"{what}[{n!r}]")) for n, v in values.items())
        return tuple(margins)
    nested = np.array(values, dtype=object)
    if nested.ndim <= 1:
        return numbers.probabilities(values, what)
    nested.flat[:] = numbers.probabilities(nested.ravel().tolist(), what)
    return tuple(_nested(nested.tolist()))


def _nested(values: Any) -> Any:
    """Nested lists as nested tuples."""
    return tuple(map(_nested, values)) if isinstance(values, list) else values


def _fit(known: Known, attributes: Attributes, what: str) -> Distribution:
    """The known distribution over these attributes, or an error that says what does not fit."""
    if is_pair(known[0]):
        margins, names = dict(known), [a.name for a in attributes]
        for name in margins:
            if name not in names:
                raise DesignError(unknown("attribute", name, names, f" in {what}"))
        for a in attributes:
            given = len(margins.get(a.name, ()))
            if given != a.size:
                message = f"{what} needs {a.size} probabilities for {a.name!r}, got {given}"
                raise DesignError(message)
        return Distribution.independent(margins[name] for name in names)
    sizes = tuple(a.size for a in attributes)
    table = np.array(known, dtype=object)
    if table.ndim == 1 and set(sizes) == {table.size}:
        return Distribution.independent((known,) * len(sizes))
    if table.ndim > 1 and table.shape == sizes:
        return Distribution.joint(sizes, tuple(table.ravel()))
    raise DesignError(
        f"{what} has shape {'x'.join(map(str, table.shape))}, but the group has "
        + ", ".join(f"{a.name!r} with {a.size} categories" for a in attributes)
        + "; give one distribution an attribute by name, or one joint table"
    )


# The truth, or the opposite, about all answers of the group ----------------------------------


class KeepOrChange(Coin):
    """With a probability all true, else all other than true.

        M = theta * I + (1 - theta) * kron_a L_a,    L_a = (J - I) / (k_a - 1)

    For yes/no answers L is the complement: one group is the scheme of Du & Zhan (2003, eq. 3),
    g groups those of Soni & Shrivastva (2013, eq. 4-9; their M_3 has an error in entry (2,6) and
    eq. 9 lists 17 entries for 16, so we take Kronecker products). One attribute of any k is
    Warner's scheme as Huang & Du (2008, section III-B) extend it.

    crosswise(p) is related(p) for one yes/no answer (Yu, Tian & Tang, 2008). mangat_singh(truth, p)
    has two stages: the truth with probability `truth`, else Warner's device with p. That is related
    with theta = truth + (1 - truth) p (Mangat & Singh, 1990).

    At theta = 1/2 for yes/no answers (1/k for one attribute of k categories; in general where
    theta/(1-theta) is the product of 1/(k_a - 1) over an odd number of attributes) M is singular:
    no estimate exists, although the papers' grids of theta list 1/2.
    """

    @property
    @abstractmethod
    def truth_share(self) -> Fraction:
        """The probability that all answers are true."""

    def strategies(self, attributes: Attributes) -> Decisions:
        differ = Differ(_single_units(attributes))
        return ((self.truth_share, Keep()), (1 - self.truth_share, differ))

    def channel(self, attributes: Attributes, positions: numbers.Unit | None = None) -> Channel:
        chosen = range(len(attributes)) if positions is None else positions
        return AgreementChannel(self.truth_share, tuple(attributes[i].size for i in chosen))


@dataclass(frozen=True)
class Related(KeepOrChange):
    """With probability theta all true, else all other than true."""

    theta: Fraction
    family = "related"
    reference = (
        "Warner, S. L. (1965). Randomized response: A survey technique for eliminating evasive "
        "answer bias. Journal of the American Statistical Association, 60(309), 63-69."
    )
    procedure = (
        "with probability {theta} the true answer was reported, otherwise another one, "
        "each other answer with the same probability (Warner, 1965)."
    )

    @property
    def truth_share(self) -> Fraction:
        return self.theta

    @property
    def remedy(self) -> str:
        return (
            f"at theta = {self.theta} the truth and its opposite cannot be told apart; "
            "move theta away from it, for yes/no answers away from 1/2 (a die gives 2/3 or 5/6)"
        )


@dataclass(frozen=True)
class Crosswise(KeepOrChange):
    """Yes means: my answer and that to an innocent question of prevalence p are the same.

    Algebraically related(p) on one yes/no attribute; the second category reports "the same".
    """

    p: Fraction
    family = "crosswise"
    asks = "comparison"
    one_yes_no = True
    report_words = ("different", "same")
    reference = _YU_TIAN_TANG
    procedure = (
        "respondents reported only whether their answer is the same as that to an innocent "
        "question with known share {p} (Yu, Tian & Tang, 2008)."
    )
    meaning = "{yes} if both answers are the same, {no} if they are different"
    remedy = (
        "an innocent question with p = 1/2 hides the answer from everyone; "
        "choose one whose prevalence is away from 1/2 (born in the first quarter: 1/4)"
    )

    @property
    def truth_share(self) -> Fraction:
        return self.p


@dataclass(frozen=True)
class MangatSingh(KeepOrChange):
    """The truth with probability `truth`, else related(p): two devices one after the other."""

    truth: Fraction
    p: Fraction
    family = "mangat_singh"
    reference = (
        "Mangat, N. S., & Singh, R. (1990). An alternative randomized response procedure. "
        "Biometrika, 77(2), 439-442."
    )
    procedure = (
        "with probability {truth} the true answer was reported; otherwise a second draw "
        "decided: the true answer with probability {p}, else another one "
        "(Mangat & Singh, 1990)."
    )

    @property
    def truth_share(self) -> Fraction:
        return self.truth + (1 - self.truth) * self.p

    @property
    def remedy(self) -> str:
        return (
            f"both devices together give the truth with probability {self.truth_share}, at which "
            "the truth and its opposite cannot be told apart; take a larger truth or another p"
        )


# A report drawn by the column of the true answer ---------------------------------------------


class ByColumn(Coin):
    """A distribution of the report for each true joint answer: any matrix M[reported, true]."""

    separable = False

    @property
    @abstractmethod
    def columns(self) -> Columns:
        """Distribution of the report for each true category."""

    def strategies(self, attributes: Attributes) -> Decisions:
        return ((Fraction(1), Substitute(self.columns)),)

    def channel(self, attributes: Attributes, positions: numbers.Unit | None = None) -> Channel:
        if positions is not None and sorted(positions) != list(range(len(attributes))):
            raise DesignError(
                "a matrix on several attributes has no channel for some of them alone; ask for "
                + " and ".join(repr(a.name) for a in attributes)
                + " together"
            )
        shape, reported = (
            tuple(a.size for a in x) for x in (attributes, self.reported(attributes))
        )
        return MatrixChannel(tuple(zip(*self.columns, strict=True)), shape, reported)


@dataclass(frozen=True)
class Matrix(ByColumn):
    """Any column-stochastic M[reported, true] on one attribute or on one joint space.

    Huang & Du (2008, eq. 1); with more reported than true categories also the exact designs that
    beat every square matrix. On several attributes M indexes joint categories (the last
    attribute runs fastest); such a group is reconstructed as a whole and then summed.

    rows: M as rows of exact fractions. labels: of what is reported, if of its own.
    """

    rows: Columns
    labels: Attribute | None = None
    family = "matrix"
    reference = (
        "Huang, Z., & Du, W. (2008). OptRR: Optimizing randomized response schemes for "
        "privacy-preserving data mining. Proceedings of ICDE, 705-714."
    )
    meaning = "a row of the matrix, drawn by the column of the true answer"
    remedy = (
        "its columns are linearly dependent, so different true distributions look alike; "
        "change the matrix until no column is a mixture of the others"
    )

    @property
    def columns(self) -> Columns:
        return tuple(zip(*self.rows, strict=True))

    def check(self, attributes: Attributes) -> None:
        if len(self.columns) != _cells(attributes):
            raise DesignError(
                f"matrix: has {len(self.columns)} columns, but "
                + " x ".join(f"{a.name!r} ({a.size})" for a in attributes)
                + f" has {_cells(attributes)} categories"
            )

    @property
    def example_attributes(self) -> Attributes:
        return (Attribute("answer", range(len(self.columns))),)

    @property
    def methods_text(self) -> str:
        rows = f", with the rows {listed(plain(self.rows))}"
        if len(self.rows) * len(self.columns) > _MOST_SHOWN:
            rows = ", which is part of the published survey"
        return (
            "reports were drawn by a published matrix of probabilities with a row per report and "
            f"a column per true answer{rows} (Huang & Du, 2008)."
        )

    def reported(self, attributes: Attributes) -> Attributes:
        """The true attributes if M is square, else one attribute with a category per row."""
        if self.labels is None and len(self.rows) == len(self.columns):
            return attributes
        numbered = [f"r{i + 1}" for i in range(len(self.rows))]
        labels = numbered if self.labels is None else self.labels.categories
        return (Attribute("+".join(a.name for a in attributes), labels),)

    def to_dict(self) -> dict[str, Any]:
        labels = {} if self.labels is None else {"reported": list(self.labels.categories)}
        return {"family": self.family, "matrix": plain(self.rows), **labels}


class NumberedReports(ByColumn):
    """One yes/no question whose report is a number: a column for each of the two true answers.

        kuk(red_yes, red_no, cards)   The number of red cards among `cards` draws with replacement
                                      from one of two decks: P(y | truth) is binomial with the red
                                      share of the deck that the true answer selects.
        christofides(distribution)    A number y from 1 to L is drawn with known probabilities d_y.
                                      Who truly says no reports y, who truly says yes L + 1 - y.

    The report is one of `cards` + 1 or L numbers, so M has as many rows and two columns. With more
    rows than columns estimates use generalised least squares. No estimate exists if both decks are
    alike, or if d is symmetric.
    """

    one_yes_no = True
    #: The smallest number that is reported.
    first: ClassVar[int]

    def reported(self, attributes: Attributes) -> Attributes:
        labels = [str(self.first + i) for i in range(len(self.columns[0]))]
        return tuple(Attribute(a.name, labels) for a in attributes[:1])


@dataclass(frozen=True)
class Kuk(NumberedReports):
    """Red cards among draws from the deck that the true answer selects."""

    red_yes: Fraction
    red_no: Fraction
    cards: int
    family = "kuk"
    first = 0
    reference = (
        "Kuk, A. Y. C. (1990). Asking sensitive questions indirectly. Biometrika, 77(2), 436-438."
    )
    procedure = (
        "respondents reported the number of red cards among {cards} drawn with replacement, from a "
        "deck with a share {red_yes} of red cards if their answer is yes, from one with {red_no} "
        "if it is no (Kuk, 1990)."
    )
    remedy = (
        "both decks have the same share of red cards, so reports do not depend on the answer; "
        "take another red_yes or red_no"
    )

    def report_meaning(self, attributes: Attributes) -> str:
        no, yes = attributes[0].categories
        likely = yes if self.red_yes > self.red_no else no
        return f"the number of red cards; a large number makes {likely} more likely"

    @property
    def columns(self) -> Columns:
        return binomial(self.red_no, self.cards), binomial(self.red_yes, self.cards)

    @property
    def each_throw(self) -> tuple[Fraction, ...]:
        return (self.red_yes, self.red_no)


@dataclass(frozen=True)
class Christofides(NumberedReports):
    """A drawn number, or its mirror image if the true answer is yes."""

    distribution: numbers.Probabilities
    family = "christofides"
    first = 1
    reference = (
        "Christofides, T. C. (2003). A generalized randomized response technique. Metrika, 57, "
        "195-200."
    )
    procedure = (
        "respondents drew a number with the known probabilities {distribution} and reported it if "
        "their answer is no, or the number counted from the other end if it is yes "
        "(Christofides, 2003)."
    )
    meaning = "the drawn number if the answer is {no}, counted from the other end if it is {yes}"
    remedy = (
        "a distribution that reads the same from both ends hides the answer from everyone; "
        "make small or large numbers more likely"
    )

    @property
    def columns(self) -> Columns:
        return self.distribution, self.distribution[::-1]


def binomial(share: Fraction, draws: int) -> numbers.Probabilities:
    """Exact probabilities of 0 to `draws` successes."""
    n = draws
    return tuple(math.comb(n, k) * share**k * (1 - share) ** (n - k) for k in range(n + 1))


# Families by their names: functions that check the parameters --------------------------------


def truthful() -> Truthful:
    """No disguise."""
    return Truthful()


def related(theta: Number) -> Related:
    """Truth about the whole group with probability theta, else the opposite (Warner; Du & Zhan)."""
    return Related(probability(theta, "related: theta"))


def unrelated(theta: Number, personal: Any) -> Unrelated:
    """The private answers with probability theta, else those to personal questions.

    `personal` is their known distribution: one list of probabilities for every attribute, a
    mapping from attribute name to list, or one joint table for the group.
    """
    known = _freeze(personal, "unrelated: personal")
    return Unrelated(probability(theta, "unrelated: theta"), known)


def uniform_perturbation(q: Number) -> UniformPerturbation:
    """The truth with probability q, else any category."""
    return UniformPerturbation(probability(q, "uniform_perturbation: q"))


def frapp(lambda_: Number) -> Frapp:
    """The truth lambda times as likely as any other joint answer of the group."""
    value = numbers.fraction(lambda_, "frapp: lambda")
    if value < 0:
        raise DesignError(f"frapp: lambda must not be negative, got {lambda_}")
    return Frapp(value)


def forced(theta: Number, forced: Any) -> Forced:
    """The truth with probability theta, else a draw from `forced`, given as `personal` is."""
    return Forced(probability(theta, "forced: theta"), _freeze(forced, "forced: forced"))


def crosswise(p: Number) -> Crosswise:
    """Report whether the answer equals that to an innocent question of known prevalence p."""
    return Crosswise(probability(p, "crosswise: p"))


def triangular(p: Number) -> Triangular:
    """Report whether the answer or that to an innocent question of prevalence p is yes."""
    return Triangular(probability(p, "triangular: p"))


def mangat(p: Number) -> Mangat:
    """Yes always reports yes; no reports no with probability p, else yes. For one yes/no answer."""
    return Mangat(probability(p, "mangat: p"))


def mangat_singh(truth: Number, p: Number) -> MangatSingh:
    """The truth with probability `truth`, else Warner's device: the truth with probability p."""
    return MangatSingh(probability(truth, "mangat_singh: truth"), probability(p, "mangat_singh: p"))


def kuk(red_yes: Number, red_no: Number, cards: int = 1) -> Kuk:
    """The number of red cards among `cards` draws, with replacement, from one of two decks.

    `red_yes` is the share of red cards in the deck for people whose answer is the second category,
    `red_no` in the deck for the others.
    """
    yes, no = probability(red_yes, "kuk: red_yes"), probability(red_no, "kuk: red_no")
    if isinstance(cards, bool) or not isinstance(cards, int) or not 1 <= cards <= MOST_CARDS:
        raise DesignError(
            f"kuk: cards must be a whole number from 1 to {MOST_CARDS}, got {cards!r}"
        )
    if {yes, no} <= {0, 1}:
        raise DesignError(
            "kuk: red_yes and red_no are both 0 or 1, so each draw has only one result; "
            "mix red and black cards in at least one deck"
        )
    return Kuk(yes, no, cards)


def christofides(distribution: Any) -> Christofides:
    """A number drawn with these probabilities, or, if the answer is yes, its mirror image."""
    shares = numbers.probabilities(distribution, "christofides: distribution")
    if len(shares) < 2:
        raise DesignError("christofides: distribution needs at least two numbers to draw from")
    for number, (share, mirrored) in enumerate(zip(shares, shares[::-1], strict=True), 1):
        if share == mirrored == 0:
            raise DesignError(
                f"christofides: distribution never leads to the report {number}: the numbers "
                f"{number} and {len(shares) + 1 - number} have probability 0; leave them out"
            )
    return Christofides(shares)


def matrix(matrix: Any, reported: Any = None) -> Matrix:
    """Any channel: `matrix[reported][true]`, columns summing to 1.

    `reported` labels the rows when they are not the true categories; there may be more rows
    than columns, never fewer.
    """
    try:
        rows = [list(row) for row in matrix]
    except TypeError:
        raise DesignError(f"matrix: must be a list of rows, got {matrix!r}") from None
    if not rows or not rows[0] or any(len(row) != len(rows[0]) for row in rows):
        raise DesignError("matrix: all rows must have the same number of entries")
    if len(rows) < len(rows[0]):
        raise DesignError(
            f"matrix: {len(rows)} reported categories cannot tell {len(rows[0])} true ones apart; "
            "give at least as many rows as columns"
        )
    columns = [
        numbers.probabilities(column, f"matrix: column {j}")
        for j, column in enumerate(zip(*rows, strict=True))
    ]
    exact = tuple(zip(*columns, strict=True))
    for i, row in enumerate(exact):
        if not any(row):
            raise DesignError(f"matrix: row {i} is all zero, so it is never reported; leave it out")
    if reported is None:
        return Matrix(exact)
    if hasattr(reported, "__len__") and len(reported) != len(exact):
        raise DesignError(f"matrix: {len(exact)} rows need as many labels, got {len(reported)}")
    return Matrix(exact, Attribute("matrix: reported", reported))


FAMILIES: dict[str, Callable[..., Coin]] = {
    family.__name__: family
    for family in (
        truthful,
        related,
        unrelated,
        uniform_perturbation,
        frapp,
        forced,
        crosswise,
        triangular,
        mangat,
        mangat_singh,
        kuk,
        christofides,
        matrix,
    )
}


def coin_from_dict(data: Any, where: str) -> Coin:
    """The coin that a design file describes; `where` names its place in the file."""
    if not isinstance(data, Mapping) or "family" not in data:
        raise DesignError(f"{where} must be an object with a 'family', got {data!r}")
    family = data["family"]
    if not isinstance(family, str) or family not in FAMILIES:
        raise DesignError(unknown("family", family, FAMILIES, f" in {where}"))
    make = FAMILIES[family]
    allowed = {name.rstrip("_"): p for name, p in inspect.signature(make).parameters.items()}
    given = {key: value for key, value in data.items() if key != "family"}
    for key in given:
        if key not in allowed:
            raise DesignError(unknown("parameter", key, allowed, f" of {family} in {where}"))
    for key, parameter in allowed.items():
        if parameter.default is parameter.empty and key not in given:
            raise DesignError(f"{where}: {family} needs the parameter {key!r}")
    try:
        return make(**{allowed[key].name: value for key, value in given.items()})
    except TacitError as error:
        raise DesignError(f"{where}: {error}") from None
