"""Models as JSON: readable, without code, and tied to the design they were learnt under."""

from __future__ import annotations

import json
import math
import re
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np

from tacit.arrays import Array
from tacit.design import Design
from tacit.errors import FileError, TacitError, unknown
from tacit.json_documents import DocumentFormat, read_document
from tacit.mine.bayes_parameters import BayesParameters
from tacit.mine.decision_tree import DecisionTree
from tacit.mine.miner import Miner
from tacit.mine.naive_bayes import NaiveBayes
from tacit.mine.tree.criteria import CRITERIA
from tacit.mine.tree.tree_json import nodes_of, tree_of
from tacit.schema import Attribute, Schema

_COMMON = ("design", "target", "attributes", "n_records")
_NAIVE_BAYES = DocumentFormat("naive-bayes", "model file", ((*_COMMON, "prior", "tables"),))
_DECISION_TREE = DocumentFormat(
    "decision-tree",
    "model file",
    ((*_COMMON, "criterion", "caution", "max_depth", "nodes"),),
)


def model_to_json(model: Miner) -> str:
    """A fitted model that was learnt from reported records: naive Bayes or a decision tree."""
    design = getattr(model, "design", None)
    if (
        not isinstance(model, NaiveBayes | DecisionTree)
        or not isinstance(design, Design)
        or model.target is None
        or not hasattr(model, "classes_")
    ):
        raise FileError("only a model fitted to reported records, with its design, can be saved")
    if isinstance(model, DecisionTree):
        return _lines(_header(_DECISION_TREE, design, model.target, model.tree_.n_records), model)
    content = {
        **_header(_NAIVE_BAYES, design, model.target, model.parameters_.n_records),
        "prior": model.parameters_.prior.tolist(),
        "tables": [np.exp(table).tolist() for table in model.feature_log_prob_],
    }
    return _dumped(content) + "\n"


def model_from_json(text: str) -> NaiveBayes | DecisionTree:
    """The model that `model_to_json` wrote; it predicts, and knows its design's fingerprint."""
    content = read_document(text, _NAIVE_BAYES, _DECISION_TREE)
    try:
        return _BUILT[content["tacit"]](content)
    except (TacitError, KeyError, TypeError, ValueError, AttributeError) as error:
        kind = "" if isinstance(error, TacitError) else f"{type(error).__name__}: "
        raise FileError(f"not a model file: {kind}{error}") from None


def _header(model: DocumentFormat, design: Design, target: str, n_records: int) -> dict[str, Any]:
    return {
        **model.header,
        "design": design.fingerprint,
        "target": target,
        **design.schema.to_dict(),
        "n_records": n_records,
    }


def _lines(header: dict[str, Any], model: DecisionTree) -> str:
    """A tree with one line a key and one line a node, to be read and compared."""
    assert model.design is not None
    depth = None if model.max_depth is None else int(model.max_depth)
    content = header | {
        "criterion": model.criterion,
        "caution": float(model.caution),
        "max_depth": depth,
    }
    # What is predicted comes back exactly; how sure it is, as the reports tell.
    tree = replace(model.tree_, covariance=model.estimated_tree().covariance)
    nodes = map(_dumped, nodes_of(tree, model.design.schema, header["target"]))
    lines = [f"{_dumped(key)}: {_dumped(value)}," for key, value in content.items()]
    return "\n".join(["{", *lines, '"nodes": [', ",\n".join(nodes), "]}", ""])


def _dumped(value: object) -> str:
    return json.dumps(value, ensure_ascii=False, allow_nan=False)


def _asked(content: dict[str, Any]) -> tuple[Schema, Attribute, Schema]:
    """The attributes, the target and the features; checks what every model has."""
    schema = Schema.from_dict({"attributes": content["attributes"]})
    target = schema[content["target"]]
    n_records, design = content["n_records"], content["design"]
    if type(n_records) is not int or n_records < 1:
        raise FileError(f"n_records must be a positive integer, got {n_records!r}")
    if not isinstance(design, str) or not re.fullmatch("[0-9a-f]{64}", design):
        raise FileError(f"{design!r} is not the fingerprint of a design")
    return schema, target, schema.subset([name for name in schema.names if name != target.name])


def _naive_bayes(content: dict[str, Any]) -> NaiveBayes:
    _, target, features = _asked(content)
    prior = np.array(content["prior"], dtype=np.float64)
    tables = [np.array(table, dtype=np.float64) for table in content["tables"]]
    shapes = [(target.size, k) for k in features.sizes]
    if prior.shape != (target.size,) or [table.shape for table in tables] != shapes:
        raise FileError("its tables do not fit its attributes")
    if not all(_are_distributions(table) for table in (prior, *tables)):
        raise FileError("a prior or table is negative or does not sum to 1")
    model = NaiveBayes(target=target.name)
    learnt = BayesParameters(prior, tables, content["n_records"], "saved")
    model.restore(features, np.array(target.categories), learnt, content["design"])
    return model


def _decision_tree(content: dict[str, Any]) -> DecisionTree:
    schema, target, features = _asked(content)
    criterion, caution, depth = (content[key] for key in ("criterion", "caution", "max_depth"))
    if not isinstance(criterion, str) or criterion not in CRITERIA:
        raise FileError(unknown("criterion", criterion, CRITERIA))
    if type(caution) not in (int, float) or not 0 <= caution < math.inf:
        raise FileError(f"caution must be a number from 0 up, got {caution!r}")
    if depth is not None and (type(depth) is not int or depth < 0):
        raise FileError(f"max_depth must be a whole number from 0 up, or null, got {depth!r}")
    tree = tree_of(content["nodes"], schema, target.name, content["n_records"])
    model = DecisionTree(None, target.name, criterion, caution, depth)
    place, classes = schema.index(target.name), np.array(target.categories)
    model.restore(features, classes, tree, place, content["design"])
    return model


_BUILT: dict[str, Callable[[dict[str, Any]], NaiveBayes | DecisionTree]] = {
    "naive-bayes": _naive_bayes,
    "decision-tree": _decision_tree,
}


def _are_distributions(table: Array) -> bool:
    """Whether all rows are finite, not negative, and sum to 1."""
    good = np.isfinite(table).all() and (table >= 0).all()
    return bool(good and np.allclose(table.sum(axis=-1), 1, atol=1e-9))
