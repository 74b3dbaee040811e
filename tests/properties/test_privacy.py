"""Privacy figures equal those found by writing everything out, for every family and grouping."""

from __future__ import annotations

import math
from fractions import Fraction
from typing import Any

import numpy as np
import pytest

from tacit import Design
from tacit.core.arrays import Array
from tacit.privacy import Figures, Report, report
from tests.support.grids import slow_but_first
from tests.support.written_out import (
    WrittenOut,
    merged,
    random_design,
    random_prior,
    written_out,
)

#: What the figures may differ by from those written out: both are sums of roundings.
AGREEMENT = 1e-12
DESIGNS, AT_ONCE = 500, 50


def check(found: Figures, joint: Array) -> None:
    """Within the agreement, and on the pessimistic side."""
    pse, map_privacy, worst, bits = written_out(joint)
    for got, true in ((found.pse, pse), (found.map_privacy, map_privacy)):
        assert max(true, 0) - AGREEMENT <= got <= max(true, 0)
    for got, true in ((found.worst_posterior, worst), (found.information, bits)):
        assert true <= got <= true + AGREEMENT
    assert found.worst_posterior >= found.largest_prior


def exact_epsilon(matrix: Any) -> float:
    """Log of the largest ratio in a row of exact fractions."""
    if any(min(row) == 0 for row in matrix):
        return math.inf
    largest: Fraction = max(max(row) / min(row) for row in matrix)
    return math.log(largest)


@pytest.mark.parametrize("start", slow_but_first(range(0, DESIGNS, AT_ONCE), 4))
def test_figures_and_epsilon_equal_those_written_out(start: int) -> None:
    for seed in range(start, start + AT_ONCE):
        rng = np.random.default_rng(seed)
        design = random_design(rng)
        prior, table = random_prior(design, rng)
        found = report(design, prior)
        out = WrittenOut.of(design)
        joint = out.matrix * out.prior(table)
        check(found.record.from_record, joint)
        for name, scope in found.attributes.items():
            check(scope.from_record, merged(joint, out.label((name,)), 1))
        for number, (group, scope) in enumerate(zip(design.groups, found.groups, strict=True)):
            own = merged(joint, out.label(group.attributes), 1)
            check(scope.from_record, own)
            check(scope.alone, merged(own, out.groups[number], 0))
            assert scope.weakest == min(found.attributes[n].alone.pse for n in group.attributes)
        _check_single_answers(design, out, table, found)
        for scope, exact in zip(found.groups, out.parts, strict=True):
            _check_epsilon(scope.epsilon, exact_epsilon(exact))
        _check_epsilon(found.record.epsilon, sum(map(exact_epsilon, out.parts)))


def _check_single_answers(design: Design, out: WrittenOut, table: Array, found: Report) -> None:
    """An attribute by its own report: that of its group, with the other answers added up."""
    for group, exact in zip(design.groups, out.parts, strict=True):
        matrix, shape = exact.astype(np.float64), [a.size for a in design.attributes_of(group)]
        for place, name in enumerate(group.attributes):
            if len(design.jointly_reported([name])) > 1:
                continue
            codes = np.indices(shape)[place].ravel()
            single = matrix
            if len(matrix) == len(codes):
                first = [np.argmax(codes == code) for code in range(shape[place])]
                single = merged(matrix, codes, 0)[:, first]
            axis = design.schema.index(name)
            margin = table.sum(axis=tuple(i for i in range(table.ndim) if i != axis))
            check(found.attributes[name].alone, single * margin)


def _check_epsilon(found: float, exact: float) -> None:
    if math.isinf(exact):
        assert found == math.inf
    else:
        assert exact - AGREEMENT <= found <= exact + AGREEMENT
