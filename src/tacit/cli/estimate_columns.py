"""estimate_columns: several estimates as the columns of one table, for CSV and other files."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from tacit.core.attribute import text
from tacit.reconstruction.estimate import free_names

if TYPE_CHECKING:
    from tacit.reconstruction import Estimate

NUMBERS = ("estimate", "stderr", "lower", "upper")


def estimate_columns(
    estimates: Sequence[Estimate], level: float, taken: Sequence[str] = ()
) -> dict[str, list[Any]]:
    """All tables in one: the quantity, a column per attribute, the numbers.

    No column gets one of the names that are `taken`.
    """
    names = list(dict.fromkeys(a.name for found in estimates for a in found.attributes))
    shown = free_names(names, ["quantity", *NUMBERS, *taken])
    columns: dict[str, list[Any]] = {key: [] for key in ("quantity", *shown.values(), *NUMBERS)}
    for found in estimates:
        own = found.columns(level)
        n_cells = len(own["estimate"])
        columns["quantity"] += [found.name] * n_cells
        labels = dict(zip((a.name for a in found.attributes), own.values(), strict=False))
        for name, column in shown.items():
            columns[column] += (
                [text(label) for label in labels[name]] if name in labels else [None] * n_cells
            )
        for key in NUMBERS:
            columns[key] += own[key]
    return columns
