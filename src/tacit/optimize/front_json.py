"""Fronts as JSON: numbers come back exactly as they were."""

from __future__ import annotations

import json
from dataclasses import replace
from fractions import Fraction
from typing import TYPE_CHECKING, Any

import numpy as np

from tacit.errors import FileError, TacitError
from tacit.json_documents import DocumentFormat, read_document
from tacit.optimize.front_problem import FrontProblem, problem_of
from tacit.schema import Schema

if TYPE_CHECKING:
    from tacit.optimize.fronts import Front

_PROBLEM = ("prior", "shape", "attributes", "n_records", "delta", "epsilon")
FORMAT = DocumentFormat("front", "front file", (("method", *_PROBLEM, "points"),))


def problem_to_dict(problem: FrontProblem) -> dict[str, Any]:
    """JSON-ready content with exact fractions."""
    return {
        "prior": [str(value) for value in problem.prior],
        "shape": list(problem.shape),
        "attributes": [attribute.to_dict() for attribute in problem.attributes],
        "n_records": problem.n_records,
        "delta": str(problem.delta),
        "epsilon": problem.epsilon,
    }


def front_to_dict(front: Front) -> dict[str, Any]:
    """JSON-ready content: the problem with exact fractions, then every channel."""
    return {
        **FORMAT.header,
        "method": front.method,
        **problem_to_dict(front.problem),
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
    content = read_document(text, FORMAT)
    try:
        return _built(content)
    except TacitError:
        raise
    except (KeyError, TypeError, ValueError, AttributeError, ZeroDivisionError) as error:
        raise FileError(f"not a front file: {type(error).__name__}: {error}") from None


def problem_from_dict(content: dict[str, Any]) -> FrontProblem:
    """The problem that `problem_to_dict` described."""
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
        raise FileError("the prior does not fit its shape")
    return replace(checked, shape=shape, attributes=tuple(attributes))


def _built(content: dict[str, Any]) -> Front:
    from tacit.optimize.fronts import Front

    problem, points = problem_from_dict(content), content["points"]
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
