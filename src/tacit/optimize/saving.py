"""Fronts as JSON: numbers come back exactly as they were."""

from __future__ import annotations

import json
from fractions import Fraction
from typing import TYPE_CHECKING, Any

import numpy as np

from tacit.errors import FileError, TacitError, unknown
from tacit.optimize.problem import Problem, problem_of
from tacit.schema import Schema

if TYPE_CHECKING:
    from tacit.optimize.fronts import Front

#: Version of the front file that this code writes; it reads this one and older ones.
VERSION = 1
_KEYS = (
    "tacit", "version", "method", "prior", "shape", "attributes",
    "n_records", "delta", "epsilon", "points",
)  # fmt: skip


def front_to_dict(front: Front) -> dict[str, Any]:
    """JSON-ready content: the problem with exact fractions, then every channel."""
    problem = front.problem
    return {
        "tacit": "front",
        "version": VERSION,
        "method": front.method,
        "prior": [str(value) for value in problem.prior],
        "shape": list(problem.shape),
        "attributes": [attribute.to_dict() for attribute in problem.attributes],
        "n_records": problem.n_records,
        "delta": str(problem.delta),
        "epsilon": problem.epsilon,
        "points": [
            {
                "privacy": float(front.privacy[i]),
                "mse": float(front.mse[i]),
                "lower_bound": float(front.lower_bound[i]),
                "matrix": matrix.tolist(),
            }
            for i, matrix in enumerate(front.channels)
        ],
    }


def front_to_json(front: Front) -> str:
    """The front file."""
    return json.dumps(front_to_dict(front), ensure_ascii=False, allow_nan=False) + "\n"


def front_from_json(text: str) -> Front:
    """The front that `front_to_json` wrote."""
    try:
        content = json.loads(text)
    except (TypeError, ValueError, RecursionError) as error:
        raise FileError(f"not a front file: {error}") from None
    _check_header(content)
    try:
        return _built(content)
    except TacitError:
        raise
    except (KeyError, TypeError, ValueError, AttributeError, ZeroDivisionError) as error:
        raise FileError(f"not a front file: {type(error).__name__}: {error}") from None


def _check_header(content: Any) -> None:
    if not isinstance(content, dict) or content.get("tacit") != "front":
        raise FileError('not a front file: it must be a JSON object with "tacit": "front"')
    version = content.get("version")
    if type(version) is not int or version < 1:
        raise FileError(f"the front file's version must be a positive integer, got {version!r}")
    if version > VERSION:
        raise FileError(
            f"the front file has version {version}, this tacit reads up to {VERSION}; upgrade tacit"
        )
    for key in content:
        if key not in _KEYS:
            raise FileError(unknown("key", key, _KEYS, " in the front file"))
    for key in _KEYS:
        if key not in content:
            raise FileError(f"not a front file: the key {key!r} is missing")


def _problem(content: dict[str, Any]) -> Problem:
    attributes = Schema.from_dict({"attributes": content["attributes"]}).attributes if (
        content["attributes"]
    ) else ()  # fmt: skip
    prior = [Fraction(value) for value in content["prior"]]
    checked = problem_of(
        prior, content["n_records"], Fraction(content["delta"]), content["epsilon"]
    )
    shape = tuple(content["shape"])
    sizes = tuple(attribute.size for attribute in attributes)
    if int(np.prod(shape)) != len(prior) or (attributes and sizes != shape):
        raise FileError("not a front file: its prior does not fit its shape")
    return Problem(
        checked.prior, checked.n_records, checked.delta, checked.epsilon, shape, tuple(attributes)
    )


def _built(content: dict[str, Any]) -> Front:
    from tacit.optimize.fronts import Front

    problem, points = _problem(content), content["points"]
    if not isinstance(content["method"], str) or not points:
        raise FileError("not a front file: it needs a method and at least one point")
    numbers = {
        key: np.array([float(point[key]) for point in points])
        for key in ("privacy", "mse", "lower_bound")
    }
    matrices = tuple(np.array(point["matrix"], dtype=np.float64) for point in points)
    for matrix in matrices:
        if matrix.ndim != 2 or matrix.shape[1] != problem.n:
            raise FileError(f"not a front file: a matrix needs {problem.n} columns")
        if (matrix < 0).any() or not np.allclose(matrix.sum(axis=0), 1, atol=1e-9):
            raise FileError("not a front file: a column is negative or does not sum to 1")
    return Front(problem, content["method"], channels=matrices, **numbers)
