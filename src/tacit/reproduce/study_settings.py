"""What is run: a plan makes settings, a setting makes rows.

A setting is a frozen description that fits in a small file; all its randomness comes from its
seed, its own name and the number of the repeat, so neither the order of settings nor the number
of processes changes a result.
"""

from __future__ import annotations

import zlib
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, fields
from typing import Any

import numpy as np

#: A number, a text, or None where no estimate exists.
Value = float | int | str | None
#: What a setting found, one mapping a row; the same columns in every row of a kind.
Rows = list[dict[str, Value]]
#: Told how many repeats of a setting are done.
Tell = Callable[[int], None]
#: The literal procedure repeated so often that chance no longer decides how near it is.
MORE = "literal, more repeats"
#: The rows of every setting of a study, by its name.
Results = Mapping[str, Rows]


@dataclass(frozen=True)
class Plan:
    """How much to run: `repeats` None takes those of the papers, `quick` a small part of all."""

    repeats: int | None = None
    quick: bool = False
    seed: int = 0

    @property
    def small(self) -> bool:
        """Whether it is not all that the papers ran."""
        return self.quick or self.repeats is not None

    def count(self, published: int, quick: int) -> int:
        """The repeats of a setting: as asked, else quick, else as published."""
        if self.repeats is not None:
            return self.repeats
        return quick if self.quick else published


@dataclass(frozen=True)
class Setting:
    """One experiment: the study, its name in it, parameters, repeats and the seed.

    `seconds` is about what a repeat takes: progress is told by it, nothing else depends on it.
    """

    study: str
    name: str
    repeats: int
    seed: int
    values: tuple[tuple[str, Value], ...] = ()
    seconds: float = field(default=1.0, compare=False)

    def __getitem__(self, name: str) -> Any:
        return dict(self.values)[name]

    def has(self, name: str) -> bool:
        """Whether a parameter is given."""
        return name in dict(self.values)

    def rng(self, repeat: int, of: str | None = None) -> np.random.Generator:
        """The generator of one repeat; `of` something that settings of a study have in common."""
        own = zlib.crc32(f"{self.study}/{self.name if of is None else of}".encode())
        return np.random.default_rng(np.random.SeedSequence([self.seed, own, repeat]))

    def to_dict(self) -> dict[str, Any]:
        """JSON-ready content: what makes it this setting."""
        own = {each.name: getattr(self, each.name) for each in fields(self) if each.compare}
        return {**own, "values": dict(self.values)}


def setting(
    study: str, name: str, repeats: int, plan: Plan, seconds: float = 1.0, **values: Value
) -> Setting:
    """A setting of a plan."""
    return Setting(study, name, repeats, plan.seed, tuple(sorted(values.items())), seconds)


def moments(scores: Sequence[float] | np.ndarray[Any, Any], alike: int = 1) -> dict[str, Value]:
    """Mean and variance as the papers draw them, and the standard error of the mean.

    Every `alike` scores in a row share a division of the records into those learnt from and those
    tested on: if more than one, the variance is that among them alone, and the standard error
    counts divisions. What too few scores do not tell is None.
    """
    several = np.asarray(scores, dtype=np.float64)
    mean = float(several.mean())
    divisions = several[: len(several) // alike * alike].reshape(-1, alike)
    among = divisions if alike > 1 else divisions.T
    among = among - among[:, :1]  # equal scores have a variance of 0, not of rounding
    variance = float(among.var(axis=1, ddof=1).mean()) if among[:, 1:].size else None
    if len(divisions) < 2:
        return {"mean": mean, "variance": variance, "stderr": None}
    means = divisions.mean(axis=1)
    error = float((means - means[0]).std(ddof=1) / np.sqrt(len(divisions)))
    return {"mean": mean, "variance": variance, "stderr": error}
