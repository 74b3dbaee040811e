"""choose_classes: the number of latent classes, by BIC and by held-out likelihood.

    BIC = -2 log-likelihood + parameters log(records)

(Schwarz, 1978); the smallest is best. The held-out likelihood is cross-validated: the reports are
divided into parts at random, and each part is judged by the classes that were fitted to the others.
By this criterion, the fewest classes are best that are within one standard error of the best
(Breiman et al., 1984, section 3.4.3); the errors are those of paired differences. Both use only the
likelihood of reports, so they account for the noise of the disguise.

More classes are tried until two numbers in a row improve neither criterion.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

import numpy as np

from tacit.core.arrays import Array, Index
from tacit.mine.class_identification import is_identified
from tacit.mine.latent_fit import COARSE, LatentFit, Search, StartingPoint, fit_classes
from tacit.mine.latent_model import LatentModel, n_parameters
from tacit.output.table import Table
from tacit.records import PatternTable, Progress

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


#: Picks from candidates, of which the first has the fewest classes.
Criterion = Callable[[Sequence[Candidate]], Candidate]


def by_bic(candidates: Sequence[Candidate]) -> Candidate:
    """The smallest BIC."""
    return min(candidates, key=lambda candidate: candidate.bic)


def by_held_out(candidates: Sequence[Candidate]) -> Candidate:
    """The fewest classes within one standard error of the largest held-out likelihood."""
    return next(c for c in candidates if c.behind <= c.behind_stderr)


#: The criteria by name.
CRITERIA: dict[str, Criterion] = {"bic": by_bic, "held_out": by_held_out}


def bic(fit: LatentFit, model: LatentModel) -> float:
    """The Bayesian information criterion of a fit."""
    return -2 * fit.log_likelihood + model.n_parameters * math.log(model.n_records)


def possible_numbers(sizes: tuple[int, ...], n_records: int) -> list[int]:
    """1, and numbers of classes that are identified and have fewer parameters than records."""
    found: list[int] = []
    for number in range(1, MOST_CLASSES + 1):
        few = number > 1 and n_parameters(sizes, number) >= n_records
        if few or not is_identified(sizes, number):
            break
        found.append(number)
    return found


def choose_classes(
    patterns: PatternTable,
    model: LatentModel,
    point: StartingPoint,
    search: Search,
    rng: np.random.Generator,
    tell: Progress,
) -> list[Candidate]:
    """Fit several numbers of classes, close to their maxima; each with its criteria."""
    search = search._replace(
        tolerance=max(COARSE, search.tolerance),
        iterations=min(_ITERATIONS, search.iterations),
    )
    numbers = possible_numbers(model.sizes, patterns.n_records)
    folds = _parts(patterns.counts, rng)
    found: list[Candidate] = []
    logs: list[Array] = []
    best = [math.inf, -math.inf]
    since = 0
    for number in numbers:
        own = model.variant(number)
        fit = fit_classes(own, point, search, rng)
        if len(numbers) == 1:  # nothing to compare with
            return [Candidate(number, own.n_parameters, fit, bic(fit, own), math.nan)]
        logs.append(_held_out_logs(own, folds, point, search, rng))
        held_out = float((folds * logs[-1]).sum() / patterns.n_records)
        value = bic(fit, own)
        found.append(Candidate(number, own.n_parameters, fit, value, held_out))
        since = 0 if value < best[0] or held_out > best[1] else since + 1
        best = [min(best[0], value), max(best[1], held_out)]
        tell(number / len(numbers))
        if since == _PATIENCE:
            break
    return _compared(found, logs, folds)


def _parts(counts: Index, rng: np.random.Generator) -> Index:
    """The counts of the patterns in parts of equal size, patterns x parts."""
    left, found = counts.copy(), []
    for _ in range(_FOLDS - 1):
        size = int(counts.sum()) // _FOLDS
        found.append(rng.multivariate_hypergeometric(left, size, method="marginals"))
        left = left - found[-1]
    return np.stack([*found, left], axis=1)


def _held_out_logs(
    model: LatentModel,
    folds: Index,
    point: StartingPoint,
    search: Search,
    rng: np.random.Generator,
) -> Array:
    """log P(pattern) by the classes fitted to the other parts, patterns x parts."""
    rest = folds.sum(axis=1, keepdims=True) - folds
    columns = []
    for counts in rest.T:
        part = model.variant(model.n_classes, counts)
        columns.append(model.logs(fit_classes(part, point, search, rng).parameters))
    return np.stack(columns, axis=1)


def _compared(found: list[Candidate], logs: list[Array], folds: Index) -> list[Candidate]:
    """The candidates with the paired differences to the largest held-out likelihood."""
    first = int(np.argmax([candidate.held_out for candidate in found]))
    total, result = folds.sum(), []
    for candidate, own in zip(found, logs, strict=True):
        gaps = logs[first] - own
        mean = float((folds * gaps).sum() / total)
        stderr = math.sqrt(float((folds * (gaps - mean) ** 2).sum())) / total
        result.append(replace(candidate, behind=mean, behind_stderr=float(stderr)))
    return result


def selection_table(candidates: Sequence[Candidate]) -> Table:
    """The numbers of classes with their criteria."""
    heads = ("classes", "parameters", "log-likelihood", "BIC", "held out", "behind", "std. error")
    rows = [
        (
            str(c.n_classes),
            c.n_parameters,
            f"{c.fit.log_likelihood:.1f}",
            f"{c.bic:.1f}",
            f"{c.held_out:.5f}",
            f"{c.behind:.5f}",
            f"{c.behind_stderr:.5f}",
        )
        for c in candidates
    ]
    return Table(heads, rows, "Number of classes", "r" * len(heads))
