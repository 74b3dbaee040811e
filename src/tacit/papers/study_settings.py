"""Settings of experiments: a plan gives settings, a setting gives rows.

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

#: A number, a text, or None if no estimate exists.
Value = float | int | str | None
#: The results of a setting: a mapping per row, with the same keys in every row of a kind.
Rows = list[dict[str, Any]]
#: Called with the number of finished repeats of a setting.
Tell = Callable[[int], None]
#: The literal procedure with so many repeats that chance hardly matters.
MORE = "literal, more repeats"
#: The rows of every setting of a study, by its name.
Results = Mapping[str, Rows]


@dataclass(frozen=True)
class Plan:
    """How much to run: `repeats` None means as in the papers, `quick` a small part of it."""

    repeats: int | None = None
    quick: bool = False
    seed: int = 0

    @property
    def small(self) -> bool:
        """Whether it has fewer repeats than the papers."""
        return self.quick or self.repeats is not None

    def count(self, published: int, quick: int) -> int:
        """The repeats of a setting: as given, else quick, else as published."""
        if self.repeats is not None:
            return self.repeats
        return quick if self.quick else published


@dataclass(frozen=True)
class Setting:
    """One experiment: the study, its name in it, parameters, repeats and the seed.

    `seconds` is the approximate time of a repeat; only the progress bar uses it.
    """

    study: str
    name: str
    repeats: int
    seed: int
    values: tuple[tuple[str, Value], ...] = ()
    seconds: float = field(default=1.0, compare=False)

    def __getitem__(self, name: str) -> Any:
        return dict(self.values)[name]

    def rng(self, repeat: int, of: str | None = None) -> np.random.Generator:
        """The generator of one repeat; settings of a study with the same `of` share it."""
        own = zlib.crc32(f"{self.study}/{self.name if of is None else of}".encode())
        return np.random.default_rng(np.random.SeedSequence([self.seed, own, repeat]))

    def to_dict(self) -> dict[str, Any]:
        """JSON-ready content that identifies the setting."""
        own = {each.name: getattr(self, each.name) for each in fields(self) if each.compare}
        return {**own, "values": dict(self.values)}


def setting(
    study: str, name: str, repeats: int, plan: Plan, seconds: float = 1.0, **values: Value
) -> Setting:
    """A setting of a plan."""
    return Setting(study, name, repeats, plan.seed, tuple(sorted(values.items())), seconds)


def moments(scores: Sequence[float], alike: int = 1) -> dict[str, Any]:
    """Mean and variance as the papers draw them, and the standard error of the mean.

    Each run of `alike` scores shares a division into training and test records. If `alike` is more
    than one, the variance is the variance within a division, and the standard error counts
    divisions. None if there are too few scores.
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
