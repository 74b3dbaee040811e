"""What a method of naive Bayes gives back, and what it is."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from tacit.arrays import Array, Index
from tacit.design import Design
from tacit.reconstruction import Reconstruction
from tacit.reconstruction.likelihood import Convergence

#: P(x_a | c) of every attribute, classes x categories; that of the class itself is the identity.
Tables = list[Array]


@dataclass(frozen=True, eq=False)
class BayesParameters:
    """Parameters and how they were learnt.

    `covariance_of` is that of the logits of prior and tables, laid out as `logit_blocks` says,
    where it is known; `note` says what a user should know about them.
    """

    prior: Array
    tables: Tables
    n_records: int
    method: str
    convergence: Convergence | None = None
    covariance_of: Callable[[], Array] | None = None
    note: str = ""


#: Learns from reports about a target, with some records added to every category.
Method = Callable[[Reconstruction, str, float], BayesParameters]


def shares(tables: Tables) -> Tables:
    """Rows that sum to 1."""
    return [table / table.sum(axis=1, keepdims=True) for table in tables]


def logit_blocks(design: Design, target: str) -> dict[str, Index]:
    """Where the logits of the prior (under the target's name) and of each table stand."""
    n, start = design.schema[target].size, 0
    names = [target, *(name for name in design.schema.names if name != target)]
    blocks = {}
    for name in names:
        size = n if name == target else n * design.schema[name].size
        blocks[name] = np.arange(start, start + size)
        start += size
    return blocks
