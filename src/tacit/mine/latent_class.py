"""LatentClass: clusters of true records, found in reported ones, for any design.

Latent class analysis (Lazarsfeld & Henry, 1968) describes records by a few classes within which
all answers are independent. Reported records are counted once; `latent_fit` then finds the shares
of the classes and their profiles P(category | class), by the likelihood of the whole reports.
Standard errors follow from the information of the reports (`latent_model`).

Classes are numbered from 0, larger shares first; equal shares are ordered by their profiles.
"""

from __future__ import annotations

import math
from functools import partial
from typing import Any, Self

import numpy as np
import numpy.typing as npt
from sklearn.base import DensityMixin
from sklearn.utils.validation import check_is_fitted

from tacit.core.arrays import Array, Index
from tacit.core.design import Design, check_design
from tacit.core.label_codes import encode
from tacit.core.schema import Schema
from tacit.errors import DataError, unknown
from tacit.mine.argument_checks import check_positive, check_whole
from tacit.mine.class_identification import is_identified, most_classes
from tacit.mine.class_number import CRITERIA, MOST_CLASSES, bic, choose_classes
from tacit.mine.class_profiles import ClassProfiles
from tacit.mine.latent_fit import LatentFit, Search, StartingPoint, fit_classes, polished
from tacit.mine.latent_model import LatentModel, n_parameters
from tacit.mine.learnt_model import LearntModel
from tacit.mine.naive_bayes import class_log_proba
from tacit.mine.undisguised import design_of_codes, truthful_design, valid_codes
from tacit.output.number_text import number_of
from tacit.output.table import Table
from tacit.reconstruction import Estimate, reconstruct
from tacit.reconstruction.plain_patterns import plain_patterns
from tacit.records import PatternTable, Progress, count


class LatentClass(DensityMixin, LearntModel):  # type: ignore[misc]
    """Latent classes from reported records.

    design: how the records were disguised; None for undisguised records, given as codes.
    n_classes: how many; None chooses by `criterion`, "bic" or "held_out" likelihood.
    alpha: records added to every category of every class. n_init: random starts.
    tol: change of a probability at which EM ends. max_iter: its iterations, each of about three
    EM steps. random_state: seed of the starts and of the parts that are held out.
    """

    features_: Schema

    def __init__(
        self,
        design: Design | None = None,
        n_classes: int | None = None,
        criterion: str = "bic",
        alpha: float = 0.5,
        n_init: int = 10,
        tol: float = 1e-6,
        max_iter: int = 1000,
        random_state: int = 0,
    ) -> None:
        self.design = design
        self.n_classes = n_classes
        self.criterion = criterion
        self.alpha = alpha
        self.n_init = n_init
        self.tol = tol
        self.max_iter = max_iter
        self.random_state = random_state

    def fit(self, X: Any, y: Any = None, progress: Progress | None = None) -> Self:
        """Learn from reported records: a frame, codes, the path of a file or a pattern table.

        Without a design, X has codes of true records. `y` is not used. `progress` is called with
        the share of the work that is done.
        """
        search = self._search()
        patterns, design = self._counted(X)
        reconstruction = reconstruct(patterns, design)
        sizes = design.schema.sizes
        _check_number(self.n_classes or 1, sizes, patterns.n_records)
        tell = progress or (lambda _: None)
        rng = np.random.default_rng(self.random_state)
        model, point = LatentModel(patterns, design), StartingPoint.of(reconstruction)
        self.selection_ = []
        if self.n_classes is not None:
            model = model.variant(self.n_classes)
            found = fit_classes(model, point, search, rng, tell)
        else:
            self.selection_ = choose_classes(patterns, model, point, search, rng, tell)
            chosen = CRITERIA[self.criterion](self.selection_)
            model, near = model.variant(chosen.n_classes), chosen.fit
            reached = near.reached, near.finalists
            found = polished(model, near.parameters, search, reached)
        self._set_fit(model, found, design)
        return self

    def _set_fit(self, model: LatentModel, found: LatentFit, design: Design) -> None:
        self.fit_, self.log_likelihood_, self.bic_ = found, found.log_likelihood, bic(found, model)
        profiles = ClassProfiles(
            design.schema,
            *model.split(found.parameters),
            model.n_records,
            partial(model.covariance, found.parameters, float(self.alpha)),
        )
        self.restore(profiles, design.fingerprint if self.design is not None else "")

    def restore(self, profiles: ClassProfiles, fingerprint: str) -> None:
        """Become the fitted model with these profiles; `fingerprint` is that of the design."""
        self.profiles_, self.fingerprint_ = profiles, fingerprint
        self.features_, self.n_features_in_ = profiles.schema, len(profiles.schema)
        self.classes_ = np.arange(len(profiles.prior))

    @property
    def target(self) -> str:
        """What its predictions are called: "class", unless an attribute has this name."""
        check_is_fitted(self)
        return self.profiles_.attribute.name

    def predict_log_proba(self, X: Any) -> Array:
        """log P(class | true record), records x classes."""
        codes = self._true_codes(X)
        with np.errstate(divide="ignore"):
            logs = [np.log(table) for table in self.profiles_.tables]
            return class_log_proba(np.log(self.profiles_.prior), logs, codes)

    def predict_proba(self, X: Any) -> Array:
        """P(class | true record), records x classes."""
        return np.asarray(np.exp(self.predict_log_proba(X)))

    def predict(self, X: Any) -> Index:
        """The likeliest class of true records: a frame, or codes of all attributes."""
        return np.asarray(self.predict_log_proba(X).argmax(axis=1))

    def posterior(self, reported: Any) -> Array:
        """P(class | reported record), records x classes; patterns x classes of a pattern table."""
        model = self._model_of(self._listed(reported))
        return model.classes(self._parameters(model))

    def score_samples(self, X: Any) -> Array:
        """log P(reported record) of each record, or of each pattern of a pattern table."""
        model = self._model_of(self._listed(X))
        return model.logs(self._parameters(model))

    def score(self, X: Any, y: Any = None) -> float:
        """The log-likelihood per reported record, given as to `fit`."""
        check_is_fitted(self)
        given = self._listed(X) if self.design is None else X
        model = self._model_of(plain_patterns(given, self._design()))
        return float(model.shares @ model.logs(self._parameters(model)))

    def shares(self) -> Estimate:
        """P(class) with its standard error."""
        check_is_fitted(self)
        return self.profiles_.shares()

    def profile(self, attribute: str) -> Estimate:
        """P(category | class) of an attribute with its standard errors, classes x categories."""
        check_is_fitted(self)
        return self.profiles_.profile(attribute)

    def notes(self) -> list[str]:
        """How learning ended and what is uncertain."""
        check_is_fitted(self)
        found: list[str] = []
        if hasattr(self, "fit_"):
            ended = self.fit_.convergence
            if not ended.converged:
                steps = number_of(ended.iterations, "iteration")
                found.append(f"NOT converged after {steps}; allow more (max_iter)")
            if self.fit_.reached < 2 <= self.fit_.finalists:
                found.append("only one start reached this likelihood; try more starts (n_init)")
            if self.selection_:
                found += self._choice_notes()
        return found + self.profiles_.notes()

    def _choice_notes(self) -> list[str]:
        others = {name: choose(self.selection_).n_classes for name, choose in CRITERIA.items()}
        found = []
        if len(set(others.values())) > 1:
            found.append(
                f"BIC chooses {number_of(others['bic'], 'class', 'classes')}, the held-out "
                f"likelihood {others['held_out']}"
            )
        if len(self.classes_) == MOST_CLASSES:
            found.append(f"more than {MOST_CLASSES} classes were not tried; give n_classes")
        return found

    def shown(self) -> Table:
        """Shares and profiles."""
        return self.profiles_.to_table()

    def _search(self) -> Search:
        """The settings of the search, checked."""
        for name, least in (("n_init", 1), ("max_iter", 1), ("random_state", 0)):
            check_whole(name, getattr(self, name), least)
        for name in ("alpha", "tol"):
            check_positive(name, getattr(self, name))
        if self.criterion not in CRITERIA:
            raise DataError(unknown("criterion", self.criterion, CRITERIA))
        if self.n_classes is not None:
            check_whole("n_classes", self.n_classes, 1)
        return Search(float(self.alpha), int(self.n_init), float(self.tol), int(self.max_iter))

    def _counted(self, X: Any) -> tuple[PatternTable, Design]:
        """The patterns to learn from and their design; a truthful one if none is given."""
        if self.design is not None:
            check_design(self.design)
            return plain_patterns(X, self.design), self.design
        codes = valid_codes(self, X, reset=True)
        design = design_of_codes(codes)
        return count(encode(codes, design.schema), design.schema), design

    def _design(self) -> Design:
        """The design of the records that a fitted model is asked about."""
        if self.design is None:
            if self.fingerprint_:
                raise DataError(
                    "a saved model does not contain its design; give it by set_params(design=...)"
                )
            return truthful_design(self.features_)
        check_design(self.design)
        if self.fingerprint_ != self.design.fingerprint:
            raise DataError("the model was learnt under another design; give that one")
        return self.design

    def _listed(self, reported: Any) -> PatternTable:
        """Reported records, one pattern each; a pattern table as it is."""
        check_is_fitted(self)
        design = self._design()
        if isinstance(reported, PatternTable):
            return plain_patterns(reported, design)
        given = valid_codes(self, reported, reset=False) if self.design is None else reported
        codes = encode(given, design.reported)
        return PatternTable(design.reported, codes, np.ones(len(codes), np.int64))

    def _model_of(self, patterns: PatternTable) -> LatentModel:
        return LatentModel(patterns, self._design(), len(self.classes_))

    def _true_codes(self, X: Any) -> npt.NDArray[Any]:
        check_is_fitted(self)
        return encode(X if self.fingerprint_ else valid_codes(self, X, reset=False), self.features_)

    def _parameters(self, model: LatentModel) -> Array:
        return model.join(self.profiles_.prior, self.profiles_.tables)


def _check_number(n_classes: int, sizes: tuple[int, ...], n_records: int) -> None:
    """Raise if so many classes are not identified, or if there are too few records."""
    if not is_identified(sizes, n_classes):
        most = most_classes(sizes, n_classes)
        raise DataError(
            f"n_classes: {n_classes} classes cannot be identified from "
            f"{number_of(len(sizes), 'attribute')} of {math.prod(sizes):,} joint categories; "
            f"at most {most}"
        )
    free = n_parameters(sizes, n_classes)
    if n_classes > 1 and free >= n_records:
        raise DataError(
            f"{number_of(n_records, 'record')} are too few for "
            f"{number_of(n_classes, 'class', 'classes')} with {free:,} parameters; need more "
            "records than parameters"
        )
