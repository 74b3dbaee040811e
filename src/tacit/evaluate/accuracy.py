"""accuracy, confusion, recall: how well a classifier does on true records, from reported ones.

Accuracy is the mean of h(record) = [model(record) = class] over true records, the entries of the
confusion table those of h = [class = c, model(record) = v]; see `SignedRecords`. One estimator
serves every design, the class disguised or not. Du & Zhan (2003, section 4.3) and Zhan & Matwin
(section 3.4) print cases of it; `personal_accuracy` is the latter's protocol of two reports.

Intervals lie in [0, 1]. They assume that the disguise adds as much noise to records that are
classified correctly as to others.
A test set must contain other records than those the model was fitted on, as always.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property, partial
from importlib.util import find_spec
from itertools import product
from typing import Any

import numpy as np
import numpy.typing as npt

from tacit.core.arrays import Array, Codes, Mask
from tacit.core.channel.weights import KeepOrDrawWeights, SignedKernel
from tacit.core.design import Design
from tacit.core.label_codes import code_type, decode
from tacit.core.schema import Attribute, Schema
from tacit.errors import DataError, DesignError, SchemaError, unknown
from tacit.reconstruction import Estimate, reconstruct
from tacit.reconstruction.estimate import Numbers, OnDemand, linear_estimate
from tacit.reconstruction.events import ReportWeights, conditional_shares
from tacit.reconstruction.hypotheses import design_fit
from tacit.reconstruction.reconstruct import unweighted_patterns
from tacit.reconstruction.sampling import Sampling, function_of
from tacit.records import PatternTable

Predicted = npt.NDArray[np.intp]
Kernels = tuple[SignedKernel, ...]

#: More copies of each record than this are refused.
MAX_COPIES = 4096
#: With at most this many copies, true cells are enumerated instead of drawn: exact.
FEW_COPIES = 64
#: Reported records at a time, and copies of them given to a classifier in one call.
RECORD_BLOCK, COPY_BLOCK = 1 << 14, 1 << 18


@dataclass(frozen=True, eq=False)
class SignedRecords:
    """The copies that undo a design: the kernels of each group.

    The mean over true records of any function h of a record, from reported ones, is

        E[h] = mean over reported records of g(y) = (W^T h)(y),    W = kron over groups of W_G

    Each group's W is a signed mixture of kernels (`SignedKernel`), so g(y) is a sum over copies of
    the record, one per choice of a kernel for each group, of the product of the kernels' weights
    times h(copy). The copies are plain records: h may be whatever a classifier predicts for them.
    g groups with two kernels each make 2^g copies.

    Kernels that draw do so independently for every record, and the mean of `draws` draws is taken:
    g stays unbiased and independent from record to record, so its empirical variance is correct.
    """

    design: Design
    groups: tuple[Kernels, ...]
    draws: int

    @property
    def random(self) -> bool:
        """Whether some copies are drawn."""
        return any(kernel.random for kernels in self.groups for kernel in kernels)

    def of(self, reported: Codes, rng: np.random.Generator) -> Iterator[tuple[Codes, Array]]:
        """Batches of (copies x records x attributes, weights of copies x records).

        Repeated draws of one choice of kernels share its weight.
        """
        choices = []
        for kernels in product(*self.groups):
            repeats = self.draws if any(kernel.random for kernel in kernels) else 1
            choices += [(kernels, 1 / repeats)] * repeats
        n = len(reported)
        step = max(1, COPY_BLOCK // n)
        for start in range(0, len(choices), step):
            chosen = choices[start : start + step]
            shape = (len(chosen), n, len(self.design.schema))
            copies = np.empty(shape, code_type(self.design.schema))
            weights = np.empty(shape[:2])
            for (kernels, share), copy, weight in zip(chosen, copies, weights, strict=True):
                weight[:] = share
                for kernel in kernels:
                    kernel.write(reported, copy, rng)
                    weight *= kernel.weights(reported)
            yield copies, weights

    def blocks(self, table: PatternTable, size: int) -> Iterator[tuple[Codes, Array]]:
        """Reported records and how often each counts: patterns, or all records if some are drawn.

        Records of one pattern must not share their draws, or they would not be independent. A
        sample comes with a row per record if some are drawn.
        """
        rows, counts = np.arange(len(table)), table.counts.astype(np.float64)
        if self.random and table.sample is None:
            rows = np.repeat(rows, table.counts)
            counts = np.ones(len(rows))
        for start in range(0, len(rows), size):
            block = slice(start, start + size)
            yield table.patterns[rows[block]], counts[block]


def signed_records(design: Design, table: PatternTable, draws: int) -> SignedRecords:
    """The copies that undo a design.

    If enumerating all cells of the groups that would be drawn makes few copies, they are
    enumerated. A matrix with more reported than true categories takes its inverse from `table`.
    """
    if isinstance(draws, bool) or not isinstance(draws, int) or draws < 1:
        raise DataError(f"draws must be a whole number of at least 1, got {draws!r}")
    design.channel(design.schema.names).require_reconstructable()
    reports = ReportWeights(table, design)
    few = [
        reports.group(g).weights.kernels(factor.reported_axes)
        for g, factor in enumerate(reports.factors)
    ]
    cells = [math.prod(factor.channel.true_shape) for factor in reports.factors]
    fixed = [None if kernels and any(k.random for k in kernels) else kernels for kernels in few]
    chosen = fixed if math.prod(_numbers(fixed, cells)) <= FEW_COPIES else few
    numbers = _numbers(chosen, cells)
    copies, worst = math.prod(numbers), int(np.argmax(numbers))
    if copies > MAX_COPIES:
        raise DesignError(
            f"testing on this design needs {copies:,} copies of every record, more than the "
            f"{MAX_COPIES:,} allowed, most of them ({numbers[worst]:,}) for group "
            f"{design.groups[worst]}; use fewer groups, smaller matrix groups, and theta above 1/2 "
            "for related groups of more than two categories"
        )
    groups = tuple(
        kernels
        or factor.channel.cell_kernels(factor.true_axes, factor.reported_axes, reports.inverse(g))
        for g, (kernels, factor) in enumerate(zip(chosen, reports.factors, strict=True))
    )
    return SignedRecords(design, groups, draws)


def _numbers(chosen: Sequence[Kernels | None], cells: Sequence[int]) -> list[int]:
    """How many kernels each group has; None stands for one per cell."""
    return [len(kernels) if kernels else n for kernels, n in zip(chosen, cells, strict=True)]


class Classifier:
    """A model and the attribute it predicts, with codes as input and output.

    Input of a model: an array of codes of all attributes but the target, in the order of the
    schema; a frame of labels, if the model was fitted on a frame with named columns (it then has
    `feature_names_in_`), with these columns. A model of tacit always gets codes.

    Output: a model that is given labels, or is tacit's, predicts labels; one that is given codes
    predicts codes. If its classes (`classes_`, else its predictions) do not fit that, the other
    interpretation is used, so a model fitted on codes with labels as classes works too.
    """

    def __init__(self, model: Any, schema: Schema, target: str | None = None) -> None:
        if not callable(getattr(model, "predict", None)):
            raise DataError(f"model must have a predict method, got {type(model).__name__}")
        self._model = model
        model = _innermost(model)
        self.target = schema[_target(model, target)]
        self._target_column = schema.index(self.target.name)
        features = getattr(model, "features_", None)
        tacit = isinstance(features, Schema)
        named = None if tacit else getattr(model, "feature_names_in_", None)
        if not isinstance(features, Schema):
            features = _features(named, schema, self.target)
        self._features = features
        for feature in self._features:
            if schema[feature.name] != feature:
                raise SchemaError(
                    f"the model was learnt with other categories of {feature.name!r} than the "
                    "design has"
                )
        self._columns = [schema.index(name) for name in self._features.names]
        self._given_labels = named is not None
        self._labels_first = tacit or self._given_labels

    def predict(self, records: Codes) -> Predicted:
        """The codes of the categories that the model predicts for true records."""
        given: Any = np.ascontiguousarray(records[:, self._columns])
        if self._given_labels:
            # The data frame library to build frames with; scikit-learn supports both.
            backend = "pandas" if find_spec("pandas") else "polars"
            given = decode(given, self._features, backend)
        answers = np.asarray(self._model.predict(given))
        if answers.shape != (len(records),):
            raise DataError(
                f"predict must give one class for each of {len(records)} records, got an array of "
                f"shape {answers.shape}"
            )
        return self._codes(answers)

    def correct(self, records: Codes) -> Mask:
        """Whether the model predicts the target's category, record by record."""
        right: Mask = self.predict(records) == self.truth(records)
        return right

    def truth(self, records: Codes) -> Predicted:
        """The target's codes."""
        return records[:, self._target_column].astype(np.intp)

    def _codes(self, answers: npt.NDArray[Any]) -> Predicted:
        """Predictions as codes, by the interpretation that fits the model's classes."""
        classes = np.unique(getattr(self._model, "classes_", answers))
        positions = np.searchsorted(classes, answers).clip(max=len(classes) - 1)
        strange = answers[classes[positions] != answers]
        labelled = [self.target.find(label) for label in classes]
        fitting: list[Any] = [] if None in labelled else [labelled]
        if classes.dtype.kind in "iuf" and np.isin(classes, np.arange(self.target.size)).all():
            fitting.append(classes)
        if len(strange) or not fitting:
            odd = strange if len(strange) else [c for c in classes if self.target.find(c) is None]
            where = f" predicted for attribute {self.target.name!r}"
            plain = odd[0].item() if isinstance(odd[0], np.generic) else odd[0]
            raise DataError(unknown("category", plain, self.target.categories, where))
        codes = np.array(fitting[0] if self._labels_first else fitting[-1], np.intp)
        return np.asarray(codes[positions])


def _innermost(model: Any) -> Any:
    """The model that a search selected, or the last step of a pipeline."""
    if hasattr(model, "best_estimator_"):
        return _innermost(model.best_estimator_)
    steps = getattr(model, "steps", None)
    return _innermost(steps[-1][1]) if isinstance(steps, list) and len(steps) == 1 else model


def _target(model: Any, target: str | None) -> str:
    """The name of the target: as given, else that of the model."""
    stated = getattr(model, "target", None) or getattr(model, "target_", None)
    if target is None and stated is None:
        raise SchemaError("the model does not say what it predicts; give target='attribute name'")
    if target is not None and isinstance(stated, str) and stated != target:
        raise SchemaError(f"the model predicts {stated!r}, not target {target!r}")
    return str(stated if target is None else target)


def _features(named: Any, schema: Schema, target: Attribute) -> Schema:
    """The attributes that the model is given, in its order."""
    if named is None:
        named = [name for name in schema.names if name != target.name]
    if len(named) == 0:
        raise SchemaError(f"the design has no attribute to predict {target.name!r} from")
    if target.name in named:
        raise SchemaError(
            f"the model was fitted with its target {target.name!r} among the features"
        )
    return schema.subset([str(name) for name in named])


#: Draws to average for each record if copies are drawn (see `SignedKernel`).
DRAWS = 8
#: A confusion table of more cells than this is refused; its covariance would be too large.
MOST_CELLS = 4096

#: The outcome of testing each record, as a number.
Outcome = Callable[[Codes], Predicted]


@dataclass(frozen=True, eq=False)
class ClassifierTest(Sampling):
    """A classifier and the reported records to test it on; `accuracy` describes the fields."""

    model: Any
    reported: Any
    design: Design
    target: str | None = None
    rng: np.random.Generator | None = None
    draws: int = DRAWS

    @cached_property
    def classifier(self) -> Classifier:
        """The model, with codes as input and output."""
        return Classifier(self.model, self.design.schema, self.target)

    def accuracy(self) -> Estimate:
        """Share of true records that the model classifies correctly.

        `model` is anything with `predict` (see `Classifier`), `reported` whatever `reconstruct`
        takes. `target` is needed if the model does not say what it predicts. `rng` and `draws`
        matter only for designs that replace answers of many categories; None always draws the same.
        `weights`, `strata`, `clusters`, `fpc` and `errors` say how people were sampled, as in
        `reconstruct`. Records with missing answers are left out.
        """
        classifier = self.classifier

        def right(records: Codes) -> Predicted:
            return classifier.correct(records).astype(np.intp)

        return self._tested(right, 2, "accuracy")

    def confusion(self) -> Estimate:
        """Joint distribution of the true class and the predicted one; arguments as for `accuracy`.

        The second attribute is called 'predicted', or 'predicted_' if that is the target's name.
        """
        true, cells = self.classifier.target, self.classifier.target.size**2
        if cells > MOST_CELLS:
            raise DataError(
                f"the confusion table of {true.name!r} has {cells:,} cells, "
                f"more than the {MOST_CELLS:,} allowed; ask for accuracy"
            )

        def cell(records: Codes) -> Predicted:
            return self.classifier.truth(records) * true.size + self.classifier.predict(records)

        name = "predicted_" if true.name == "predicted" else "predicted"
        attributes = (true, Attribute(name, true.categories))
        return self._tested(cell, cells, f"P({true.name}, {name})", attributes)

    def recall(self) -> Estimate:
        """Share of each class that is classified correctly; arguments as for `accuracy`.

            R_c = P(c, c) / P(c)

        See `conditional_shares` for errors and intervals. Not a number if the estimate of P(c) is
        not positive; the interval is then all of [0, 1].
        """
        true, name = self.classifier.target, f"recall by {self.classifier.target.name}"
        diagonal = np.arange(true.size) * (true.size + 1)
        return conditional_shares(self.confusion(), 1, name).part(diagonal, (true,), name)

    def _tested(
        self, outcome: Outcome, n_outcomes: int, name: str, attributes: tuple[Attribute, ...] = ()
    ) -> Estimate:
        """Probabilities of the outcomes; without attributes, of outcome 1 alone.

        A tree computes weights of patterns for each true and predicted class itself (`outcomes`):
        each of its leaves is an event with few conditions, so whole records need not be copied and
        the design may have any number of groups.
        """
        people = {"weights": self.weights, "strata": self.strata, "clusters": self.clusters}
        read = reconstruct(self.reported, self.design, **people, fpc=self.fpc, errors=self.errors)
        table = read.patterns.complete(read.patterns.schema.names)
        left_out = read.n_records - table.n_records
        blocks: Iterable[tuple[Numbers, Numbers]]
        if hasattr(self.model, "outcomes"):
            by_class = np.asarray(self.model.outcomes(table, self.design))
            blocks = [(by_class if attributes else by_class.trace(axis1=1, axis2=2), table.counts)]
        else:
            signed = signed_records(self.design, table, self.draws)
            table = table.expanded() if signed.random else table
            blocks = outcome_weights(signed, table, outcome, n_outcomes, self.rng)
            if not attributes:
                blocks = ((weights[:, 1], counts) for weights, counts in blocks)
        estimate = linear_estimate(blocks, name, attributes, probability=True, sample=table.sample)
        fit = OnDemand(partial(design_fit, table, self.design, self.design.schema.names))
        return replace(estimate, fit_of=fit, n_left_out=left_out)


accuracy = function_of(ClassifierTest, ClassifierTest.accuracy)
confusion = function_of(ClassifierTest, ClassifierTest.confusion)
recall = function_of(ClassifierTest, ClassifierTest.recall)


def outcome_weights(
    records: SignedRecords,
    table: PatternTable,
    outcome: Outcome,
    outcomes: int,
    rng: np.random.Generator | None,
) -> Iterator[tuple[Array, Array]]:
    """g of reported records for each outcome 0 .. outcomes - 1 of a function of the true record.

    Blocks of weights, records x outcomes, and how often each record counts.
    """
    source = generator(rng)
    for reported, counts in records.blocks(table, max(256, min(RECORD_BLOCK, 2**22 // outcomes))):
        first_cells = np.arange(len(reported)) * outcomes
        result = np.zeros(len(reported) * outcomes)
        for batch, weights in records.of(reported, source):
            results = outcome(batch.reshape(-1, batch.shape[-1])).reshape(weights.shape)
            result += np.bincount((results + first_cells).ravel(), weights.ravel(), result.size)
        yield result.reshape(len(reported), outcomes), counts


def generator(rng: np.random.Generator | None) -> np.random.Generator:
    """The generator given, or one that always draws the same."""
    if rng is not None and not isinstance(rng, np.random.Generator):
        raise DataError(
            f"rng must be a numpy.random.Generator, such as numpy.random.default_rng(7), or None, "
            f"got {rng!r}"
        )
    return np.random.default_rng(0) if rng is None else rng


def personal_accuracy(
    model: Any, reported: Any, design: Design, results: Any, target: str | None = None
) -> Estimate:
    """Accuracy if respondents test the model on their personal answers themselves.

        P(A cc) = (P*(cc) - (1 - theta) P(Y cc)) / theta

    For a design of one group that replaces answers. P(Y cc) comes from `results`, 0 or 1 of
    respondents to `reported`, all or some, who applied the model to their own personal answers.
    A report and a result of one person have covariance (1 - theta) Var(result), since a report is
    the personal answers with probability 1 - theta. At theta = 0 no estimate exists. Zhan & Matwin
    (section 3.4); the standard error is ours.
    """
    patterns = unweighted_patterns(reported, design)
    design.channel(design.schema.names).require_reconstructable()
    weights = ReportWeights(patterns, design).group(0).weights
    if len(design.groups) > 1 or not isinstance(weights, KeepOrDrawWeights):
        raise DesignError(
            "personal_accuracy is for one group of unrelated, forced, uniform_perturbation or "
            "frapp, the target in it; accuracy serves every design"
        )
    theta, n = weights.theta, patterns.n_records
    answers = np.asarray(results)
    good = answers.ndim == 1 and answers.dtype.kind in "biuf" and np.isin(answers, (0, 1)).all()
    if not good or not 1 <= len(answers) <= n:
        raise DataError(
            f"results must be a list of 0 and 1, at least one and at most one per reported "
            f"record ({n:,}), got an array of {answers.dtype} of shape {answers.shape}"
        )
    answers = answers.astype(np.float64)
    classifier = Classifier(model, design.schema, target)
    right = linear_estimate([(classifier.correct(patterns.patterns), patterns.counts)], "accuracy")
    paired = (1 - theta) ** 2 * float(answers.var()) * (1 / len(answers) - 2 / n)
    value = np.asarray((float(right) - (1 - theta) * float(answers.mean())) / theta)
    covariance = np.full((1, 1), max((float(right.stderr**2) + paired) / theta**2, 0.0))
    estimate = Estimate.of_covariance((), value, covariance, n, right.method, right.name)
    fit = OnDemand(partial(design_fit, patterns, design, design.schema.names))
    return replace(estimate.as_probability(), fit_of=fit)
