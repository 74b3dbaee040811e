"""likelihood_tree: a tree grown on the joint table of largest penalised likelihood.

Unbiased tables multiply noise by 1 / (2 theta - 1) per group crossed; a likelihood keeps what they
lose. `joint_table` fits P(features, class) to the reports, `tree_choice` grows and prunes trees on
it, `split_gate` decides whether there is a split at all.

A joint table of all attributes is often too large. Then it has those whose dependence with the
class exceeds noise most, and the tree is compared with one grown from the unbiased tables of all
attributes: both are grown on two thirds of the reports, and the second is taken if its accuracy,
estimated from the other third, is larger by more than a paired standard error.
"""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np

from tacit.core.arrays import Array
from tacit.core.design import Design
from tacit.mine.record_split import folds_of
from tacit.mine.tree.class_tests import ClassTests, class_tests
from tacit.mine.tree.grown_nodes import right_and_wrong
from tacit.mine.tree.growth import grow
from tacit.mine.tree.joint_fit import FOLDS, fitted_table
from tacit.mine.tree.split_choice import GrowthSettings
from tacit.mine.tree.split_gate import paired, smallest_p_value
from tacit.mine.tree.table_tree import TableGrowth, TableTree
from tacit.mine.tree.tree import Tree
from tacit.mine.tree.tree_choice import TreeChoice
from tacit.mine.tree.tree_reports import TreeReports
from tacit.reconstruction import Reconstruction

#: Cells of the largest joint table, true or reported.
MOST_CELLS = 1 << 12
#: Fewer reports than this are not split.
LEAST_RECORDS = 30
#: Standard errors by which a split of unbiased tables must exceed noise.
CAUTION = 2.0


def likelihood_tree(reconstruction: Reconstruction, target: str, settings: GrowthSettings) -> Tree:
    """The tree for the target; without splits if the reports show no dependence of the class."""
    names, choice, may_split = gated_choice(reconstruction, target, settings)
    if choice is None:
        return _unbiased(reconstruction, target, replace(settings, max_depth=0))
    if not may_split:
        return _placed(choice.root, reconstruction, names)
    larger = len(names) < len(reconstruction.design.schema) - 1
    if larger and _unbiased_is_better(reconstruction, target, settings):
        return _unbiased(reconstruction, target, settings)
    return _placed(choice.tree, reconstruction, names)


def gated_choice(
    reconstruction: Reconstruction, target: str, settings: GrowthSettings
) -> tuple[list[str], TreeChoice | None, bool]:
    """The features of the joint table, the trees on it, and whether a tree may split.

    There are no trees if there are too few reports.
    """
    if reconstruction.n_records < LEAST_RECORDS:
        return [], None, False
    names, tests = _joint_attributes(reconstruction, target)
    choice = _tree_choice(reconstruction, target, names, settings)
    return names, choice, choice.may_split(smallest_p_value(list(tests.values())))


def _joint_attributes(reconstruction: Reconstruction, target: str) -> tuple[list[str], ClassTests]:
    """The features of the joint table, and the dependence of each feature with the class."""
    tests = class_tests(reconstruction, target)
    return joint_attributes(reconstruction.design, target, tests), tests


def joint_attributes(design: Design, target: str, tests: ClassTests) -> list[str]:
    """The features whose joint table fits, those with the largest excess dependence first.

    They are given in the order of the schema.
    """
    chosen: set[str] = set()
    for name in sorted(tests, key=lambda n: tests[n][1] - tests[n][0]):
        wanted = set(design.closure([*(chosen | {name}), target])) - {target}
        channel = design.channel([*wanted, target])
        cells = max(math.prod(channel.true.sizes), math.prod(channel.reported.sizes))
        if cells <= MOST_CELLS or not chosen:
            chosen = wanted
    return [name for name in design.schema.names if name in chosen]


def _tree_choice(
    reconstruction: Reconstruction, target: str, names: list[str], settings: GrowthSettings
) -> TreeChoice:
    design = reconstruction.design
    reported = design.channel([*names, target]).reported.names
    # Distinct and sorted: the folds do not depend on the order of the records.
    own = Reconstruction(reconstruction.patterns.subset(reported), design)
    fitted = fitted_table(own, target, names, np.random.default_rng(0))
    return TreeChoice.of(fitted, TableGrowth(settings.criterion, max_depth=settings.max_depth))


def _placed(tree: TableTree, reconstruction: Reconstruction, names: list[str]) -> Tree:
    """The tree with the positions that its features have in the schema."""
    schema = reconstruction.design.schema
    places = np.array([schema.index(name) for name in names])
    return tree.tree(places, max(schema.sizes), reconstruction.n_records)


def _unbiased(reconstruction: Reconstruction, target: str, settings: GrowthSettings) -> Tree:
    """The tree from the unbiased tables of all attributes."""
    reports = TreeReports.of(reconstruction.patterns, reconstruction.design, target)
    return grow(reports, replace(settings, caution=CAUTION))


def _unbiased_is_better(
    reconstruction: Reconstruction, target: str, settings: GrowthSettings
) -> bool:
    """Whether unbiased tables classify more held-out records correctly, beyond a standard error."""
    design, patterns = reconstruction.design, reconstruction.patterns
    first, second = next(folds_of(patterns, FOLDS, np.random.default_rng(0)))
    learnt, held = Reconstruction(first, design), TreeReports.of(second, design, target)
    names, _ = _joint_attributes(learnt, target)
    joint = _placed(_tree_choice(learnt, target, names, settings).tree, learnt, names)
    gain = _right(_unbiased(learnt, target, settings), held) - _right(joint, held)
    mean, error = paired(gain, held.shares * held.n_records)
    return mean > error


def _right(tree: Tree, reports: TreeReports) -> Array:
    """The weight of each pattern for a correct answer."""
    return np.asarray(np.trace(right_and_wrong(tree, reports), axis1=1, axis2=2))
