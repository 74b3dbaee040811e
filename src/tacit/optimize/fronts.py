"""Front: channels of which none is better in both privacy and error, with a lower bound.

A frozen value: numbers as arrays, a table, a figure, exact JSON. Picking one of its channels by
the privacy or the error wanted gives a `ChosenChannel`, which goes into a design.
"""

from __future__ import annotations

import itertools
import json
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from functools import cached_property, partial
from typing import TYPE_CHECKING, Any

import numpy as np
from scipy.optimize import linear_sum_assignment
from threadpoolctl import threadpool_limits

from tacit.core.arrays import Array, Index
from tacit.core.channel import Coin, matrix
from tacit.core.design import Design, Group
from tacit.core.imports import optional_imports
from tacit.core.schema import Attribute, Schema
from tacit.errors import DesignError, FileError
from tacit.optimize import objectives
from tacit.optimize.exact import Exact, prove
from tacit.optimize.problem import FrontProblem, SearchMethod, problem_of
from tacit.output.json_documents import DocumentFormat, read_document, reading
from tacit.output.number_text import number_of
from tacit.output.table import Figure, Table, TabularResult
from tacit.reconstruction import Estimate
from tacit.reconstruction.interval import check_level
from tacit.reconstruction.tables import project
from tacit.records import Progress

if TYPE_CHECKING:
    from matplotlib.axes import Axes


#: Colours of the curves.
BLUE, GREY, RED = "#1f5fa8", "#6b6b6b", "#b3442c"


Rows = tuple[tuple[Fraction, ...], ...]
_DIGITS = (12, 15)
_SHARES = (0.0, 1e-10, 1e-9, 1e-8, 1e-7, 1e-6, 1e-5, 1e-4, 1e-3)


def rational(matrix: Array, problem: FrontProblem) -> Rows:
    """The matrix as exact decimals, nearly the same, and exactly within the bounds.

    A coin's parameters are fractions, and bounds that a respondent relies on must hold for what is
    really drawn. Entries are cut to decimals and each column's rest goes to the entries that lost
    most; zeros stay zero. Optimisers leave a guard, so nearly always this keeps delta and epsilon;
    both are checked exactly; as long as one fails, the matrix is mixed with one that says nothing
    (every column the distribution of the reports), which is strictly inside both bounds.
    """
    used = np.asarray(matrix, dtype=np.float64)
    used = used[(used @ problem.p) > 0]
    reports = (used @ problem.p)[:, None]
    for share in _SHARES:
        mixed = (1 - share) * used + share * reports
        for digits in _DIGITS:
            rows = _decimals(mixed, digits)
            if problem.holds(rows):
                return rows
    raise DesignError("the channel is too far outside its bounds to be fixed by rounding")


def _decimals(matrix: Array, digits: int) -> Rows:
    """Entries cut to `digits` decimals; the rest of a column goes to the entries that lost most."""
    whole_column = 10**digits
    scaled = matrix / matrix.sum(axis=0) * whole_column
    whole = np.floor(scaled)
    lost = np.where(scaled > 0, scaled - whole, -1.0)
    units = [[int(entry) for entry in row] for row in whole]
    for x in range(matrix.shape[1]):
        rest = whole_column - sum(row[x] for row in units)
        order = np.argsort(-lost[:, x], kind="stable")
        share, extra = divmod(rest, len(order)) if rest < 0 or rest > len(order) else (0, rest)
        if share:
            units[int(scaled[:, x].argmax())][x] += share * len(order)
        for y in order[:extra]:
            units[int(y)][x] += 1
    return tuple(tuple(Fraction(unit, whole_column) for unit in row) for row in units)


#: Letters of a label; a survey file's names have at most 100, and a number may follow.
_LONGEST = 90


@dataclass(frozen=True)
class ReportedCategory:
    """One reported category: its label, how often it comes, and from which true answers.

    chances: the probability that someone with each true answer reports it.
    posterior: what a report of it says about the true answer.
    """

    label: str
    share: float
    chances: tuple[float, ...]
    posterior: tuple[float, ...]


@dataclass(frozen=True, eq=False)
class ChosenChannel:
    """A channel with its privacy, its error and the least error that any channel could have."""

    problem: FrontProblem
    matrix: Array
    privacy: float
    mse: float
    lower_bound: float

    @cached_property
    def rows(self) -> Rows:
        """The matrix as exact decimals: columns sum to 1, the bounds hold exactly."""
        return rational(self.matrix, self.problem)

    @property
    def square(self) -> bool:
        """Whether the true categories are what is reported."""
        return bool(self.matrix.shape[0] == self.matrix.shape[1])

    @property
    def _attributes(self) -> tuple[Attribute, ...]:
        """The attributes of the prior; numbered ones if it names none."""
        shape = self.problem.shape
        names = ["answer"] if len(shape) == 1 else [f"answer {i + 1}" for i in range(len(shape))]
        return self.problem.attributes or tuple(
            Attribute(name, [f"c{j + 1}" for j in range(size)])
            for name, size in zip(names, shape, strict=True)
        )

    @property
    def categories(self) -> list[str]:
        """Labels of the true categories; joint ones joined."""
        labels = itertools.product(*(a.categories for a in self._attributes))
        return [" & ".join(map(str, cell)) for cell in labels]

    @cached_property
    def reports(self) -> tuple[ReportedCategory, ...]:
        """Every reported category, with labels for people."""
        joint = self.matrix * self.problem.p
        shares = joint.sum(axis=1)
        posteriors = joint / shares[:, None]
        labels = self.categories if self.square else _labels(self.matrix, posteriors, self)
        return tuple(
            ReportedCategory(label, float(share), tuple(row.tolist()), tuple(posterior.tolist()))
            for label, share, row, posterior in zip(
                labels, shares, self.matrix, posteriors, strict=True
            )
        )

    def coin(self) -> Coin:
        """The channel as a coin with exact parameters."""
        labels = None if self.square else [report.label for report in self.reports]
        return matrix(self.rows, labels)

    def group(self, names: Sequence[str] | None = None) -> Group:
        """A group that disguises these attributes with the channel."""
        return Group(names or [a.name for a in self._attributes], self.coin())

    def design(self, attributes: Sequence[Attribute] | None = None) -> Design:
        """A design of these attributes alone, one group; those of the prior if it names them."""
        chosen = tuple(attributes) if attributes is not None else self._attributes
        sizes = tuple(a.size for a in chosen)
        if sizes != self.problem.shape:
            needed, given = (" x ".join(map(str, shape)) for shape in (self.problem.shape, sizes))
            raise DesignError(
                f"the channel is for categories {needed}, the attributes have {given}"
            )
        return Design(Schema(chosen), [Group([a.name for a in chosen], self.coin())])

    def survey_group(self, questions: Sequence[str] | None = None) -> dict[str, Any]:
        """The channel as a group of a survey file, for these questions, with decimals.

        At most 15 decimals are the same number as a float, so the survey's design is exactly
        this one.
        """
        coin = self.coin().to_dict() | {"matrix": [[float(m) for m in row] for row in self.rows]}
        return {"questions": list(questions or (a.name for a in self._attributes)), **coin}

    def columns(self) -> dict[str, list[Any]]:
        """A row per report: its label, its share, and the probability of each true category."""
        chances = zip(*(report.chances for report in self.reports), strict=True)
        return {
            "report": [report.label for report in self.reports],
            "share": [report.share for report in self.reports],
            **{name: list(column) for name, column in zip(self.categories, chances, strict=True)},
        }

    def to_table(self) -> Table:
        """A row per report: its share, and who reports it."""
        rows = []
        for report in self.reports:
            chances = zip(report.chances, self.categories, strict=True)
            who = [f"{100 * chance:.3g} % of {name}" for chance, name in chances if chance > 0]
            rows.append([report.label, f"{100 * report.share:.2f} %", ", ".join(who)])
        title = (
            f"privacy {self.privacy:.4f}, mean squared error {self.mse:.4g}; no channel of this "
            f"privacy has less than {self.lower_bound:.4g}"
        )
        return Table(("report", "share", "reported by"), rows, title, "lrl")

    def to_dict(self) -> dict[str, Any]:
        """JSON-ready channel."""
        return {
            "tacit": "choice",
            "version": 1,
            "privacy": self.privacy,
            "mse": self.mse,
            "lower_bound": self.lower_bound,
            "categories": self.categories,
            "reports": [
                {"label": r.label, "share": r.share, "chances": list(r.chances)}
                for r in self.reports
            ],
        }


def _labels(matrix: Array, posteriors: Array, choice: ChosenChannel) -> list[str]:
    """A label for each report: 'a or b (or c)', the answers it points to, in brackets those it
    points to less; where that is too long for a name, the first one and how many more.

    A report points to the answers that can lead to it; under an epsilon bound, where all can, to
    those more likely to than the middle of the row (by logarithm). Equal labels are numbered.
    """
    names, labels = np.array(choice.categories, dtype=object), list[str]()
    used: Counter[str] = Counter()
    bounded = choice.problem.epsilon is not None
    for row, posterior in zip(matrix, posteriors, strict=True):
        inside = row > (np.sqrt(row.min() * row.max()) if bounded else 0)
        is_strong = inside & ((posterior >= 0.999 * posterior.max()) | bounded)
        strong, weak = names[is_strong].tolist(), names[inside & ~is_strong].tolist()
        label = " or ".join(strong) + (f" (or {' or '.join(weak)})" if weak else "")
        if len(label) > _LONGEST:
            others = len(strong) + len(weak) - 1
            label = strong[0][: _LONGEST - 20] + (f" or {others} more" if others else "")
        used[label] += 1
        labels.append(label if used[label] == 1 else f"{label} #{used[label]}")
    return labels


def front_figure(caption: str) -> tuple[Figure, Axes]:
    """A figure with empty axes of error against privacy."""
    with optional_imports():
        from tacit.output.plot_style import curve_figure

    across = "privacy: how often the best guess from a report is wrong"
    figure, axes = curve_figure(across, "mean squared error of the estimate", caption)
    axes.set_yscale("log")
    return figure, axes


def _spaced(rows: int, most: int) -> Index:
    """Numbers of at most `most` rows, evenly chosen with both ends."""
    return np.unique(np.linspace(0, rows - 1, min(most, rows)).round().astype(np.intp))


_NUMBERS = ("privacy", "mse", "lower_bound")
_PROBLEM = ("prior", "shape", "attributes", "n_records", "delta", "epsilon")
FORMAT = DocumentFormat("front", "front file", (("method", *_PROBLEM, "points"),))
#: Rows of a printed table before it is thinned.
_SHOWN = 20


@dataclass(frozen=True, eq=False, repr=False)
class Front(TabularResult):
    """Channels by rising privacy and rising error.

    privacy, mse: one number per channel; lower_bound: no channel at all of at least that privacy
    has a smaller mse. channels: the matrices[reported, true]. state: where the search stopped,
    for methods that can go on.
    """

    problem: FrontProblem
    method: str
    privacy: Array
    mse: Array
    lower_bound: Array
    channels: tuple[Array, ...]
    state: Any = field(default=None, repr=False)

    def __post_init__(self) -> None:
        for array in (self.privacy, self.mse, self.lower_bound, *self.channels):
            array.setflags(write=False)

    def __len__(self) -> int:
        return len(self.channels)

    def __getitem__(self, index: int) -> ChosenChannel:
        """The channel at an index, counted from the least private."""
        at = range(len(self))[index]
        numbers = {name: float(getattr(self, name)[at]) for name in _NUMBERS}
        return ChosenChannel(self.problem, self.channels[at], **numbers)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Front) and self.to_dict() == other.to_dict()

    def __hash__(self) -> int:
        return hash((self.problem, self.method, self.privacy.tobytes(), self.mse.tobytes()))

    def pick(self, privacy: float | None = None, mse: float | None = None) -> ChosenChannel:
        """The channel of least error with at least this privacy, or of most privacy with at most
        this error; give exactly one of them.
        """
        if privacy is not None and mse is None:
            indexes = np.flatnonzero(self.privacy >= privacy - 1e-12)
            reach = f"privacy {privacy:g}; this front goes up to {self.privacy[-1]:.6g}"
        elif mse is not None and privacy is None:
            indexes = np.flatnonzero(self.mse <= mse)[::-1]
            reach = f"a mean squared error of {mse:g}; this front starts at {self.mse[0]:.4g}"
        else:
            raise DesignError("pick needs either privacy or mse, one of them")
        if not len(indexes):
            raise DesignError(f"no channel reaches {reach}")
        return self[int(indexes[0])]

    def columns(self) -> dict[str, list[float]]:
        """The table as columns."""
        p = self.problem.p
        return {
            **{name: getattr(self, name).tolist() for name in _NUMBERS},
            "reported": [len(matrix) for matrix in self.channels],
            "worst_posterior": [objectives.worst_posterior(m, p) for m in self.channels],
            "epsilon": [objectives.epsilon(matrix) for matrix in self.channels],
        }

    def to_table(self, most: int = _SHOWN) -> Table:
        """The table as a person reads it: at most `most` rows, evenly chosen with both ends."""
        columns = self.columns()
        epsilons = ["infinite" if np.isinf(e) else f"{e:.4f}" for e in columns["epsilon"]]
        rows = [
            [
                f"{columns['privacy'][i]:.4f}",
                f"{columns['mse'][i]:.4e}",
                f"{columns['lower_bound'][i]:.4e}",
                str(columns["reported"][i]),
                f"{columns['worst_posterior'][i]:.4f}",
                epsilons[i],
            ]
            for i in _spaced(len(self), most)
        ]
        heads = [name.replace("_", " ") for name in columns]
        return Table(heads, rows, self.caption(), "r" * len(heads))

    def caption(self) -> str:
        """One line on what the table is."""
        bounds = [f"delta {float(self.problem.delta):g}"] if self.problem.delta < 1 else []
        if self.problem.epsilon is not None:
            bounds.append(f"epsilon {self.problem.epsilon:g}")
        under = f", {' and '.join(bounds)}" if bounds else ""
        return (
            f"front of {number_of(len(self), 'channel')} for {self.problem.n} categories, "
            f"{number_of(self.problem.n_records, 'record')}{under}, by {self.method}"
        )

    def plot(self) -> Figure:
        """Error against privacy with the lower bound and Warner's scheme, as a figure."""
        figure, axes = front_figure(self.caption())
        marker = "o" if len(self) <= 60 else None
        name = f"{self.method}: {number_of(len(self), 'channel')}"
        axes.plot(self.privacy, self.mse, marker=marker, ms=3, lw=1.4, color=BLUE, label=name)
        bound = "lower bound (proved)"
        axes.plot(self.privacy, self.lower_bound, lw=1, ls=":", color=GREY, label=bound)
        if self.method != "Warner":
            _, values, mses = objectives.best_warner(self.problem)
            shown = mses < 20 * self.mse.max()
            if shown.any():
                axes.plot(values[shown], mses[shown], lw=1, ls="--", color=RED, label="Warner")
        axes.legend(frameon=False, fontsize=9)
        return figure

    def to_dict(self) -> dict[str, Any]:
        """JSON-ready content: the problem with exact fractions, then every channel."""
        return {
            **FORMAT.header,
            "method": self.method,
            **self.problem.to_dict(),
            "points": [
                {name: float(getattr(self, name)[i]) for name in _NUMBERS}
                | {"matrix": matrix.tolist()}
                for i, matrix in enumerate(self.channels)
            ],
        }

    def to_json(self) -> str:
        """The front file."""
        return json.dumps(self.to_dict(), ensure_ascii=False, allow_nan=False) + "\n"

    @classmethod
    def from_json(cls, text: str) -> Front:
        """The front that a front file describes."""
        content = read_document(text, FORMAT)
        with reading(FORMAT.name):
            problem, points = FrontProblem.from_dict(content), content["points"]
            if not isinstance(content["method"], str) or not points:
                raise FileError("it needs a method and at least one point")
            numbers = {n: np.array([float(point[n]) for point in points]) for n in _NUMBERS}
            matrices = tuple(np.array(point["matrix"], dtype=np.float64) for point in points)
            for channel in matrices:
                if channel.ndim != 2 or channel.shape[1] != problem.n:
                    raise FileError(f"a matrix needs {problem.n} columns")
                if (channel < 0).any() or not np.allclose(channel.sum(axis=0), 1, atol=1e-9):
                    raise FileError("a column is negative or does not sum to 1")
            return cls(problem, content["method"], channels=matrices, **numbers)


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
        check_level(level)
        tails = [(1 - level) / 2, (1 + level) / 2]
        columns: dict[str, Array] = {}
        for name in ("privacy", "mse"):
            low, high = np.quantile(getattr(self, name), tails, axis=0)
            columns |= {name: getattr(self.front, name), f"{name}_low": low, f"{name}_high": high}
        columns["worst_posterior"] = self.worst_posterior.max(axis=0)
        columns["delta_kept"] = self.delta_kept.mean(axis=0)
        return {name: column.tolist() for name, column in columns.items()}

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
        rows = [
            [
                f"{columns['privacy'][i]:.4f}",
                f"{columns['privacy_low'][i]:.3f} .. {columns['privacy_high'][i]:.3f}",
                f"{columns['mse'][i]:.2e}",
                f"{columns['mse_low'][i]:.2e} .. {columns['mse_high'][i]:.2e}",
                f"{columns['worst_posterior'][i]:.4f}",
                f"{100 * columns['delta_kept'][i]:.0f} %",
            ]
            for i in _spaced(len(self.front), most)
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

    A channel keeps its epsilon whatever the prior, but its privacy, its worst posterior and its
    error depend on the true distribution. The error assumes least squares weights from the reports
    themselves, as `reconstruct` takes them.

    truth: one other prior or several (a row each); or an Estimate, whose uncertainty is drawn
    from `draws` times with `rng` (normal, moved to the nearest distribution).
    """
    n = front.problem.n
    if isinstance(truth, Estimate):
        if truth.value.size != n:
            raise DesignError(f"truth has {truth.value.size} categories, the front {n}")
        if rng is None:
            raise DesignError("rng must be numpy.random.default_rng(seed) to draw from an estimate")
        moments = truth.value.ravel(), truth.covariance
        cells = rng.multivariate_normal(*moments, draws, check_valid="ignore", method="eigh")
        priors = np.array([project(cell) for cell in cells])
    else:
        priors = np.asarray(truth, dtype=np.float64)
        priors = priors.reshape(-1, n) if priors.size % n == 0 else priors
    if priors.ndim != 2 or priors.shape[1] != n or not len(priors):
        raise DesignError(f"truth must be priors of {n} categories, a row each")
    if (priors < 0).any() or not np.allclose(priors.sum(axis=1), 1, atol=1e-9):
        raise DesignError("truth: every prior must be at least 0 everywhere and sum to 1")
    mse = partial(objectives.mse, n_records=front.problem.n_records)
    figures = (
        np.array([[figure(matrix, prior) for matrix in front.channels] for prior in priors])
        for figure in (objectives.privacy, mse, objectives.worst_posterior)
    )
    return Robustness(front, priors, *figures)


#: What a lower bound gives away, so that it never exceeds what it bounds by a rounding.
_OUTWARD = 1e-9


def front(
    prior: Any,
    n_records: int,
    delta: Any = None,
    epsilon: Any = None,
    method: SearchMethod | None = None,
    progress: Progress | None = None,
) -> Front:
    """Channels of which none is better in both privacy and error.

    prior: probabilities of the true categories; a mapping from category to probability; a table
    with one axis per attribute, for a group that is disguised together; or an Estimate of these,
    such as `reconstruct(pilot, design).table(["income"], em)`.
    delta bounds what any report may make an adversary believe (the worst posterior), epsilon is
    local differential privacy; None is no bound. method: `Exact()` (the default), `Square()`,
    `Spea2()` or `Warner()`. progress is called with the share that is done, from 0 to 1.

    >>> best = front({"no": 0.7, "yes": 0.3}, n_records=1000, delta=0.8)
    >>> choice = best.pick(privacy=0.25)
    >>> choice.privacy >= 0.25, choice.mse < 1.001 * choice.lower_bound
    (True, True)
    """
    problem = problem_of(prior, n_records, delta, epsilon)
    chosen = Exact() if method is None else method
    tell = progress or (lambda _: None)
    with threadpool_limits(1, "blas"):  # matrices are small: more threads only wait for each other
        searched = chosen.search(problem, tell)
        proofs = searched.proofs or prove(problem)
    matrices = [_aligned(matrix, problem.p) for matrix in searched.matrices]
    p, n = problem.p, problem.n_records
    errors = np.array([objectives.mse(matrix, p, n) for matrix in matrices])
    values = np.array([objectives.privacy(matrix, p) for matrix in matrices])
    best = objectives.unbeaten(values, errors)
    if not len(best):
        raise DesignError("no channel was found that can be reconstructed; search longer")
    # Undisguised answers have tr(W diag(q) W^T) = 1, and no disguise has less.
    proved = [problem.guarded * proof.bound(1 - values[best]) for proof in proofs]
    traces = np.max([np.ones(len(best)), *proved], axis=0)
    bounds = problem.mse_of(traces) * (1 - _OUTWARD)
    tell(1.0)
    return Front(
        problem,
        type(chosen).__name__,
        values[best],
        errors[best],
        np.minimum(bounds, errors[best]),
        tuple(np.array(matrices[i]) for i in best),
        searched.state,
    )


def _aligned(matrix: Array, prior: Array) -> Array:
    """A square matrix with its rows in the order in which they point to the true categories."""
    if matrix.shape[0] != matrix.shape[1]:
        return matrix
    joint = matrix * prior
    _, rows = linear_sum_assignment(-(joint / joint.sum(axis=1, keepdims=True)).T)
    return np.asarray(matrix[rows])
