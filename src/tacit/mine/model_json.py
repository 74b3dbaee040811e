"""Models as JSON: readable, without code, and with the fingerprint of their design."""

from __future__ import annotations

import json
import math
import re
from collections.abc import Callable, Iterable
from dataclasses import replace
from functools import partial
from typing import Any

import numpy as np

from tacit.core.arrays import Array
from tacit.core.design import Design
from tacit.core.schema import Attribute, Schema
from tacit.errors import FileError, TacitError
from tacit.mine.chow_liu_tree import ChowLiuTree
from tacit.mine.decision_tree import DecisionTree
from tacit.mine.forest import Forest
from tacit.mine.joint_model import JointModel, QueryErrors, SavedCovariance, SavedErrors, TableCells
from tacit.mine.latent_class import ClassProfiles, LatentClass, saved_covariance
from tacit.mine.miner import Miner
from tacit.mine.naive_bayes import NaiveBayes
from tacit.mine.tree.json import finite_numbers, forest_nodes, forest_tree, nodes_of, tree_of
from tacit.models.bayes_parameters import BayesParameters
from tacit.models.dependence_tree import TreeEdge
from tacit.models.tree_distribution import ROOT, TreeDistribution
from tacit.output.json_documents import DocumentFormat, read_document
from tacit.reconstruction import Estimate

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
    """A fitted tree as plain values.

    Standard errors are saved for the margins and for the tables of edges, parent x child. A model
    of few cells also saves the covariance of all its tables (rows of the lower triangle), from
    which the errors of every query follow. Those of a larger model need the reports, which no file
    contains.
    """
    joint, tree = model.model_, model.model_.tree
    units = []
    for v, (names, parent, table) in enumerate(
        zip(joint.units, tree.parents, tree.tables, strict=True)
    ):
        above = None if parent == ROOT else list(joint.units[parent])
        pair = None if parent == ROOT else _errors(joint, parent, v)
        values = (list(names), above, table.tolist(), _errors(joint, v), pair)
        units.append(dict(zip(_UNIT, values, strict=True)))
    edges = [
        (list(e.first), list(e.second), e.information, e.stderr, e.p_value, e.adjusted)
        for e in joint.edges
    ]
    about = {"design": design.fingerprint, **design.schema.to_dict(), "n_records": joint.n_records}
    settings = {"error": float(joint.error), "alpha": float(model.alpha)}
    content = {"units": units, "edges": [dict(zip(_EDGE, e, strict=True)) for e in edges]}
    cells = TableCells(tree)
    if hasattr(model, "reports_") and cells.number <= MOST_SAVED:
        covariance = cells.covariance(model.reports_)
        content["covariance"] = [row[: i + 1].tolist() for i, row in enumerate(covariance)]
    return CHOW_LIU_TREE.header | about | settings | content


def _errors(model: JointModel, *nodes: int) -> Any:
    """Standard errors of the table of a node, or of an edge, parent x child."""
    names = [name for node in nodes for name in model.units[node]]
    return _known(model.table(names).stderr.reshape([model.tree.sizes[node] for node in nodes]))


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
    if sorted(name for unit_names in names for name in unit_names) != sorted(schema.names):
        raise FileError("its units do not have every attribute once")
    places = {unit_names: index for index, unit_names in enumerate(names)}
    above = [None if unit["parent"] is None else tuple(unit["parent"]) for unit in units]
    if any(unit_names is not None and unit_names not in places for unit_names in above):
        raise FileError("a parent is not one of its units")
    parents = tuple(ROOT if unit_names is None else places[unit_names] for unit_names in above)
    tables = tuple(np.array(unit["table"], dtype=np.float64) for unit in units)
    tree = TreeDistribution(parents, tables)
    sizes = [math.prod(schema[name].size for name in unit_names) for unit_names in names]
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
    joint = JointModel(
        schema,
        tuple(names),
        tree,
        edges,
        content["n_records"],
        float(content["error"]),
        errors,
    )
    model.restore(joint, content["design"])
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
    errors = np.array(values, dtype=np.float64)  # null is NaN: not known
    if errors.shape != shape or (errors < 0).any() or np.isinf(errors).any():
        raise FileError("a standard error is negative, infinite or missing")
    return errors


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


_COMMON = ("design", "target", "attributes", "n_records")
_NAIVE_BAYES = DocumentFormat("naive-bayes", "model file", ((*_COMMON, "prior", "tables"),))
_DECISION_TREE = DocumentFormat(
    "decision-tree",
    "model file",
    ((*_COMMON, "criterion", "caution", "max_depth", "nodes"),),
    ("estimates",),  # unbiased shares of the nodes, if it predicts by others
)
_FOREST = DocumentFormat(
    "forest",
    "model file",
    ((*_COMMON, "criterion", "prior", "covariance", "importances", "stderr", "weights", "trees"),),
)
_LATENT_CLASSES = DocumentFormat(
    "latent-classes",
    "model file",
    (("design", "attributes", "n_records", "shares", "tables", "stderr"),),
)


def model_to_json(model: Miner | LatentClass | ChowLiuTree) -> str:
    """A model that was fitted to reported records, as JSON."""
    design = getattr(model, "design", None)
    if isinstance(model, ChowLiuTree) and design is not None and hasattr(model, "model_"):
        return _dumped(tree_content(model, design)) + "\n"
    if isinstance(model, LatentClass) and design is not None and hasattr(model, "profiles_"):
        return _latent_classes_json(model, design)
    if (
        not isinstance(model, NaiveBayes | DecisionTree | Forest)
        or not isinstance(design, Design)
        or model.target is None
        or not hasattr(model, "classes_")
    ):
        raise FileError("only a model fitted to reported records, with its design, can be saved")
    about = {"design": design.fingerprint, "target": model.target, **design.schema.to_dict()}
    if isinstance(model, NaiveBayes):
        content = _NAIVE_BAYES.header | about | {"n_records": model.parameters_.n_records}
        content["prior"] = model.parameters_.prior.tolist()
        content["tables"] = [np.exp(table).tolist() for table in model.feature_log_prob_]
        return _dumped(content) + "\n"
    if isinstance(model, Forest):
        return _forest_json(model, about)
    content = _DECISION_TREE.header | about | {"n_records": model.tree_.n_records}
    content["criterion"] = model.criterion
    content["caution"] = None if model.caution is None else float(model.caution)
    content["max_depth"] = None if model.max_depth is None else int(model.max_depth)
    # The shares that it predicts by, with the covariance that the reports give.
    estimated = model.estimated_tree()
    tree = replace(model.tree_, covariance=estimated.covariance)
    if estimated is not model.tree_:
        content["estimates"] = estimated.value.tolist()
    return _by_lines(content, "nodes", nodes_of(tree, design.schema, model.target))


def _by_lines(content: dict[str, Any], last: str, items: Iterable[object]) -> str:
    """One line per key and per item of the last one, so that files can be read and compared."""
    lines = [f"{_dumped(key)}: {_dumped(value)}," for key, value in content.items()]
    return "\n".join(["{", *lines, f'"{last}": [', ",\n".join(map(_dumped, items)), "]}", ""])


def _forest_json(model: Forest, about: dict[str, Any]) -> str:
    prior, features = model.prior(), model.features_
    assert features is not None
    content = _FOREST.header | about | {"n_records": prior.n_records, "criterion": model.criterion}
    content["prior"], content["covariance"] = prior.value.tolist(), prior.covariance.tolist()
    content["importances"] = model.feature_importances_.tolist()
    content["stderr"] = [None if np.isnan(e) else e for e in model.importances_stderr_.tolist()]
    content["weights"] = model.weights_.tolist()
    return _by_lines(content, "trees", (forest_nodes(tree, features) for tree in model.trees_))


def _latent_classes_json(model: LatentClass, design: Design) -> str:
    profiles = model.profiles_
    errors = np.sqrt(np.maximum(np.diagonal(profiles.covariance), 0))
    content = _LATENT_CLASSES.header | {"design": design.fingerprint, **design.schema.to_dict()}
    content["n_records"], content["shares"] = profiles.n_records, profiles.prior.tolist()
    content["tables"] = [table.tolist() for table in profiles.tables]
    content["stderr"] = [None if np.isnan(error) else error for error in errors.tolist()]
    return _dumped(content) + "\n"


def model_from_json(text: str) -> Miner | LatentClass | ChowLiuTree:
    """The model that `model_to_json` wrote, with its design's fingerprint."""
    formats = (_NAIVE_BAYES, _DECISION_TREE, _FOREST, _LATENT_CLASSES, CHOW_LIU_TREE)
    content = read_document(text, *formats)
    try:
        schema = Schema.from_dict({"attributes": content["attributes"]})
        n_records, design = content["n_records"], content["design"]
        if type(n_records) is not int or n_records < 1:
            raise FileError(f"n_records must be a positive integer, got {n_records!r}")
        if not isinstance(design, str) or not re.fullmatch("[0-9a-f]{64}", design):
            raise FileError(f"{design!r} is not the fingerprint of a design")
        if content["tacit"] == _LATENT_CLASSES.kind:
            return _latent_classes(content, schema)
        if content["tacit"] == CHOW_LIU_TREE.kind:
            return tree_of_content(content, schema)
        target = schema[content["target"]]
        model = _RESTORED[content["tacit"]](content, schema, target)
        classes = np.array(target.categories)
        model.set_fitted(schema.without(target.name), classes, content["design"])
        return model
    except (TacitError, KeyError, TypeError, ValueError, AttributeError) as error:
        kind = "" if isinstance(error, TacitError) else f"{type(error).__name__}: "
        raise FileError(f"not a model file: {kind}{error}") from None


def _dumped(value: object) -> str:
    return json.dumps(value, ensure_ascii=False, allow_nan=False)


def _naive_bayes(content: dict[str, Any], schema: Schema, target: Attribute) -> NaiveBayes:
    features = schema.without(target.name)
    prior = np.array(content["prior"], dtype=np.float64)
    tables = [np.array(table, dtype=np.float64) for table in content["tables"]]
    shapes = [(target.size, k) for k in features.sizes]
    if prior.shape != (target.size,) or [table.shape for table in tables] != shapes:
        raise FileError("its tables do not fit its attributes")
    _check_distributions("prior", prior, *tables)
    model = NaiveBayes(target=target.name)
    model.restore(BayesParameters(prior, tables, content["n_records"], "saved"))
    return model


def _check_distributions(name: str, *tables: Array) -> None:
    for table in tables:
        if not (table >= 0).all() or not np.allclose(table.sum(axis=-1), 1, atol=1e-9):
            raise FileError(f"a {name} or table is negative or does not sum to 1")


def _latent_classes(content: dict[str, Any], schema: Schema) -> LatentClass:
    shares = np.array(content["shares"], dtype=np.float64)
    tables = [np.array(table, dtype=np.float64) for table in content["tables"]]
    shapes = [(len(shares), k) for k in schema.sizes]
    stderr = np.array(content["stderr"], dtype=np.float64)  # null is NaN: not known
    cells = shares.size + sum(table.size for table in tables)
    if not shares.size or [t.shape for t in tables] != shapes or stderr.shape != (cells,):
        raise FileError("its tables do not fit its attributes")
    _check_distributions("share", shares, *tables)
    if (stderr < 0).any() or np.isinf(stderr).any():
        raise FileError("a standard error is negative or infinite")
    model = LatentClass(n_classes=len(shares))
    covariance = partial(saved_covariance, stderr)
    profiles = ClassProfiles(schema, shares, tables, content["n_records"], covariance)
    model.restore(profiles, content["design"])
    return model


def _decision_tree(content: dict[str, Any], schema: Schema, target: Attribute) -> DecisionTree:
    settings = (content[key] for key in ("criterion", "caution", "max_depth"))
    model = DecisionTree(None, target.name, *settings)
    model.check_arguments()
    tree = tree_of(content["nodes"], schema, target.name, content["n_records"])
    model.restore(tree, schema, target.name)
    if "estimates" in content:
        shares = finite_numbers(content["estimates"], tree.value.shape, "estimates")
        model.estimated_tree_ = replace(tree, value=shares)
    return model


def _forest(content: dict[str, Any], schema: Schema, target: Attribute) -> Forest:
    features, n = schema.without(target.name), target.size
    model = Forest(None, target.name, criterion=content["criterion"])
    model.check_arguments()
    value = finite_numbers(content["prior"], (n,), "prior")
    covariance = finite_numbers(content["covariance"], (n, n), "covariance")
    prior = Estimate.of_covariance(
        (target,), value, covariance, content["n_records"], "inversion", f"P({target.name})"
    )
    importances = finite_numbers(content["importances"], (len(features),), "importances")
    stderr = np.array(content["stderr"], dtype=np.float64)  # null is NaN: not known
    if stderr.shape != importances.shape or (stderr < 0).any():
        raise FileError("stderr must have a number from 0 up, or null, for every importance")
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


_RESTORED: dict[str, Callable[[dict[str, Any], Schema, Attribute], Miner]] = {
    _NAIVE_BAYES.kind: _naive_bayes,
    _DECISION_TREE.kind: _decision_tree,
    _FOREST.kind: _forest,
}
