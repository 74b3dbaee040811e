"""Models as JSON: readable, without code, and tied to the design they were learnt under."""

from __future__ import annotations

import json
import re
from typing import Any

import numpy as np

from tacit.channel.linear import Array
from tacit.errors import FileError, TacitError, unknown
from tacit.mine.learning import Learnt
from tacit.mine.naive_bayes import NaiveBayes
from tacit.schema import Schema

#: Version of the model file that this code writes; it reads this one and older ones.
VERSION = 1
_KEYS = ("tacit", "version", "design", "target", "attributes", "n_records", "prior", "tables")


def model_to_json(model: NaiveBayes) -> str:
    """A fitted model that was learnt from reported records."""
    if (
        not isinstance(model, NaiveBayes)
        or model.design is None
        or model.target is None
        or not hasattr(model, "learnt_")
    ):
        raise FileError("only a model fitted to reported records, with its design, can be saved")
    content = {
        "tacit": "naive-bayes",
        "version": VERSION,
        "design": model.design.fingerprint,
        "target": model.target,
        **model.design.schema.to_dict(),
        "n_records": model.learnt_.n_records,
        "prior": model.learnt_.prior.tolist(),
        "tables": [np.exp(table).tolist() for table in model.feature_log_prob_],
    }
    return json.dumps(content, ensure_ascii=False, allow_nan=False) + "\n"


def model_from_json(text: str) -> NaiveBayes:
    """The model that `model_to_json` wrote; it predicts, and knows its design's fingerprint."""
    try:
        content = json.loads(text)
    except (TypeError, ValueError, RecursionError) as error:
        raise FileError(f"not a model file: {error}") from None
    _check_header(content)
    try:
        return _built(content)
    except TacitError:
        raise
    except (KeyError, TypeError, ValueError, AttributeError) as error:
        raise FileError(f"not a model file: {type(error).__name__}: {error}") from None


def _check_header(content: Any) -> None:
    if not isinstance(content, dict) or content.get("tacit") != "naive-bayes":
        raise FileError('not a model file: it must be a JSON object with "tacit": "naive-bayes"')
    version = content.get("version")
    if type(version) is not int or version < 1:
        raise FileError(f"the model file's version must be a positive integer, got {version!r}")
    if version > VERSION:
        raise FileError(
            f"the model file has version {version}, this tacit reads up to {VERSION}; upgrade tacit"
        )
    for key in content:
        if key not in _KEYS:
            raise FileError(unknown("key", key, _KEYS, " in the model file"))
    for key in _KEYS:
        if key not in content:
            raise FileError(f"not a model file: the key {key!r} is missing")


def _built(content: dict[str, Any]) -> NaiveBayes:
    schema = Schema.from_dict({"attributes": content["attributes"]})
    target = schema[content["target"]]
    features = schema.subset([name for name in schema.names if name != target.name])
    prior = np.array(content["prior"], dtype=np.float64)
    tables = [np.array(table, dtype=np.float64) for table in content["tables"]]
    shapes = [(target.size, k) for k in features.sizes]
    if prior.shape != (target.size,) or [table.shape for table in tables] != shapes:
        raise FileError("not a model file: its tables do not fit its attributes")
    if not all(_are_distributions(table) for table in (prior, *tables)):
        raise FileError("not a model file: a prior or table is negative or does not sum to 1")
    n_records, design = content["n_records"], content["design"]
    if type(n_records) is not int or n_records < 1:
        raise FileError(
            f"not a model file: n_records must be a positive integer, got {n_records!r}"
        )
    if not isinstance(design, str) or not re.fullmatch("[0-9a-f]{64}", design):
        raise FileError(f"not a model file: {design!r} is not the fingerprint of a design")
    model = NaiveBayes(target=target.name)
    learnt = Learnt(prior, tables, n_records, "saved")
    model.restore(features, np.array(target.categories), learnt, design)
    return model


def _are_distributions(table: Array) -> bool:
    """Whether all rows are finite, not negative, and sum to 1."""
    good = np.isfinite(table).all() and (table >= 0).all()
    return bool(good and np.allclose(table.sum(axis=-1), 1, atol=1e-9))
