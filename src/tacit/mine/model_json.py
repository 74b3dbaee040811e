"""Models as JSON: readable, without code, and with the fingerprint of their design."""

from __future__ import annotations

import json
import math
import re
from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import partial
from typing import Any, NamedTuple

import numpy as np

from tacit.core.arrays import Array
from tacit.core.design import Design
from tacit.core.schema import Schema
from tacit.errors import FileError, TacitError
from tacit.mine.chow_liu_tree import EDGE_COLUMNS, ChowLiuTree
from tacit.mine.decision_tree import DecisionTree
from tacit.mine.forest import Forest
from tacit.mine.latent_class import LatentClass
from tacit.mine.miner import Miner
from tacit.mine.naive_bayes import NaiveBayes
from tacit.mine.query_errors import QueryErrors, TableCells, saved_covariance, saved_errors
from tacit.mine.tree.json import finite_numbers, forest_nodes, forest_tree, nodes_of, tree_of
from tacit.models.dependence_tree import TreeEdge
from tacit.models.naive_bayes import BayesParameters
from tacit.models.tree_distribution import ROOT, TreeDistribution
from tacit.output.json_documents import DocumentFormat, read_document, reading
from tacit.reconstruction import Estimate

Model = Miner | LatentClass | ChowLiuTree
Content = dict[str, Any]


def model_to_json(model: Model) -> str:
    """A model that was fitted to reported records, as JSON."""
    kind = next((kind for kind in _KINDS if isinstance(model, kind.model)), None)
    if kind is None or not isinstance(model.design, Design) or not hasattr(model, "fingerprint_"):
        raise FileError("only a model fitted to reported records, with its design, can be saved")
    target = {"target": model.target} if isinstance(model, Miner) else {}
    about = {"design": model.design.fingerprint, **target, **model.design.schema.to_dict()}
    content = kind.format.header | about | kind.content(model)
    if kind.format.keys[0][-1] not in ("nodes", "trees"):
        return _dumped(content) + "\n"
    # One line per key and per item of the last one, so that files can be read and compared.
    *fields, (last, items) = content.items()
    lines = [f"{_dumped(key)}: {_dumped(value)}," for key, value in fields]
    return "\n".join(["{", *lines, f'"{last}": [', ",\n".join(map(_dumped, items)), "]}", ""])


def model_from_json(text: str) -> Model:
    """The model that `model_to_json` wrote, with its design's fingerprint."""
    content = read_document(text, *(kind.format for kind in _KINDS))
    with reading("model file"):
        schema = Schema.from_dict({"attributes": content["attributes"]})
        n_records, design = content["n_records"], content["design"]
        if type(n_records) is not int or n_records < 1:
            raise FileError(f"n_records must be a positive integer, got {n_records!r}")
        if not isinstance(design, str) or not re.fullmatch("[0-9a-f]{64}", design):
            raise FileError(f"{design!r} is not the fingerprint of a design")
        kind = next(kind for kind in _KINDS if kind.format.kind == content["tacit"])
        model = kind.read(content, schema)
        if isinstance(model, Miner):
            target = schema[content["target"]]
            model.set_fitted(schema.without(target.name), np.array(target.categories), design)
        return model


def _dumped(value: object) -> str:
    return json.dumps(value, ensure_ascii=False, allow_nan=False)


def _known(errors: Array) -> Any:
    """Numbers that are not known are null."""
    null: Any = None
    return np.where(np.isnan(errors), null, errors).tolist()


def _stderr(values: Any, shape: tuple[int, ...], otherwise: str) -> Array:
    errors = np.array(values, dtype=np.float64)  # null is NaN: not known
    if errors.shape != shape or (errors < 0).any() or np.isinf(errors).any():
        raise FileError(otherwise)
    return errors


def _distributions(values: list[Any], shapes: Sequence[tuple[int, ...]], what: str) -> list[Array]:
    """Tables of these shapes, whose rows sum to 1."""
    tables = [np.array(table, dtype=np.float64) for table in values]
    if [table.shape for table in tables] != list(shapes):
        raise FileError("its tables do not fit its attributes")
    for table in tables:
        if not (table >= 0).all() or not np.allclose(table.sum(axis=-1), 1, atol=1e-9):
            raise FileError(f"a {what} is negative or does not sum to 1")
    return tables


def _bayes_content(model: NaiveBayes) -> Content:
    parameters = model.parameters_
    tables = [np.exp(table).tolist() for table in model.feature_log_prob_]
    prior = parameters.prior.tolist()
    return {"n_records": parameters.n_records, "prior": prior, "tables": tables}


def _bayes(content: Content, schema: Schema) -> NaiveBayes:
    target = schema[content["target"]]
    shapes = [(target.size, k) for k in schema.without(target.name).sizes]
    tables = [content["prior"], *content["tables"]]
    prior, *tables = _distributions(tables, [(target.size,), *shapes], "prior or table")
    model = NaiveBayes(target=target.name)
    model.restore(BayesParameters(prior, tables, content["n_records"], "saved"))
    return model


def _tree_content(model: DecisionTree) -> Content:
    design, target = model.design_and_target()
    # The shares that it predicts by, with the covariance that the reports give.
    estimated = model.estimated_tree()
    tree = replace(model.tree_, covariance=estimated.covariance)
    content: Content = {
        "n_records": model.tree_.n_records,
        "criterion": model.criterion,
        "caution": None if model.caution is None else float(model.caution),
        "max_depth": None if model.max_depth is None else int(model.max_depth),
    }
    if estimated is not model.tree_:
        content["estimates"] = estimated.value.tolist()
    return content | {"nodes": nodes_of(tree, design.schema, target)}


def _tree(content: Content, schema: Schema) -> DecisionTree:
    target = schema[content["target"]].name
    settings = (content[key] for key in ("criterion", "caution", "max_depth"))
    model = DecisionTree(None, target, *settings)
    model.check_arguments()
    tree = tree_of(content["nodes"], schema, target, content["n_records"])
    model.restore(tree, schema, target)
    if "estimates" in content:
        shares = finite_numbers(content["estimates"], tree.value.shape, "estimates")
        model.estimated_tree_ = replace(tree, value=shares)
    return model


def _forest_content(model: Forest) -> Content:
    prior, features = model.prior(), model.features_
    assert features is not None
    return {
        "n_records": prior.n_records,
        "criterion": model.criterion,
        "prior": prior.value.tolist(),
        "covariance": prior.covariance.tolist(),
        "importances": model.feature_importances_.tolist(),
        "stderr": _known(model.importances_stderr_),
        "weights": model.weights_.tolist(),
        "trees": (forest_nodes(tree, features) for tree in model.trees_),
    }


def _forest(content: Content, schema: Schema) -> Forest:
    target = schema[content["target"]]
    features, n, n_records = schema.without(target.name), target.size, content["n_records"]
    model = Forest(None, target.name, criterion=content["criterion"])
    model.check_arguments()
    value = finite_numbers(content["prior"], (n,), "prior")
    covariance = finite_numbers(content["covariance"], (n, n), "covariance")
    name = f"P({target.name})"
    prior = Estimate.of_covariance((target,), value, covariance, n_records, "inversion", name)
    importances = finite_numbers(content["importances"], (len(features),), "importances")
    otherwise = "stderr must have a number from 0 up, or null, for every importance"
    stderr = _stderr(content["stderr"], importances.shape, otherwise)
    if not isinstance(content["trees"], list) or not content["trees"]:
        raise FileError("trees must be a list of at least one tree")
    trees = []
    for number, nodes in enumerate(content["trees"]):
        try:
            trees.append(forest_tree(nodes, features, n))
        except TacitError as error:
            raise FileError(f"tree {number}: {error}") from None
    weights = finite_numbers(content["weights"], (len(trees),), "weights")
    if (weights < 0).any() or not weights.any():
        raise FileError("weights must be numbers from 0 up, not all 0")
    model.restore(trees, weights, prior, (importances, stderr))
    return model


def _classes_content(model: LatentClass) -> Content:
    return {
        "n_records": model.n_records_,
        "shares": model.prior_.tolist(),
        "tables": [table.tolist() for table in model.tables_],
        "stderr": _known(np.sqrt(np.maximum(np.diagonal(model.covariance_of_()), 0))),
    }


def _classes(content: Content, schema: Schema) -> LatentClass:
    n = len(content["shares"])
    shapes = [(n,), *((n, k) for k in schema.sizes)]
    tables = [content["shares"], *content["tables"]]
    shares, *tables = _distributions(tables, shapes, "share or table")
    otherwise = "its standard errors do not fit its tables, or one is negative or infinite"
    stderr = _stderr(content["stderr"], (n + n * sum(schema.sizes),), otherwise)
    # Between cells it is not known.
    covariance = np.where(np.eye(len(stderr), dtype=bool), stderr**2, np.nan)
    model = LatentClass(n_classes=n)
    model.fingerprint_ = content["design"]
    model.restore(schema, shares, tables, content["n_records"], partial(np.asarray, covariance))
    return model


#: The covariance of more cells is not saved.
MOST_SAVED = 128


def _joint_content(model: ChowLiuTree) -> Content:
    """A Chow-Liu tree.

    Standard errors are saved for the margins and for the tables of edges, parent x child. A model
    of few cells also saves the covariance of all its tables (rows of the lower triangle), from
    which the errors of every query follow. Those of a larger model need the reports, which no file
    contains.
    """
    tree, units = model.tree_, []
    for v, (names, parent) in enumerate(zip(model.units_, tree.parents, strict=True)):
        root = parent == ROOT
        unit = {"attributes": list(names), "parent": None if root else list(model.units_[parent])}
        unit |= {"table": tree.tables[v].tolist(), "stderr": _errors(model, v)}
        units.append(unit | {"pair_stderr": None if root else _errors(model, parent, v)})
    edges = [(list(edge.first), list(edge.second), *edge[2:]) for edge in model.edges_]
    content: Content = {
        "n_records": model.n_records_,
        "error": float(model.error),
        "alpha": float(model.alpha),
        "units": units,
        "edges": [dict(zip(EDGE_COLUMNS, edge, strict=True)) for edge in edges],
    }
    cells = TableCells(tree)
    if hasattr(model, "reports_") and cells.number <= MOST_SAVED:
        covariance = cells.covariance(model.reports_)
        content["covariance"] = [row[: i + 1].tolist() for i, row in enumerate(covariance)]
    return content


def _errors(model: ChowLiuTree, *nodes: int) -> Any:
    """Standard errors of the table of a node, or of an edge, parent x child."""
    names = [name for node in nodes for name in model.units_[node]]
    return _known(model.table(names).stderr.reshape([model.tree_.sizes[node] for node in nodes]))


def _joint(content: Content, schema: Schema) -> ChowLiuTree:
    model = ChowLiuTree(error=content["error"], alpha=content["alpha"])
    model.check_arguments()
    units = content["units"]
    names = [tuple(unit["attributes"]) for unit in units]
    if sorted(name for unit_names in names for name in unit_names) != sorted(schema.names):
        raise FileError("its units do not have every attribute once")
    parent_names = [None if unit["parent"] is None else tuple(unit["parent"]) for unit in units]
    if not {*parent_names} <= {None, *names}:
        raise FileError("a parent is not one of its units")
    parents = tuple(ROOT if parent is None else names.index(parent) for parent in parent_names)
    if len(TreeDistribution(parents, ()).order) != len(units):
        raise FileError("its units do not form a tree")
    sizes = [math.prod(schema[name].size for name in unit_names) for unit_names in names]
    shapes = [
        (k,) if parent == ROOT else (sizes[parent], k)
        for k, parent in zip(sizes, parents, strict=True)
    ]
    tree = TreeDistribution(
        parents, tuple(_distributions([unit["table"] for unit in units], shapes, "table"))
    )
    otherwise = "a standard error is negative, infinite or missing"
    margins = [_stderr(u["stderr"], (k,), otherwise) for u, k in zip(units, sizes, strict=True)]
    pairs = {v: _stderr(units[v]["pair_stderr"], shapes[v], otherwise) for _, v in tree.edges}
    errors: QueryErrors = partial(saved_errors, margins, pairs)
    if "covariance" in content:
        errors = _covariance(content["covariance"], TableCells(tree))
    edges = [_edge(edge, names) for edge in content["edges"]]
    model.fingerprint_, model.labelled_ = content["design"], True
    model.restore(schema, names, tree, edges, content["n_records"], errors)
    return model


def _covariance(rows: Any, cells: TableCells) -> QueryErrors:
    if [len(row) for row in rows] != list(range(1, cells.number + 1)):
        raise FileError("its covariance does not fit its tables")
    lower = np.zeros((cells.number,) * 2)
    lower[np.tril_indices(cells.number)] = [float(value) for row in rows for value in row]
    if not np.isfinite(lower).all() or (np.diagonal(lower) < 0).any():
        raise FileError("its covariance is infinite or negative")
    return partial(saved_covariance, cells, lower + np.tril(lower, -1).T)


def _edge(edge: dict[str, Any], units: list[tuple[str, ...]]) -> TreeEdge:
    first, second, *numbers = (edge[key] for key in EDGE_COLUMNS)
    result = TreeEdge(tuple(first), tuple(second), *map(float, numbers))
    if not {*result[:2]} <= {*units} or not np.isfinite(result[2:]).all():
        raise FileError("an edge does not fit its units")
    return result


class ModelKind(NamedTuple):
    """A class of models, its format, and how it is written and read."""

    model: type[Any]
    format: DocumentFormat
    content: Callable[[Any], Content]
    read: Callable[[Content, Schema], Model]


def _format(kind: str, keys: str, optional: tuple[str, ...] = ()) -> DocumentFormat:
    return DocumentFormat(kind, "model file", (tuple(keys.split()),), optional)


_COMMON = "design target attributes n_records "
_FOREST = "criterion prior covariance importances stderr weights trees"
_CLASSES = "design attributes n_records shares tables stderr"
_JOINT = "design attributes n_records error alpha units edges"
_KINDS = (
    ModelKind(NaiveBayes, _format("naive-bayes", _COMMON + "prior tables"), _bayes_content, _bayes),
    ModelKind(
        DecisionTree,
        # `estimates` are unbiased shares of the nodes, if it predicts by others.
        _format("decision-tree", _COMMON + "criterion caution max_depth nodes", ("estimates",)),
        _tree_content,
        _tree,
    ),
    ModelKind(Forest, _format("forest", _COMMON + _FOREST), _forest_content, _forest),
    ModelKind(LatentClass, _format("latent-classes", _CLASSES), _classes_content, _classes),
    ModelKind(
        ChowLiuTree, _format("chow-liu-tree", _JOINT, ("covariance",)), _joint_content, _joint
    ),
)
