"""Which figures of a model are kept: none of a group of fewer than 20 people.

A model is stored without them, so that no page can show them; only its file for analysts is whole.
A group is the people with some answers, among all records that the model was learnt from or tested
on. A figure that could be computed from the others is left out too: groups of answers follow
`hidden_table`, so that models agree with each other and with tables of groups.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import numpy as np

from tacit.core.arrays import Array
from tacit.core.schema import Label, Schema
from tacit.mine import DecisionTree
from tacit.studio.disclosure import hidden_table, most_people, table_cells
from tacit.studio.group_tables import MOST_CELLS
from tacit.studio.release import Release
from tacit.studio.small_groups import SMALLEST_GROUP, Cells, hidden_cells

#: The columns of a table of estimates.
_NUMBERS = ("estimate", "stderr", "lower", "upper")


def may_show(release: Release, answers: Mapping[str, Iterable[int]]) -> bool:
    """Whether figures of the people with these answers, as codes by question, are kept."""
    names = list(answers)
    if len(names) < 2:
        return True
    if table_cells(release, names) > MOST_CELLS:
        return False
    return not hidden_table(release, names)[np.ix_(*map(list, answers.values()))].any()


def has_small_groups(release: Release, target: str, names: Iterable[str]) -> bool:
    """Whether the table of a target and one of these questions has a cell that is not shown."""
    schema = release.survey.design.schema
    pairs = ({target: range(schema[target].size), n: range(schema[n].size)} for n in names)
    return any(not may_show(release, pair) for pair in pairs)


def without_small_leaves(model: DecisionTree, release: Release) -> DecisionTree:
    """The tree without splits that lead to a leaf of too few people.

    The answer of a tiny leaf is that of its people, so the leaf itself is removed.
    """
    while True:
        tree, schema = model.tree_, model.view().schema
        cut = np.zeros(len(tree), bool)
        for leaf in tree.leaves[tree.leaves > 0]:
            answers: dict[str, set[int]] = {}
            for place, codes in tree.conditions(int(leaf)):
                name = schema.names[place]
                allowed = answers.get(name, {*range(schema.sizes[place])})
                answers[name] = allowed & {*map(int, codes)}
            target = schema.names[model.target_index_]
            whole = answers | {target: range(schema[target].size)}
            cut[tree.parent[leaf]] |= not may_show(release, whole)
        if not cut.any():
            return model
        model = model.cut(cut)


def hidden_classes(release: Release, target: str) -> Cells:
    """The classes of which no recall is kept.

    Shares of classes and the accuracy tell one recall from the others: two are hidden, or none.
    """
    people = most_people(release, [target])
    hidden = np.asarray(people < SMALLEST_GROUP)
    if hidden.sum() == 1:
        hidden[np.where(hidden, np.inf, people).argmin()] = True
    return hidden


def without_recalls(evaluation: dict[str, Any], release: Release, target: str) -> dict[str, Any]:
    """The evaluation without recalls of small classes; `hidden` lists these."""
    if "recall" not in evaluation:
        return evaluation
    hidden = hidden_classes(release, target)
    table = evaluation["recall"]["table"]
    labels = [label for label, small in zip(table[target], hidden, strict=True) if small]
    recall = evaluation["recall"] | {"table": _blanked(table, hidden)}
    return evaluation | {"recall": recall, "hidden": labels}


def without_log_odds(
    cells: Sequence[dict[str, Any]], release: Release, target: str
) -> list[dict[str, Any]]:
    """The log-odds without those of small classes or answers."""
    kept = []
    for cell in cells:
        schema = release.survey.design.schema
        own = {target: cell["class"], cell["attribute"]: cell["category"]}
        hidden = not may_show(release, _codes(schema, own))
        numbers = dict.fromkeys(_NUMBERS) if hidden else {}
        kept.append(cell | numbers | {"hidden": hidden})
    return kept


def without_rules(
    columns: Mapping[str, list[Any]], sides: Sequence[tuple[Any, Any]], release: Release
) -> dict[str, list[Any]]:
    """The columns of association rules without the figures of small groups."""
    schema = release.survey.design.schema
    hidden = np.array(
        [not may_show(release, _codes(schema, {**a, **b})) for a, b in sides], dtype=bool
    )
    words = {name: columns[name] for name in ("conditions", "conclusion")}
    return _blanked(columns, hidden) | words | {"hidden": hidden.tolist()}


def without_small_clusters(
    profiles: Mapping[str, list[Any]], prior: Array, tables: Sequence[Array], n: int
) -> dict[str, list[Any]]:
    """The profiles of clusters without those of small clusters or answers."""
    people = n * prior
    few = np.asarray(people < SMALLEST_GROUP)
    if few.sum() == 1 and len(few) > 1:
        few[np.where(few, np.inf, people).argmin()] = True
    hidden = [few, *(_hidden_profile(people[:, None] * table) for table in tables)]
    mask = np.concatenate([np.ravel(cells) for cells in hidden])
    return _blanked(profiles, mask) | {
        name: profiles[name] for name in ("class", "attribute", "category")
    }


def _hidden_profile(people: Array) -> Cells:
    """The hidden cells of a table of clusters and answers; one cluster alone is everybody."""
    if len(people) == 1:
        return np.zeros(people.shape, bool)

    def most(axes: tuple[int, ...]) -> Array:
        return np.asarray(people.sum(axis=tuple({0, 1} - {*axes})))

    return hidden_cells(people, most)


def _codes(schema: Schema, answers: Mapping[str, Label]) -> dict[str, list[int]]:
    return {name: [schema[name].categories.index(label)] for name, label in answers.items()}


def _blanked(columns: Mapping[str, list[Any]], hidden: Cells) -> dict[str, list[Any]]:
    """The columns of numbers with None where a row is hidden."""
    return {
        name: [
            None if gone and isinstance(value, float) else value
            for value, gone in zip(column, hidden, strict=True)
        ]
        for name, column in columns.items()
    }
