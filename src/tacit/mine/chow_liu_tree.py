"""ChowLiuTree: the joint distribution of true records as a tree, from reported ones of any design.

Reported records are counted once. Each pair of attributes is tested for dependence beyond the
disguise and the sampling of true records (`pair_dependence`); the tree connects those that depend
on each other most (`dependence_tree`). Any probability follows from the tree, with a standard error
(`joint_model`), and so do synthetic records.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Self

import numpy as np
from sklearn.utils.validation import check_is_fitted

from tacit.core.argument_checks import check_rate, check_whole, non_negative
from tacit.core.design import Design
from tacit.core.label_codes import decode
from tacit.errors import DataError
from tacit.mine.fidelity import Fidelity, fidelity
from tacit.mine.joint_model import Event, JointModel, ReportErrors
from tacit.mine.miner import LearntModel, counted_records
from tacit.models.dependence_tree import MAX_PAIR_CELLS, fit_tree
from tacit.models.units import UnitReports
from tacit.output.table import Table
from tacit.reconstruction import Estimate

#: Seed of the sets of attributes that fidelity compares if there are too many.
_SEED = 0


class ChowLiuTree(LearntModel):
    """The joint distribution of true records as a Chow-Liu tree.

    design: how the records were disguised; None for undisguised records, given as codes.
    error: probability that any edge connects attributes that are independent, at most.
    alpha: records for which independence counts in the table of an edge.
    """

    def __init__(
        self, design: Design | None = None, error: float = 0.05, alpha: float = 0.5
    ) -> None:
        self.design = design
        self.error = error
        self.alpha = alpha

    def fit(self, X: Any, y: Any = None) -> Self:
        """Learn from reported records: a frame, codes, the path of a file or a pattern table.

        Without a design, X has codes of true records. `y` is not used.
        """
        self.check_arguments()
        patterns, design = counted_records(self, X, distinct=False)
        reports = UnitReports(patterns, design)
        _check_sizes(reports)
        error, errors, units = float(self.error), ReportErrors(reports), tuple(reports.names)
        tree, edges = fit_tree(reports, error, float(self.alpha))
        model = JointModel(design.schema, units, tree, edges, reports.n_records, error, errors)
        self.reports_ = reports
        labelled = self.design is not None and not isinstance(X, np.ndarray)
        self.restore(model, design.fingerprint if self.design is not None else "", labelled)
        return self

    def restore(self, model: JointModel, fingerprint: str, labelled: bool = True) -> None:
        """Become the fitted model; `fingerprint` is that of the design."""
        self.model_, self.fingerprint_, self.labelled_ = model, fingerprint, labelled
        self.features_, self.n_features_in_ = model.schema, len(model.schema)

    def probability(self, event: Event, given: Event | None = None) -> Estimate:
        """P(event | given): the probability that a true record has these answers.

        An event names any number of attributes; a list allows any of its labels.
        """
        check_is_fitted(self)
        return self.model_.probability(event, given)

    def table(self, attributes: Sequence[str], given: Event | None = None) -> Estimate:
        """P(attributes | given), one axis per attribute."""
        check_is_fitted(self)
        return self.model_.table(attributes, given)

    def synthesize(self, n: int, rng: np.random.Generator, backend: str | None = None) -> Any:
        """n synthetic true records, drawn from the model.

        A frame of labels made by `backend` ("pandas", "polars" or "pyarrow", by default the first
        that is installed); an array of codes if the model was fitted to one.
        """
        check_is_fitted(self)
        check_whole("n", n, 1)
        if not isinstance(rng, np.random.Generator):
            raise DataError(
                f"rng must be a numpy.random.Generator such as numpy.random.default_rng(1), "
                f"got {rng!r}"
            )
        codes = self.model_.draws(int(n), rng)
        if not self.labelled_ and backend is None:
            return codes
        return decode(codes, self.model_.schema, backend)

    def fidelity(self, seed: int = _SEED) -> Fidelity:
        """How far tables of 1, 2 and 3 attributes are from the reconstructed ones, beside noise.

        With many attributes, some of the tables are drawn at random by `seed`.
        """
        check_is_fitted(self)
        if not hasattr(self, "reports_"):
            raise DataError("a saved model does not contain the reports; fit again for fidelity")
        rng = np.random.default_rng(seed)
        return fidelity(self.reports_, self.model_.tree, self.model_.error, rng)

    def notes(self) -> list[str]:
        """What the tree leaves out."""
        check_is_fitted(self)
        return self.model_.notes()

    def shown(self) -> Table:
        """The edges."""
        return self.model_.to_table()

    def check_arguments(self) -> None:
        """Raise if an argument is not allowed."""
        check_rate("error", self.error)
        non_negative("alpha", self.alpha)


def _check_sizes(reports: UnitReports) -> None:
    """Raise if the table of two units is too large to be tested."""
    for sizes in (reports.sizes, reports.reports):
        largest = np.argsort(sizes)[::-1][:2]
        cells = int(np.prod([sizes[u] for u in largest]))
        if cells > MAX_PAIR_CELLS:
            names = " and ".join(", ".join(reports.names[u]) for u in largest)
            raise DataError(
                f"the table of {names} has {cells:,} cells, at most {MAX_PAIR_CELLS:,} are "
                "allowed; merge categories"
            )
