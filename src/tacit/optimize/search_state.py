"""SearchState: all that the next generation depends on, as a value and a file.

A search that is continued from its state gives the same numbers as one without interruption.
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import Any

import numpy as np

from tacit.core.arrays import Array
from tacit.errors import FileError
from tacit.optimize.front_problem import FrontProblem
from tacit.output.json_documents import DocumentFormat, read_document

_POPULATIONS = ("population", "archive", "omega")
FORMAT = DocumentFormat(
    "search", "search file", (("problem", "generation", "stale", "rng", *_POPULATIONS),)
)


@dataclass(frozen=True)
class ChannelPopulation:
    """Channels with their privacy and error; an empty place is all zeros, its error infinite."""

    matrices: Array
    privacy: Array
    error: Array

    def __add__(self, other: ChannelPopulation) -> ChannelPopulation:
        return ChannelPopulation(
            np.concatenate([self.matrices, other.matrices]),
            np.concatenate([self.privacy, other.privacy]),
            np.concatenate([self.error, other.error]),
        )

    def copy(self) -> ChannelPopulation:
        """The same channels in arrays of their own."""
        return ChannelPopulation(self.matrices.copy(), self.privacy.copy(), self.error.copy())

    def take(self, places: Any) -> ChannelPopulation:
        """Those at these places."""
        return ChannelPopulation(self.matrices[places], self.privacy[places], self.error[places])

    def put(self, places: Any, other: ChannelPopulation, at: Any) -> None:
        """Replace the channels at these places by those of another population."""
        self.matrices[places] = other.matrices[at]
        self.privacy[places] = other.privacy[at]
        self.error[places] = other.error[at]

    def to_dict(self) -> dict[str, Any]:
        """JSON-ready content: the places that are filled, and what is there."""
        filled = np.flatnonzero(self.matrices.any(axis=(1, 2)))
        errors = self.error[filled].tolist()
        return {
            "size": len(self.error),
            "places": filled.tolist(),
            "matrices": self.matrices[filled].tolist(),
            "privacy": self.privacy[filled].tolist(),
            "error": [error if np.isfinite(error) else None for error in errors],
        }

    @classmethod
    def from_dict(cls, data: dict[str, Any], n: int) -> ChannelPopulation:
        """The population of n x n channels that `to_dict` described."""
        size, places = int(data["size"]), np.array(data["places"], dtype=np.intp)
        made = cls(np.zeros((size, n, n)), np.zeros(size), np.full(size, np.inf))
        made.matrices[places] = np.array(data["matrices"]).reshape(-1, n, n)
        made.privacy[places] = data["privacy"]
        made.error[places] = [np.inf if error is None else error for error in data["error"]]
        return made


@dataclass(frozen=True)
class SearchState:
    """A search of `Spea2` after some generations; `stale` of them have not changed Omega."""

    problem: FrontProblem
    generation: int
    stale: int
    population: ChannelPopulation
    archive: ChannelPopulation
    omega: ChannelPopulation
    rng: dict[str, Any]

    def to_json(self) -> str:
        """The search file; numbers come back exactly."""
        content = {
            **FORMAT.header,
            "problem": self.problem.to_dict(),
            "generation": self.generation,
            "stale": self.stale,
            "rng": self.rng,
            **{name: getattr(self, name).to_dict() for name in _POPULATIONS},
        }
        return json.dumps(content, ensure_ascii=False, allow_nan=False) + "\n"

    @classmethod
    def from_json(cls, text: str) -> SearchState:
        """The state that a search file describes."""
        content = read_document(text, FORMAT)
        try:
            problem = FrontProblem.from_dict(content["problem"])
            generation, stale = int(content["generation"]), int(content["stale"])
            first, second, third = (
                ChannelPopulation.from_dict(content[name], problem.n) for name in _POPULATIONS
            )
            np.random.default_rng().bit_generator.state = content["rng"]
        except (KeyError, TypeError, ValueError, IndexError) as error:
            raise FileError(f"not a search file: {type(error).__name__}: {error}") from None
        return cls(problem, generation, stale, first, second, third, content["rng"])
