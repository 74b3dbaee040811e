"""Keep the truth or replace it by a draw: truthful, unrelated, forced, mangat and others.

    M = theta * I + (1 - theta) * y 1^T        y: a known distribution over the group's cells

    truthful               theta = 1                                   (Du & Zhan: the class label)
    unrelated(theta, y)    y: answers to personal questions            (Zhan & Matwin, eq. 1)
    forced(theta, y)       y: what a die makes people say              (survey practice)
    uniform_perturbation   y uniform, theta = q                        (Huang & Du, III-B)
    frapp(lambda)          y uniform, theta = (lambda-1)/(lambda+n-1)  (Huang & Du, III-B)

The inverse is (P* - (1 - theta) y) / theta for any number of attributes. At theta = 0 no
estimate exists, although Zhan & Matwin list that case. With independent personal questions a
pair of attributes has probability y_a y_b; the .5 that Zhan & Matwin give each expression holds
for one attribute at a time.

In mangat and triangular a true yes always reports yes, a true no sometimes does.

    M = [[1 - q, 0],        P(reported yes) = pi + (1 - pi) q
         [q,     1]]

    mangat(p)      q = 1 - p: who truly says no follows Warner's device     (Mangat, 1994)
    triangular(p)  q = p: "no" is sent only if the answer and that to an innocent question of
                   prevalence p are both no                         (Yu, Tian & Tang, 2008)

Both are forced(1 - q, [0, 1]). A reported yes may come from anyone, but a reported
no is certainly true, so epsilon is infinite. At q = 1 no estimate exists.
"""

from __future__ import annotations

import math
from abc import abstractmethod
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from typing import Any, ClassVar

import numpy as np

from tacit.core.arrays import Array, Codes, Index, Mask
from tacit.core.channel.channel import (
    Channel,
    DenseKernel,
    DiagonalPlusOuter,
    Kernel,
    Mixture,
    Outcomes,
    SecondMoments,
    Step,
    Target,
    check_dense,
    uncertainty,
)
from tacit.core.channel.coin import (
    YU_TIAN_TANG,
    Attributes,
    Coin,
    Differ,
    Keep,
    Replace,
    Strategy,
    all_positions,
    is_pair,
)
from tacit.core.channel.numbers import (
    Distribution,
    Number,
    Probabilities,
    Unit,
    fraction,
    probabilities,
    probability,
    uniform,
)
from tacit.core.channel.weights import (
    Axes,
    EventMoments,
    Events,
    GroupWeights,
    KeepKernel,
    SignedKernel,
    States,
    allowed_cells,
)
from tacit.core.exact_draws import Draws, source_of
from tacit.core.schema import Attribute
from tacit.errors import DesignError, unknown

#: Joint answers beyond these have no code in 64 bits.
_MOST_JOINT_CELLS = 1 << 62

#: Nested tuples of fractions, or (attribute name, probabilities) pairs.
Known = tuple[Any, ...]


class Replacing(Coin):
    """Keep the truth with probability `weight`, else report a draw from `drawn`."""

    advice: ClassVar[str] = "take theta above 0"

    def check(self, attributes: Attributes) -> None:
        super().check(attributes)
        self.drawn(attributes)

    @abstractmethod
    def weight(self, attributes: Attributes) -> Fraction:
        """Probability of the truth."""

    def drawn(self, attributes: Attributes) -> Distribution:
        """What is reported otherwise."""
        return uniform(a.size for a in attributes)

    def strategies(self, attributes: Attributes) -> tuple[tuple[Fraction, Strategy], ...]:
        weight = self.weight(attributes)
        return ((weight, Keep()), (1 - weight, Replace(*self.drawn(attributes).units)))

    def channel(self, attributes: Attributes, positions: Unit | None = None) -> ReplacementChannel:
        chosen = all_positions(attributes, positions)
        drawn = self.drawn(attributes).marginal(chosen)
        return ReplacementChannel(self.weight(attributes), drawn)

    @property
    def remedy(self) -> str:
        return (
            f"its reports are draws that have next to nothing to do with the truth; {self.advice}"
        )


@dataclass(frozen=True)
class Truthful(Replacing):
    """No disguise."""

    family: ClassVar[str] = "truthful"
    procedure: ClassVar[str] = "not disguised."
    meaning: ClassVar[str] = "the true answer"

    def weight(self, attributes: Attributes) -> Fraction:
        return Fraction(1)

    def strategies(self, attributes: Attributes) -> tuple[tuple[Fraction, Strategy], ...]:
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
    family: ClassVar[str] = "unrelated"
    reference: ClassVar[str] = (
        "Greenberg, B. G., Abul-Ela, A.-L. A., Simmons, W. R., & Horvitz, D. G. (1969). The "
        "unrelated question randomized response model: Theoretical framework. Journal of the "
        "American Statistical Association, 64(326), 520-539."
    )
    procedure: ClassVar[str] = (
        "with probability {theta} the sensitive question was answered, otherwise an unrelated one "
        "whose answers have the known probabilities {personal} (Greenberg et al., 1969)."
    )
    meaning: ClassVar[str] = "the true answer, or the answer to the personal question"
    known: ClassVar[str] = "personal"
    asks = "either"


@dataclass(frozen=True)
class Forced(KnownDraw):
    """With probability theta the truth, else what the device says."""

    forced: Known
    family: ClassVar[str] = "forced"
    reference: ClassVar[str] = (
        "Boruch, R. F. (1971). Assuring confidentiality of responses in social research: A note "
        "on strategies. The American Sociologist, 6(4), 308-311."
    )
    procedure: ClassVar[str] = (
        "with probability {theta} the true answer was reported, otherwise one that "
        "chance decided, with the probabilities {forced} (Boruch, 1971)."
    )
    known: ClassVar[str] = "forced"


@dataclass(frozen=True)
class UniformPerturbation(Replacing):
    """With probability q the truth, else any category, all alike."""

    q: Fraction
    family: ClassVar[str] = "uniform_perturbation"
    reference: ClassVar[str] = (
        "Agrawal, R., Srikant, R., & Thomas, D. (2005). Privacy preserving OLAP. Proceedings of "
        "ACM SIGMOD, 251-262."
    )
    procedure: ClassVar[str] = (
        "with probability {q} the true answer was reported, otherwise any answer with "
        "the same probability, the true one included (Agrawal, Srikant & Thomas, 2005)."
    )
    advice: ClassVar[str] = "take q above 0"

    def weight(self, attributes: Attributes) -> Fraction:
        return self.q


@dataclass(frozen=True)
class Frapp(Replacing):
    """The truth is lambda times as likely as any other joint answer of the group.

    n counts the joint categories of the whole group. For lambda < 1 the truth is the least
    likely report; then the coin keeps it with lambda/(lambda+n-1) and else picks another.
    """

    lambda_: Fraction
    family: ClassVar[str] = "frapp"
    reference: ClassVar[str] = (
        "Agrawal, S., & Haritsa, J. R. (2005). A framework for high-accuracy privacy-preserving "
        "mining. Proceedings of ICDE, 193-204."
    )
    procedure: ClassVar[str] = (
        "the true answer was {lambda_} times as likely to be reported as any other "
        "(Agrawal & Haritsa, 2005)."
    )
    advice: ClassVar[str] = "take lambda above 1"

    def check(self, attributes: Attributes) -> None:
        if self.lambda_ < 1 and math.prod(a.size for a in attributes) > _MOST_JOINT_CELLS:
            raise DesignError(
                "frapp: with lambda below 1 a group may have at most 2^62 joint categories; "
                "make it smaller, or take lambda above 1"
            )

    def weight(self, attributes: Attributes) -> Fraction:
        cells = math.prod(a.size for a in attributes)
        return (self.lambda_ - 1) / (self.lambda_ + cells - 1)

    def strategies(self, attributes: Attributes) -> tuple[tuple[Fraction, Strategy], ...]:
        if self.lambda_ >= 1:
            return super().strategies(attributes)
        keep = self.lambda_ / (self.lambda_ + math.prod(a.size for a in attributes) - 1)
        return ((keep, Keep()), (1 - keep, Differ((all_positions(attributes, None),))))


class OneSided(Replacing):
    """Keep the answer with a probability, else report the second category."""

    one_yes_no: ClassVar[bool] = True

    def drawn(self, attributes: Attributes) -> Distribution:
        return Distribution.independent([(Fraction(0), Fraction(1))])


@dataclass(frozen=True)
class Mangat(OneSided):
    """Yes is answered truthfully; no with probability p, else yes."""

    p: Fraction
    family: ClassVar[str] = "mangat"
    reference: ClassVar[str] = (
        "Mangat, N. S. (1994). An improved randomized response strategy. Journal of the Royal "
        "Statistical Society B, 56(1), 93-95."
    )
    procedure: ClassVar[str] = (
        "a true yes was always reported as yes; a true no as no with probability {p}, "
        "otherwise as yes (Mangat, 1994)."
    )
    meaning: ClassVar[str] = "{no} only if it is true; {yes} if it is true, or by chance"
    advice: ClassVar[str] = "take p above 0"

    def weight(self, attributes: Attributes) -> Fraction:
        return self.p


@dataclass(frozen=True)
class Triangular(OneSided):
    """Yes means: my answer, or that to an innocent question of prevalence p, or both are yes."""

    p: Fraction
    family: ClassVar[str] = "triangular"
    reference: ClassVar[str] = YU_TIAN_TANG
    procedure: ClassVar[str] = (
        "respondents reported only whether their answer, or that to an innocent question with "
        "known share {p}, or both are yes (Yu, Tian & Tang, 2008)."
    )
    meaning: ClassVar[str] = "{yes} if at least one of two answers is {yes}, {no} if both are {no}"
    advice: ClassVar[str] = (
        "choose an innocent question with p below 1 (born in the first quarter: 1/4)"
    )
    asks = "any_yes"
    report_words = ("both no", "at least one yes")

    def weight(self, attributes: Attributes) -> Fraction:
        return 1 - self.p


@dataclass(frozen=True)
class ReplacementChannel(Channel):
    """theta * I + (1 - theta) * y 1^T; theta is negative for frapp with lambda < 1."""

    theta: Fraction
    drawn: Distribution

    @property
    def true_shape(self) -> tuple[int, ...]:
        return self.drawn.shape

    @property
    def ratio(self) -> Fraction | None:
        """(theta + (1-theta) y) / ((1-theta) y) at the smallest y: the least likely draw."""
        off = (1 - self.theta) * self.drawn.smallest
        on = self.theta + off
        if self.theta == 0:
            return Fraction(1)
        return None if min(on, off) == 0 else max(on, off) / min(on, off)

    @property
    def overlap(self) -> Fraction:
        lost = self.theta * math.prod(self.true_shape) if self.theta < 0 else 0
        return lost + 1 - self.theta

    def experiments(self, target: Target | None = None) -> list[Outcomes]:
        """Cells drawn less often dominate: a garbling can move uninformative draws onto a cell."""
        if target is None:
            first, second = self.drawn.two_smallest
            pairs = [(first, second), (second, first)]
        else:
            position, *codes = target
            first, second = (self.drawn.smallest_with(position, code) for code in codes)
            pairs = [(first, second)]
        theta, off = self.theta, 1 - self.theta
        return [
            [
                (theta + off * first, off * first),
                (off * second, theta + off * second),
                (off * (1 - first - second),) * 2,
            ]
            for first, second in pairs
        ]

    @property
    def condition(self) -> float:
        """Singular values: |theta|, and those of a 2 x 2 matrix on the span of 1 and y."""
        theta = float(self.theta)
        tilt = (1 - theta) * math.sqrt(max(self.drawn.concentration - 1, 0.0))
        if math.isinf(tilt):
            return math.inf
        values = np.linalg.svd(np.array([[1.0, 0.0], [tilt, theta]]), compute_uv=False)
        smallest = min(values[1], abs(theta))
        return math.inf if smallest == 0 else float(max(values[0], abs(theta)) / smallest)

    @property
    def magnification(self) -> float:
        """Sum of absolute entries in a column of the inverse, at most: it does not grow with k."""
        return float((1 + abs(1 - self.theta)) / abs(self.theta)) if self.theta else math.inf

    @cached_property
    def forward(self) -> DiagonalPlusOuter:
        theta, y = float(self.theta), self.drawn.cells
        return DiagonalPlusOuter(np.full(y.size, theta), (1 - theta) * y, np.ones(y.size))

    @cached_property
    def inverse(self) -> DiagonalPlusOuter:
        theta, y = float(self.theta), self.drawn.cells
        rest = -(1 - theta) / theta * y
        return DiagonalPlusOuter(np.full(y.size, 1 / theta), rest, np.ones(y.size))

    def moments(self, power: int) -> SecondMoments:
        """Row x of the inverse to a power is d_x at x plus u_x everywhere; columns sum to 1."""
        powers = self.inverse.power(power)
        elsewhere = powers.d * self.forward.u + powers.u
        return SecondMoments(elsewhere + powers.d * self.forward.d, elsewhere, elsewhere)

    def weights(self, attributes: Axes, inverse: Callable[[], Array]) -> KeepOrDrawWeights:
        return KeepOrDrawWeights(attributes, float(self.theta), self.drawn)

    @cached_property
    def kernel(self) -> KeepOrReplace:
        return KeepOrReplace(self.theta, float(1 - self.theta), self.drawn)


@dataclass(frozen=True, eq=False)
class KeepOrDrawWeights(GroupWeights):
    """All true with probability theta, else a draw. States: 0 met all conditions, 1 did not."""

    theta: float
    drawn: Distribution

    @property
    def exact(self) -> bool:
        return self.theta == 1

    @property
    def same_for_all_events(self) -> bool:
        return self.exact

    @property
    def n_states(self) -> int:
        return 1 if self.exact else 2

    @property
    def heaviest(self) -> float:
        return 1 / abs(self.theta)

    def dropped(self, states: States) -> Mask:
        return self.settled(states) if self.exact else super().dropped(states)

    def settled(self, states: States) -> Mask:
        return np.asarray(states == 1)

    def step(self, states: States, attribute: int | Index, hit: Mask) -> States:
        return np.where(hit, states, np.int8(1))

    def weights(self, events: Events, states: States) -> Array:
        met = (states == 0)[None]
        if self.exact:
            return np.asarray(met, np.float64)
        return np.asarray(met / self.theta - self._draw_weight * self._likelihood(events)[:, None])

    def moments(self, event: Events, power: int = 2) -> EventMoments:
        chance = float(self._likelihood(event)[0])
        inside, outside = (
            (met / self.theta - self._draw_weight * chance) ** power for met in (1.0, 0.0)
        )
        drawn = (1 - self.theta) * (chance * inside + (1 - chance) * outside)
        return EventMoments(*((self.theta * g + drawn,) * 2 for g in (inside, outside)))

    def kernels(self, reported: Axes) -> tuple[SignedKernel, ...]:
        keep = KeepKernel(self.attributes, reported, 1 / self.theta)
        draw = DrawKernel(self.attributes, reported, -self._draw_weight, self.drawn)
        return (keep,) if self.exact else (keep, draw)

    @property
    def _draw_weight(self) -> float:
        return (1 - self.theta) / self.theta

    def _likelihood(self, events: Events) -> Array:
        """P(Y in E): attributes that are drawn apart contribute one factor each."""
        n, fixed = len(events.allowed), events.fixed
        whole, chances = np.ones(n), np.ones((n, *(events.sizes[a] for a in fixed)))
        for unit, table in self._tables:
            inside = tuple(a for a in fixed if a in unit)
            parted = events.with_fixed(inside)
            factor = allowed_cells([parted.of(a) for a in unit]) @ table
            if inside:
                sizes = (events.sizes[a] if a in inside else 1 for a in fixed)
                chances *= factor.reshape(n, *sizes)
            else:
                whole *= factor
        return (whole.reshape(n, *(1,) * len(fixed)) * chances).ravel()

    @cached_property
    def _tables(self) -> list[tuple[tuple[int, ...], Array]]:
        """Attributes that are drawn together, and their distribution."""
        return [
            (tuple(self.attributes[i] for i in unit), np.array(table, dtype=np.float64))
            for unit, table in zip(*self.drawn.units, strict=True)
        ]


@dataclass(frozen=True, eq=False)
class DrawKernel(SignedKernel):
    """Draw the group's answers from a known distribution, independently for every record."""

    drawn: Distribution

    random: ClassVar[bool] = True

    @cached_property
    def _units(self) -> list[tuple[tuple[int, ...], Draws]]:
        units, distributions = self.drawn.units
        return [(u, Draws([d])) for u, d in zip(units, distributions, strict=True)]

    def write(self, reported: Codes, copy: Codes, rng: np.random.Generator) -> None:
        source = source_of(rng)
        for unit, draws in self._units:
            cells = draws.draw(None, len(copy), source)
            answers = np.unravel_index(cells, [self.drawn.shape[i] for i in unit])
            for position, codes in zip(unit, answers, strict=True):
                copy[:, self.true[position]] = codes


@dataclass(frozen=True, eq=False)
class KeepOrReplace(Kernel):
    """theta * I + rest * y 1^T, y the distribution of the draw that replaces the truth."""

    theta: Fraction
    rest: float
    drawn: Distribution

    @cached_property
    def same(self) -> Array:
        """The diagonal; if theta is negative, y is uniform (frapp), and the exact sum is taken."""
        if self.theta < 0:
            exact = float(self.theta + (1 - self.theta) * self.drawn.smallest)
            return np.full(self.other.size, exact)
        return float(self.theta) + self.other

    @cached_property
    def other(self) -> Array:
        """Entries off the diagonal, by row."""
        return self.rest * self.drawn.cells

    @property
    def length(self) -> int:
        return self.other.size

    @property
    def mixture(self) -> Mixture:
        positions, margins = self.drawn.units
        others: tuple[Array, ...] = ()
        if self.theta >= 0 and len(positions) == len(self.drawn.shape):
            rows = (np.array(margin, dtype=np.float64) for margin in margins)
            others = tuple(np.repeat(row[:, None], row.size, axis=1) for row in rows)
        return Mixture(float(self.theta), self.rest, others, self.drawn)

    @cached_property
    def _dense(self) -> DenseKernel:
        """If theta is negative, the short formulas would subtract."""
        return DenseKernel(self.entries)

    def apply(self, step: Step, table: Array) -> Array:
        if self.theta < 0:
            return self._dense.apply(step, table)
        same, other = self.same, self.other
        if step is Step.PEAK:
            return np.maximum(same[:, None] * table, np.outer(other, table.max(axis=0)))
        if step is Step.TOTAL:
            return (same - other)[:, None] * table + np.outer(other, table.sum(axis=0))
        squares = ((same - other) * (same + other))[:, None] * table
        return squares + np.outer(other**2, table.sum(axis=0))

    @property
    def entropies(self) -> Array:
        if self.theta < 0:
            return self._dense.entropies
        other = uncertainty(self.other)
        return np.asarray(uncertainty(self.same) - other + other.sum())

    @property
    def entries(self) -> Array:
        check_dense(self.length)
        matrix = np.repeat(self.other[:, None], self.length, axis=1)
        np.fill_diagonal(matrix, self.same)
        return matrix

    def outcomes(self, answers: Index) -> Iterator[Array]:
        """Category y reported with the others as known, per y; or the others not as known: then a
        draw was reported, which says nothing.
        """
        size = self.drawn.shape[0]
        cells = self.drawn.at([np.arange(size)[:, None], *answers])
        cells = np.broadcast_to(cells, (size, *answers.shape[1:]))
        for y, cell in enumerate(cells):
            table = np.repeat(self.rest * cell[None], size, axis=0)
            if self.theta >= 0:
                table[y] += float(self.theta)
            else:
                table[y] = self.same[0]
            yield table
        if len(answers):
            yield np.repeat(self.rest * np.maximum(1 - cells.sum(axis=0), 0)[None], size, axis=0)


def _freeze(values: Any, what: str) -> Known:
    """A known distribution as nested tuples: shared, by attribute name, or a joint table."""
    if isinstance(values, Mapping) and values:
        return tuple(
            (str(name), probabilities(v, f"{what}[{name!r}]")) for name, v in values.items()
        )
    nested = np.array(values, dtype=object)
    if nested.ndim <= 1:
        return probabilities(values, what)
    nested.flat[:] = probabilities(nested.ravel().tolist(), what)
    return tuple(_nested(nested.tolist()))


def _nested(values: Any) -> Any:
    """Nested lists as nested tuples."""
    return tuple(map(_nested, values)) if isinstance(values, list) else values


def _fit(known: Known, attributes: Attributes, what: str) -> Distribution:
    """The known distribution over these attributes, or an error that says what does not fit."""
    sizes = tuple(a.size for a in attributes)
    if is_pair(known[0]):
        return Distribution.independent(_by_name(dict(known), attributes, what))
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


def _by_name(
    margins: dict[str, Probabilities], attributes: Attributes, what: str
) -> list[Probabilities]:
    names = [a.name for a in attributes]
    for name in margins:
        if name not in names:
            raise DesignError(unknown("attribute", name, names, f" in {what}"))
    for a in attributes:
        given = len(margins.get(a.name, ()))
        if given != a.size:
            raise DesignError(f"{what} needs {a.size} probabilities for {a.name!r}, got {given}")
    return [margins[name] for name in names]


def truthful() -> Truthful:
    """No disguise."""
    return Truthful()


def unrelated(theta: Number, personal: Any) -> Unrelated:
    """The private answers with probability theta, else those to personal questions.

    `personal` is their known distribution: one list of probabilities for every attribute, a
    mapping from attribute name to list, or one joint table for the group.
    """
    return Unrelated(
        probability(theta, "unrelated: theta"), _freeze(personal, "unrelated: personal")
    )


def forced(theta: Number, forced: Any) -> Forced:
    """The truth with probability theta, else a draw from `forced`, given as `personal` is."""
    return Forced(probability(theta, "forced: theta"), _freeze(forced, "forced: forced"))


def uniform_perturbation(q: Number) -> UniformPerturbation:
    """The truth with probability q, else any category."""
    return UniformPerturbation(probability(q, "uniform_perturbation: q"))


def frapp(lambda_: Number) -> Frapp:
    """The truth lambda times as likely as any other joint answer of the group."""
    value = fraction(lambda_, "frapp: lambda")
    if value < 0:
        raise DesignError(f"frapp: lambda must not be negative, got {lambda_}")
    return Frapp(value)


def mangat(p: Number) -> Mangat:
    """Yes always reports yes; no reports no with probability p, else yes. For one yes/no answer."""
    return Mangat(probability(p, "mangat: p"))


def triangular(p: Number) -> Triangular:
    """Report whether the answer or that to an innocent question of prevalence p is yes."""
    return Triangular(probability(p, "triangular: p"))
