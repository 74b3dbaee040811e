"""LatentClass: clusters of true records, found in reported ones, for any design.

Latent class analysis (Lazarsfeld & Henry, 1968) describes records by a few classes within which
all answers are independent. Reported records are counted once; `models.latent_classes` then finds
the shares of the classes and their profiles P(category | class), by the likelihood of the whole
reports. Standard errors follow from the information of the reports.

Classes are numbered from 0, larger shares first; equal shares are ordered by their profiles.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import partial, reduce
from typing import Any, Self

import numpy as np
from sklearn.base import DensityMixin
from sklearn.utils.validation import check_is_fitted

from tacit.core.argument_checks import check_whole
from tacit.core.arrays import Array, Index
from tacit.core.channel.linear_maps import outer
from tacit.core.design import Design, check_design
from tacit.core.label_codes import encode
from tacit.core.schema import Attribute, Label, Schema
from tacit.errors import DataError, unknown
from tacit.mine.miner import (
    LearntModel,
    check_positive,
    counted_records,
    truthful_design,
    valid_codes,
)
from tacit.mine.naive_bayes import class_log_proba
from tacit.models import latent_classes
from tacit.models.latent_classes import LatentFit, LatentModel, Search
from tacit.models.naive_bayes import Tables
from tacit.output.number_text import UNKNOWN, number_of, text
from tacit.output.table import Table
from tacit.reconstruction import Estimate, reconstruct
from tacit.reconstruction.estimate import OnDemand, free_names
from tacit.reconstruction.interval import Interval, normal_interval
from tacit.reconstruction.reconstruct import unweighted_patterns
from tacit.reconstruction.tables import project
from tacit.records import PatternTable, Progress

_METHOD = "likelihood"


class ClassEstimate(Estimate):
    """Probabilities of classes, the first axis; intervals are normal, cut at 0 and 1."""

    def cells(self) -> list[tuple[Label, ...]]:
        """Labels of the cells; there may be one class, while an attribute has two categories."""
        others = (attribute.categories for attribute in self.attributes[1:])
        return list(itertools.product(range(len(self.value)), *others))

    def interval(self, level: float = 0.95) -> Interval:
        """Confidence limits, cell by cell."""
        lower, upper = np.clip(normal_interval(self.value, self.stderr, level), 0, 1)
        return Interval(np.nan_to_num(lower, nan=0.0), np.nan_to_num(upper, nan=1.0))


def _plus_minus(value: float, stderr: float) -> str:
    return f"{value:.3f} +- {UNKNOWN if np.isnan(stderr) else f'{stderr:.3f}'}"


#: Entries of the derivatives up to which their rank is computed.
_ENTRIES = 2**21


def is_identified(sizes: Sequence[int], n_classes: int) -> bool:
    """Whether almost every model with so many classes is determined by its joint distribution.

    Kruskal's condition (Allman, Matias & Rhodes, 2009, theorem 4): if the attributes can be divided
    into three parts of k1, k2 and k3 joint categories with

        min(C, k1) + min(C, k2) + min(C, k3) >= 2 C + 2

    then almost every model with C classes is determined by the joint distribution, up to the order
    of its classes. If no division satisfies it, the derivatives of the cells by the parameters
    decide: at a random model, their rank must be the number of parameters (Goodman, 1974). A design
    whose channel can be inverted changes neither.
    """
    if n_classes == 1:
        return True
    free, cells = latent_classes.n_parameters(sizes, n_classes), math.prod(sizes)
    if free > cells - 1:
        return False
    parts = [1, 1, 1]
    for size in sorted(sizes, reverse=True):
        parts[parts.index(min(parts))] *= size
    if sum(min(n_classes, part) for part in parts) >= 2 * n_classes + 2:
        return True
    return free * cells <= _ENTRIES and _rank(sizes, n_classes) == free


def most_classes(sizes: Sequence[int], limit: int) -> int:
    """The largest number of classes that is identified, at most `limit`."""
    most = 1
    while most < limit and is_identified(sizes, most + 1):
        most += 1
    return most


def _rank(sizes: Sequence[int], n_classes: int) -> int:
    """The rank of the derivatives of all cells by all parameters, at a random model."""
    rng = np.random.default_rng(1)
    rows = []
    for share in rng.dirichlet(np.ones(n_classes)):
        tables = [rng.dirichlet(np.ones(size)) for size in sizes]
        rows.append(reduce(outer, tables))
        for a, size in enumerate(sizes):
            moved = np.eye(size)[1:] - np.eye(size)[0]
            rows += [share * reduce(outer, [*tables[:a], m, *tables[a + 1 :]]) for m in moved]
    derivatives = np.stack(rows)
    scale = np.linalg.norm(derivatives, axis=1, keepdims=True)
    # The shares sum to 1: their derivatives are known up to one direction.
    return int(np.linalg.matrix_rank(derivatives / scale, tol=1e-9)) - 1


#: Parts of the reports for the held-out likelihood.
_FOLDS = 3
#: The most classes that are tried.
MOST_CLASSES = 10
#: Iterations at most until the number is chosen: a class too many converges slowly.
_ITERATIONS = 100
#: Numbers of classes in a row without an improvement after which the search ends.
_PATIENCE = 2


@dataclass(frozen=True, eq=False)
class Candidate:
    """A number of classes, its fit and its criteria.

    `held_out` is the log-likelihood per report; `behind` by how much it is behind the best number
    of classes, with the standard error of this difference.
    """

    n_classes: int
    n_parameters: int
    fit: LatentFit
    bic: float
    held_out: float
    behind: float = 0.0
    behind_stderr: float = 0.0


#: How the number of classes is chosen: by the smallest BIC, or the held-out likelihood.
CRITERIA = ("bic", "held_out")


def best_number(candidates: Sequence[Candidate], criterion: str) -> Candidate:
    """The best of some candidates, of which the first has the fewest classes.

    By held-out likelihood, the fewest classes within one standard error of the largest.
    """
    if criterion == "bic":
        return min(candidates, key=lambda candidate: candidate.bic)
    return next(c for c in candidates if c.behind <= c.behind_stderr)


def bic(fit: LatentFit, model: LatentModel) -> float:
    """The Bayesian information criterion of a fit."""
    return -2 * fit.log_likelihood + model.n_parameters * math.log(model.n_records)


def possible_numbers(sizes: tuple[int, ...], n_records: int) -> list[int]:
    """1, and numbers of classes that are identified and have fewer parameters than records."""

    def possible(number: int) -> bool:
        return latent_classes.n_parameters(sizes, number) < n_records

    others = itertools.takewhile(possible, range(2, most_classes(sizes, MOST_CLASSES) + 1))
    return [1, *others]


def choose_classes(
    model: LatentModel, counts: Index, search: Search, rng: np.random.Generator, tell: Progress
) -> list[Candidate]:
    """Fit several numbers of classes, close to their maxima; each with its criteria.

        BIC = -2 log-likelihood + parameters log(records)

    (Schwarz, 1978); the smallest is best. The held-out likelihood is cross-validated: the reports
    are divided into parts at random, and each part is judged by the classes that were fitted to the
    others. By this criterion, the fewest classes are best that are within one standard error of the
    best (Breiman et al., 1984, section 3.4.3); the errors are those of paired differences. Both use
    only the likelihood of reports, so they account for the noise of the disguise.

    More classes are tried until two numbers in a row improve neither criterion.
    """
    coarse, most = max(latent_classes.COARSE, search.tolerance), min(_ITERATIONS, search.iterations)
    search = replace(search, tolerance=coarse, iterations=most)
    numbers = possible_numbers(model.sizes, model.n_records)
    folds = _parts(counts, rng)
    candidates: list[Candidate] = []
    logs: list[Array] = []
    best = [math.inf, -math.inf]
    since = 0
    for number in numbers:
        variant = model.variant(number)
        fit = search.fit(variant, rng)
        value = bic(fit, variant)
        if len(numbers) == 1:  # nothing to compare with
            return [Candidate(number, variant.n_parameters, fit, value, math.nan)]
        logs.append(_held_out_logs(variant, folds, search, rng))
        held_out = float((folds * logs[-1]).sum() / model.n_records)
        candidates.append(Candidate(number, variant.n_parameters, fit, value, held_out))
        since = 0 if value < best[0] or held_out > best[1] else since + 1
        best = [min(best[0], value), max(best[1], held_out)]
        tell(number / len(numbers))
        if since == _PATIENCE:
            break
    return _compared(candidates, logs, folds)


def _parts(counts: Index, rng: np.random.Generator) -> Index:
    """The counts of the patterns in parts of equal size, patterns x parts."""
    left, parts = counts.copy(), []
    for _ in range(_FOLDS - 1):
        size = int(counts.sum()) // _FOLDS
        parts.append(rng.multivariate_hypergeometric(left, size, method="marginals"))
        left = left - parts[-1]
    return np.stack([*parts, left], axis=1)


def _held_out_logs(
    model: LatentModel, folds: Index, search: Search, rng: np.random.Generator
) -> Array:
    """log P(pattern) by the classes fitted to the other parts, patterns x parts."""
    rest = folds.sum(axis=1, keepdims=True) - folds
    parts = (model.variant(model.n_classes, counts) for counts in rest.T)
    return np.stack([model.logs(search.fit(part, rng).parameters) for part in parts], axis=1)


def _compared(candidates: list[Candidate], logs: list[Array], folds: Index) -> list[Candidate]:
    """The candidates with the paired differences to the largest held-out likelihood."""
    first = int(np.argmax([candidate.held_out for candidate in candidates]))
    total, result = folds.sum(), []
    for candidate, log in zip(candidates, logs, strict=True):
        gaps = logs[first] - log
        mean = float((folds * gaps).sum() / total)
        stderr = math.sqrt(float((folds * (gaps - mean) ** 2).sum())) / total
        result.append(replace(candidate, behind=mean, behind_stderr=float(stderr)))
    return result


def selection_table(candidates: Sequence[Candidate]) -> Table:
    """The numbers of classes with their criteria."""
    heads = ("classes", "parameters", "log-likelihood", "BIC", "held out", "behind", "std. error")
    rows = []
    for c in candidates:
        fit = [f"{value:.1f}" for value in (c.fit.log_likelihood, c.bic)]
        held_out = [f"{value:.5f}" for value in (c.held_out, c.behind, c.behind_stderr)]
        rows.append((str(c.n_classes), c.n_parameters, *fit, *held_out))
    return Table(heads, rows, "Number of classes", "r" * len(heads))


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
        self._check_arguments()
        patterns, design = counted_records(self, X, distinct=True)
        reconstruction, schema = reconstruct(patterns, design), design.schema
        margins = [project(reconstruction.table([name]).value) for name in schema.names]
        _check_number(self.n_classes or 1, schema.sizes, patterns.n_records)
        settings = (float(self.alpha), int(self.n_init), float(self.tol), int(self.max_iter))
        search = Search(margins, latent_classes.flipped_groups(design), *settings)
        tell = progress or (lambda _: None)
        rng = np.random.default_rng(self.random_state)
        model = LatentModel(patterns, design)
        self.selection_ = []
        if self.n_classes is not None:
            model = model.variant(self.n_classes)
            fit = search.fit(model, rng, tell)
        else:
            self.selection_ = choose_classes(model, patterns.counts, search, rng, tell)
            chosen = best_number(self.selection_, self.criterion)
            model, near = model.variant(chosen.n_classes), chosen.fit
            fit = search.polished(model, near.parameters, near.reached, near.finalists)
        self.fit_, self.log_likelihood_, self.bic_ = fit, fit.log_likelihood, bic(fit, model)
        covariance = OnDemand(partial(model.covariance, fit.parameters, float(self.alpha)))
        self.fingerprint_ = design.fingerprint if self.design is not None else ""
        self.restore(schema, *model.split(fit.parameters), model.n_records, covariance)
        return self

    def restore(
        self,
        schema: Schema,
        prior: Array,
        tables: Tables,
        n_records: int,
        covariance_of: Callable[[], Array],
    ) -> None:
        """Become the fitted model with these shares and tables, classes x categories.

        `covariance_of` computes the covariance of all shares and then all cells of the tables.
        """
        self.features_, self.n_features_in_ = schema, len(schema)
        self.prior_, self.tables_, self.n_records_ = prior, tables, n_records
        self.covariance_of_, self.classes_ = covariance_of, np.arange(len(prior))

    @property
    def target(self) -> str:
        """What its predictions are called: "class", unless an attribute has this name."""
        check_is_fitted(self)
        return free_names(["class"], self.features_.names)["class"]

    def predict_log_proba(self, X: Any) -> Array:
        """log P(class | true record), records x classes."""
        check_is_fitted(self)
        given = X if self.fingerprint_ else valid_codes(self, X, reset=False)
        codes = encode(given, self.features_)
        with np.errstate(divide="ignore"):
            logs = [np.log(table) for table in self.tables_]
            return class_log_proba(np.log(self.prior_), logs, codes)

    def predict_proba(self, X: Any) -> Array:
        """P(class | true record), records x classes."""
        return np.asarray(np.exp(self.predict_log_proba(X)))

    def predict(self, X: Any) -> Index:
        """The likeliest class of true records: a frame, or codes of all attributes."""
        return np.asarray(self.predict_log_proba(X).argmax(axis=1))

    def posterior(self, reported: Any) -> Array:
        """P(class | reported record), records x classes; patterns x classes of a pattern table."""
        model, parameters = self._fitted_to(self._listed(reported))
        return model.classes(parameters)

    def score_samples(self, X: Any) -> Array:
        """log P(reported record) of each record, or of each pattern of a pattern table."""
        model, parameters = self._fitted_to(self._listed(X))
        return model.logs(parameters)

    def score(self, X: Any, y: Any = None) -> float:
        """The log-likelihood per reported record, given as to `fit`."""
        check_is_fitted(self)
        given = self._listed(X) if self.design is None else X
        model, parameters = self._fitted_to(unweighted_patterns(given, self._design()))
        return float(model.shares @ model.logs(parameters))

    def shares(self) -> Estimate:
        """P(class) with its standard error."""
        check_is_fitted(self)
        return self._estimate(self.prior_, slice(0, len(self.prior_)), (), "P(class)")

    def profile(self, attribute: str) -> Estimate:
        """P(category | class) of an attribute with its standard errors, classes x categories."""
        check_is_fitted(self)
        index = self.features_.index(attribute)
        start = len(self.prior_) + sum(table.size for table in self.tables_[:index])
        table, axes = self.tables_[index], (self.features_[attribute],)
        cells = slice(start, start + table.size)
        return self._estimate(table, cells, axes, f"P({attribute} | class)")

    def _estimate(
        self, value: Array, cells: slice, attributes: tuple[Attribute, ...], name: str
    ) -> Estimate:
        classes = Attribute(self.target, range(max(2, len(self.prior_))))
        covariance, n_records = self.covariance_of_()[cells, cells], self.n_records_
        axes = (classes, *attributes)
        return ClassEstimate.of_covariance(axes, value, covariance, n_records, _METHOD, name)

    def columns(self, level: float = 0.95) -> dict[str, list[Any]]:
        """Every P(category | class) as columns; the shares of the classes have no attribute."""
        names = ("class", "attribute", "category", "estimate", "stderr", "lower", "upper")
        rows = []
        for name in (None, *self.features_.names):
            estimate = self.shares() if name is None else self.profile(name)
            numbers = [estimate.value, estimate.stderr, *estimate.interval(level)]
            for label, *figures in zip(estimate.cells(), *map(np.ravel, numbers), strict=True):
                category = None if name is None else text(label[1])
                rows.append((int(label[0]), name, category, *map(float, figures)))
        return dict(zip(names, map(list, zip(*rows, strict=True)), strict=True))

    def notes(self) -> list[str]:
        """How learning ended and what is uncertain."""
        check_is_fitted(self)
        notes: list[str] = []
        if hasattr(self, "fit_"):
            ended = self.fit_.convergence
            if not ended.converged:
                steps = number_of(ended.iterations, "iteration")
                notes.append(f"NOT converged after {steps}; allow more (max_iter)")
            if self.fit_.reached < 2 <= self.fit_.finalists:
                notes.append("only one start reached this likelihood; try more starts (n_init)")
            if self.selection_:
                bic, held_out = (best_number(self.selection_, c).n_classes for c in CRITERIA)
                if bic != held_out:
                    chosen = number_of(bic, "class", "classes")
                    notes.append(f"BIC chooses {chosen}, the held-out likelihood {held_out}")
                if len(self.classes_) == MOST_CLASSES:
                    notes.append(f"more than {MOST_CLASSES} classes were not tried; give n_classes")
        shares, errors = self.shares(), np.diagonal(self.covariance_of_())
        small = np.flatnonzero(shares.value < 2 * shares.stderr)
        notes += [f"the share of class {c} is within two standard errors of 0" for c in small]
        if np.isnan(errors).any():
            notes.append("the reports do not determine all profiles; their errors are unknown")
        return notes

    def shown(self) -> Table:
        """A column per class: its share, and P(category | class) with one standard error."""
        classes = [f"class {c}" for c in self.classes_]
        shares = self.shares()
        rows = [("share", "", *map(_plus_minus, shares.value, shares.stderr))]
        for attribute in self.features_:
            profile = self.profile(attribute.name)
            columns = zip(profile.value.T, profile.stderr.T, strict=True)
            for label, column in zip(attribute.categories, columns, strict=True):
                rows.append((attribute.name, text(label), *map(_plus_minus, *column)))
        title = (
            f"{number_of(len(classes), 'latent class', 'latent classes')} from "
            f"{number_of(self.n_records_, 'reported record')}; +- is one standard error"
        )
        return Table(("attribute", "category", *classes), rows, title, "ll" + "r" * len(classes))

    def _check_arguments(self) -> None:
        for name, least in (("n_init", 1), ("max_iter", 1), ("random_state", 0)):
            check_whole(name, getattr(self, name), least)
        for name in ("alpha", "tol"):
            check_positive(name, getattr(self, name))
        if self.criterion not in CRITERIA:
            raise DataError(unknown("criterion", self.criterion, CRITERIA))
        if self.n_classes is not None:
            check_whole("n_classes", self.n_classes, 1)

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
            return unweighted_patterns(reported, design)
        given = valid_codes(self, reported, reset=False) if self.design is None else reported
        codes = encode(given, design.reported)
        return PatternTable(design.reported, codes, np.ones(len(codes), np.int64))

    def _fitted_to(self, patterns: PatternTable) -> tuple[LatentModel, Array]:
        """The likelihood of these reports, and the parameters."""
        model = LatentModel(patterns, self._design(), len(self.classes_))
        return model, model.join(self.prior_, self.tables_)


def _check_number(n_classes: int, sizes: tuple[int, ...], n_records: int) -> None:
    """Raise if so many classes are not identified, or if there are too few records."""
    if not is_identified(sizes, n_classes):
        most = most_classes(sizes, n_classes)
        raise DataError(
            f"n_classes: {n_classes} classes cannot be identified from "
            f"{number_of(len(sizes), 'attribute')} of {math.prod(sizes):,} joint categories; "
            f"at most {most}"
        )
    free = latent_classes.n_parameters(sizes, n_classes)
    if n_classes > 1 and free >= n_records:
        raise DataError(
            f"{number_of(n_records, 'record')} are too few for "
            f"{number_of(n_classes, 'class', 'classes')} with {free:,} parameters; need more "
            "records than parameters"
        )
