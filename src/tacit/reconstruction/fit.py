"""Test of fit: could the reports come from the design at all?

    G = 2 n sum_y p*(y) log(p*(y) / (M p)(y)),    p the most likely distribution of true answers

Under the design G is at most chi-squared. Its degrees of freedom are the reported cells in excess
of the true ones plus the true cells at which p is held at 0: given which cells these are, G has
that distribution, and where there are none it is 0, so the test is rejected at most as often as
stated (Susko, 2013). 50 yes among 1,000 reports under related(0.7), which makes at least 300 yes
likely, is a misfit: a wrong design, respondents who do not follow it, or damaged data.

A table with few records per cell is not tested itself, as G would not be chi-squared: its
attributes are, each alone, at a level divided by their number (Bonferroni). In a sample with design
weights or clusters G is divided by the largest design effect of any contrast of reported shares.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from tacit.core.arrays import Array
from tacit.core.channel import Coin
from tacit.core.design import Design
from tacit.reconstruction.estimate import Estimate
from tacit.reconstruction.hypothesis_test import MISFIT_LEVEL, HypothesisTest
from tacit.reconstruction.likelihood import maximise
from tacit.reconstruction.tables import TableProblem, table_problem
from tacit.records import PatternTable

#: Tables of more cells than this are not tested as a whole, nor those with fewer records per cell.
_MOST_CELLS, _PER_CELL = 4096, 5
#: The log-likelihood of all records is maximised within this.
_CLOSE = 1e-5
_ITERATIONS = 500

_HYPOTHESIS, _METHOD = "the reports come from this design", "likelihood ratio"


def design_fit(patterns: PatternTable, design: Design, names: Sequence[str]) -> HypothesisTest:
    """Whether the reports of these attributes could come from the design."""
    closure = design.jointly_reported(names)
    if _testable(design, closure, patterns.n_records):
        return table_fit(table_problem(patterns, design.channel(closure), len(closure)))
    alone = map(sorted, {frozenset(design.jointly_reported([name])): None for name in closure})
    tests = [
        table_fit(table_problem(patterns, design.channel(part), len(part)))
        for part in alone
        if _testable(design, part, 0)
    ]
    no_test = HypothesisTest.of(_HYPOTHESIS, _METHOD, 0.0, 0, patterns.n_records)
    worst = min(tests, key=lambda test: test.pvalue, default=no_test)
    return replace(worst, pvalue=min(1.0, worst.pvalue * max(1, len(tests))))


def _testable(design: Design, names: Sequence[str], n_records: int) -> bool:
    """Whether a table is small enough; with `n_records`, also whether it has enough of them."""
    sizes = [design.schema[name].size for name in names]
    if math.prod(sizes) > _MOST_CELLS:
        return False
    cells = math.prod(design.channel(names).reported.sizes)
    return cells <= _MOST_CELLS and (not n_records or n_records >= _PER_CELL * cells)


def table_fit(problem: TableProblem) -> HypothesisTest:
    """The test of one table."""
    channel, observed, n = problem.channel, problem.frequencies, problem.n_records
    if problem.square and channel.reconstructable:
        inverted = channel.to_true(problem.inverses, observed)
        if inverted.min() >= 0:
            return HypothesisTest.of(_HYPOTHESIS, _METHOD, 0.0, 0, n)
    start = np.full(channel.true.sizes, 1 / math.prod(channel.true.sizes))
    maps = channel.disguised, problem.transposed
    likely, ended = maximise(*maps, observed, start, _CLOSE / n, _ITERATIONS)
    seen = observed[observed > 0]
    statistic = 2 * n * max(float(np.sum(seen * np.log(seen))) - ended.log_likelihood, 0.0)
    if problem.spread is not None:
        statistic /= problem.spread.largest_effect(observed, n)
    excess = observed.size - start.size
    return HypothesisTest.of(_HYPOTHESIS, _METHOD, statistic, excess + _at_zero(problem, likely), n)


def _at_zero(problem: TableProblem, likely: Array) -> int:
    """How many true cells are held at 0: a Newton step of the cell alone would make it negative."""
    channel = problem.channel
    expected = np.where(problem.frequencies > 0, channel.disguised(likely), 1.0)
    gradient = problem.transposed(problem.frequencies / expected)
    squares = [factor.channel.forward.power(2).T for factor in channel.factors]
    curvature = channel.to_true(squares, problem.frequencies / expected**2)
    return int(np.sum(likely * curvature < 1 - gradient))


def coding_warning(coin: Coin, estimate: Estimate) -> str:
    """A warning if the share of the second category suggests reversed reports; else nothing.

    `crosswise` and `triangular` report whether two answers are the same, or whether any is yes.
    Whoever codes "different" as yes gets 1 - share with crosswise, which no test of fit can see,
    and an impossible share with triangular. For crosswise, the interval lies above one half,
    although such questions are asked about what is rare. For triangular, the reports contradict the
    design, and exchanged ones would not.
    """
    if estimate.fit is None:
        return ""
    matrix = coin.channel(estimate.attributes).matrix
    exchanged = np.linalg.solve(matrix, (matrix @ estimate.value)[::-1])
    share, other = float(estimate.value[1]), float(exchanged[1])
    if coin.asks == "comparison":
        suspect = estimate.interval().lower[1] > 1 / 2
    else:
        suspect = share < 0 and 0 <= other <= 1 and estimate.fit.pvalue < MISFIT_LEVEL
    if not suspect:
        return ""
    meaning = coin.report_meaning(estimate.attributes)
    return (
        f"CODING: are the reports reversed? They mean {meaning}. If they are coded the other way "
        f"round, the share of {estimate.attributes[0].categories[1]} is {other:.4f}, not "
        f"{share:.4f}; records may also say {' and '.join(map(repr, coin.report_words))}"
    )
