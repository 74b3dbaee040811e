"""Front: channels of which none is better in both privacy and error, with a lower bound.

A frozen value: numbers as arrays, a table, a figure, exact JSON. Picking one of its channels by
the privacy or the error wanted gives a `ChosenChannel`, which goes into a design.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np

from tacit.core.arrays import Array
from tacit.core.imports import optional_imports
from tacit.core.label_codes import frame_of
from tacit.errors import DesignError, FileError, TacitError
from tacit.optimize.choice import ChosenChannel
from tacit.optimize.front_problem import FrontProblem
from tacit.optimize.objectives import epsilon, mse, privacy, unbeaten, worst_posterior
from tacit.optimize.weight_solver import Certificate
from tacit.output.json_documents import DocumentFormat, read_document
from tacit.output.number_text import number_of
from tacit.output.table import Table, TabularResult

if TYPE_CHECKING:
    from matplotlib.figure import Figure

_NUMBERS = ("privacy", "mse", "lower_bound")
_PROBLEM = ("prior", "shape", "attributes", "n_records", "delta", "epsilon")
FORMAT = DocumentFormat("front", "front file", (("method", *_PROBLEM, "points"),))
#: Rows of a printed table before it is thinned.
_SHOWN = 20
#: What a lower bound gives away, so that it never exceeds what it bounds by a rounding.
_OUTWARD = 1e-9


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

    def __getitem__(self, place: int) -> ChosenChannel:
        """The channel at a place, counted from the least private."""
        at = range(len(self))[place]
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
            found = np.flatnonzero(self.privacy >= privacy - 1e-12)
            reach = f"privacy {privacy:g}; this front goes up to {self.privacy[-1]:.6g}"
        elif mse is not None and privacy is None:
            found = np.flatnonzero(self.mse <= mse)[::-1]
            reach = f"a mean squared error of {mse:g}; this front starts at {self.mse[0]:.4g}"
        else:
            raise DesignError("pick needs either privacy or mse, one of them")
        if not len(found):
            raise DesignError(f"no channel reaches {reach}")
        return self[int(found[0])]

    def columns(self) -> dict[str, list[float]]:
        """The table as columns."""
        p = self.problem.p
        return {
            "privacy": self.privacy.tolist(),
            "mse": self.mse.tolist(),
            "lower_bound": self.lower_bound.tolist(),
            "reported": [len(matrix) for matrix in self.channels],
            "worst_posterior": [worst_posterior(matrix, p) for matrix in self.channels],
            "epsilon": [epsilon(matrix) for matrix in self.channels],
        }

    def to_frame(self, backend: str | None = None) -> Any:
        """The table as a data frame; `backend` is pandas, polars or pyarrow, else what is there."""
        return frame_of(self.columns(), backend)

    def to_table(self, most: int = _SHOWN) -> Table:
        """The table as a person reads it: at most `most` rows, evenly chosen with both ends."""
        columns = self.columns()
        places = np.unique(np.linspace(0, len(self) - 1, min(most, len(self))).round().astype(int))
        rows = [
            [
                f"{columns['privacy'][i]:.4f}",
                f"{columns['mse'][i]:.4e}",
                f"{columns['lower_bound'][i]:.4e}",
                str(columns["reported"][i]),
                f"{columns['worst_posterior'][i]:.4f}",
                "infinite" if np.isinf(columns["epsilon"][i]) else f"{columns['epsilon'][i]:.4f}",
            ]
            for i in places
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
        with optional_imports():
            from tacit.optimize.front_plot import plot_front

        return plot_front(self)

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
        try:
            return cls._from_dict(content)
        except TacitError:
            raise
        except (KeyError, TypeError, ValueError, AttributeError, ZeroDivisionError) as error:
            raise FileError(f"not a front file: {type(error).__name__}: {error}") from None

    @classmethod
    def _from_dict(cls, content: dict[str, Any]) -> Front:
        problem, points = FrontProblem.from_dict(content), content["points"]
        if not isinstance(content["method"], str) or not points:
            raise FileError("not a front file: it needs a method and at least one point")
        numbers = {name: np.array([float(point[name]) for point in points]) for name in _NUMBERS}
        matrices = tuple(np.array(point["matrix"], dtype=np.float64) for point in points)
        for matrix in matrices:
            if matrix.ndim != 2 or matrix.shape[1] != problem.n:
                raise FileError(f"not a front file: a matrix needs {problem.n} columns")
            if (matrix < 0).any() or not np.allclose(matrix.sum(axis=0), 1, atol=1e-9):
                raise FileError("not a front file: a column is negative or does not sum to 1")
        return cls(problem, content["method"], channels=matrices, **numbers)


def front_of(
    problem: FrontProblem,
    method: str,
    matrices: Sequence[Array],
    proofs: Sequence[Certificate],
    state: Any = None,
) -> Front:
    """The front that these matrices make: sorted, without those that another one beats."""
    errors = np.array([mse(matrix, problem.p, problem.n_records) for matrix in matrices])
    values = np.array([privacy(matrix, problem.p) for matrix in matrices])
    kept = unbeaten(values, errors)
    if not len(kept):
        raise DesignError("no channel was found that can be reconstructed; search longer")
    return Front(
        problem,
        method,
        values[kept],
        errors[kept],
        np.minimum(lower_bounds(problem, values[kept], proofs), errors[kept]),
        tuple(np.array(matrices[i]) for i in kept),
        state,
    )


def lower_bounds(problem: FrontProblem, privacies: Array, proofs: Sequence[Certificate]) -> Array:
    """The best bound that the proofs give at each privacy.

    Undisguised answers have tr(W diag(q) W^T) = 1, and no disguise has less.
    """
    proved = [problem.guarded * proof.bound(1 - privacies) for proof in proofs]
    traces = np.max([np.ones_like(privacies), *proved], axis=0)
    return np.asarray(problem.mse_of(traces) * (1 - _OUTWARD))
