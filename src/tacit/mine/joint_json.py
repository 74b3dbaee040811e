"""A Chow-Liu tree as JSON: margins and conditional tables, edges, and the errors of both.

Standard errors are saved for the margins and for the tables of edges, parent x child. A model of
few cells also saves the covariance of all its tables (rows of the lower triangle), from which the
errors of every query follow. Those of a larger model need the reports, which no file contains.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from tacit.core.arrays import Array
from tacit.core.design import Design
from tacit.core.schema import Schema
from tacit.errors import FileError
from tacit.mine.chow_liu_tree import ChowLiuTree
from tacit.mine.dependence_tree import TreeEdge
from tacit.mine.joint_errors import QueryErrors, SavedCovariance, SavedErrors, TableCells
from tacit.mine.joint_model import JointModel
from tacit.models.tree_distribution import ROOT, TreeDistribution
from tacit.output.json_documents import DocumentFormat

CHOW_LIU_TREE = DocumentFormat(
    "chow-liu-tree",
    "model file",
    (("design", "attributes", "n_records", "error", "alpha", "units", "edges"),),
    ("covariance",),
)
#: The covariance of more cells is not saved.
MOST_SAVED = 128
_UNIT = ("attributes", "parent", "table", "stderr", "pair_stderr")
_EDGE = ("first", "second", "information", "stderr", "p_value", "adjusted_p_value")


def tree_content(model: ChowLiuTree, design: Design) -> dict[str, Any]:
    """A fitted tree as plain values."""
    own, tree = model.model_, model.model_.tree
    units = []
    for v, (names, parent, table) in enumerate(
        zip(own.units, tree.parents, tree.tables, strict=True)
    ):
        above = None if parent == ROOT else list(own.units[parent])
        pair = None if parent == ROOT else _known(_errors(own, (parent, v)))
        values = (list(names), above, table.tolist(), _known(_errors(own, (v,))), pair)
        units.append(dict(zip(_UNIT, values, strict=True)))
    edges = [
        (list(e.first), list(e.second), e.information, e.stderr, e.p_value, e.adjusted)
        for e in own.edges
    ]
    about = {"design": design.fingerprint, **design.schema.to_dict(), "n_records": own.n_records}
    settings = {"error": float(own.error), "alpha": float(model.alpha)}
    found = {"units": units, "edges": [dict(zip(_EDGE, e, strict=True)) for e in edges]}
    cells = TableCells(tree)
    if hasattr(model, "tables_") and cells.number <= MOST_SAVED:
        covariance = cells.covariance(model.tables_)
        found["covariance"] = [row[: i + 1].tolist() for i, row in enumerate(covariance)]
    return CHOW_LIU_TREE.header | about | settings | found


def _errors(model: JointModel, nodes: tuple[int, ...]) -> Array:
    """Standard errors of the table of a node, or of an edge, parent x child."""
    ordered = sorted(nodes)
    _, part = model.tree.around(nodes)
    sizes = [model.tree.sizes[v] for v in nodes]
    codes = np.indices(sizes).reshape(len(nodes), -1)
    allowed = [
        (codes[nodes.index(v)][:, None] == np.arange(model.tree.sizes[v])).astype(np.float64)
        for v in ordered
    ]
    variance = np.diagonal(model.errors.covariance(ordered, part, allowed))
    return np.sqrt(np.maximum(variance, 0)).reshape(sizes)


def _known(errors: Array) -> Any:
    """Numbers that are not known are null."""
    if errors.ndim > 1:
        return [_known(row) for row in errors]
    return [None if math.isnan(error) else error for error in errors.tolist()]


def tree_of_content(content: dict[str, Any], schema: Schema) -> ChowLiuTree:
    """The tree that `tree_content` wrote; KeyError and ValueError if something is missing."""
    model = ChowLiuTree(error=content["error"], alpha=content["alpha"])
    model.check_arguments()
    units = content["units"]
    names = [tuple(unit["attributes"]) for unit in units]
    if sorted(name for own in names for name in own) != sorted(schema.names):
        raise FileError("its units do not have every attribute once")
    places = {own: place for place, own in enumerate(names)}
    above = [None if unit["parent"] is None else tuple(unit["parent"]) for unit in units]
    if any(own is not None and own not in places for own in above):
        raise FileError("a parent is not one of its units")
    parents = tuple(ROOT if own is None else places[own] for own in above)
    tables = tuple(np.array(unit["table"], dtype=np.float64) for unit in units)
    tree = TreeDistribution(parents, tables)
    sizes = [math.prod(schema[name].size for name in own) for own in names]
    _check_tree(tree, sizes)
    margins = tuple(_stderr(unit["stderr"], (k,)) for unit, k in zip(units, sizes, strict=True))
    pairs = {
        v: _stderr(unit["pair_stderr"], (sizes[parent], sizes[v]))
        for v, (unit, parent) in enumerate(zip(units, parents, strict=True))
        if parent != ROOT
    }
    errors: QueryErrors = SavedErrors(margins, pairs)
    if "covariance" in content:
        errors = _covariance(content["covariance"], TableCells(tree))
    edges = tuple(_edge(edge, places) for edge in content["edges"])
    made = JointModel(
        schema,
        tuple(names),
        tree,
        edges,
        content["n_records"],
        float(content["error"]),
        errors,
    )
    model.restore(made, content["design"])
    return model


def _check_tree(tree: TreeDistribution, sizes: list[int]) -> None:
    if len(tree.order) != len(sizes):
        raise FileError("its units do not form a tree")
    for v, (parent, table) in enumerate(zip(tree.parents, tree.tables, strict=True)):
        shape = (sizes[v],) if parent == ROOT else (sizes[parent], sizes[v])
        if table.shape != shape:
            raise FileError("its tables do not fit its attributes")
        if not (table >= 0).all() or not np.allclose(table.sum(axis=-1), 1, atol=1e-9):
            raise FileError("a table is negative or does not sum to 1")


def _stderr(values: Any, shape: tuple[int, ...]) -> Array:
    found = np.array(values, dtype=np.float64)  # null is NaN: not known
    if found.shape != shape or (found < 0).any() or np.isinf(found).any():
        raise FileError("a standard error is negative, infinite or missing")
    return found


def _covariance(rows: Any, cells: TableCells) -> SavedCovariance:
    if [len(row) for row in rows] != list(range(1, cells.number + 1)):
        raise FileError("its covariance does not fit its tables")
    lower = np.zeros((cells.number,) * 2)
    lower[np.tril_indices(cells.number)] = [float(value) for row in rows for value in row]
    if not np.isfinite(lower).all() or (np.diagonal(lower) < 0).any():
        raise FileError("its covariance is infinite or negative")
    return SavedCovariance(cells, lower + np.tril(lower, -1).T)


def _edge(edge: dict[str, Any], places: dict[tuple[str, ...], int]) -> TreeEdge:
    first, second = tuple(edge["first"]), tuple(edge["second"])
    numbers = [float(edge[key]) for key in _EDGE[2:]]
    if first not in places or second not in places or not np.isfinite(numbers).all():
        raise FileError("an edge does not fit its units")
    return TreeEdge(first, second, *numbers)
