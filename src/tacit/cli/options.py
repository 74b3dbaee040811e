"""Options of what is printed, which several commands share."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from typer import Option

from tacit.cli import show
from tacit.errors import DataError
from tacit.reconstruction.estimate import estimate_columns
from tacit.reconstruction.interval import check_level

if TYPE_CHECKING:
    from tacit.reconstruction import Estimate


@dataclass(frozen=True)
class Format:
    """The format of what is printed.

    Parameters
    ----------
    as_format
        text for people; markdown, latex (booktabs) or csv; json is --json.
    as_json
        Print JSON.
    """

    as_format: show.OutputFormat = Option("text", "--format")
    as_json: bool = Option(False, "--json")

    def __post_init__(self) -> None:
        """Raise if two formats are given."""
        if self.as_json and self.as_format not in ("text", "json"):
            raise DataError(f"give --json or --format {self.as_format}, not both")

    def say(self, *lines: str) -> None:
        """Print lines that are for people only."""
        if self.as_format == "text" and not self.as_json:
            show.console().print(*lines, sep="\n", soft_wrap=True)

    def show(self, result: Any, *arguments: Any, **header: Any) -> None:
        """Print a result; see `show.print_result`."""
        as_format = "json" if self.as_json else self.as_format
        show.print_result(result, as_format, *arguments, header=header)


@dataclass(frozen=True)
class Output(Format):
    """The format, and the confidence of intervals.

    Parameters
    ----------
    level
        Confidence of the intervals.
    """

    level: float = Option(0.95, callback=check_level)

    def show_estimates(
        self, kind: str, design: str, estimates: Sequence[Estimate], **others: Any
    ) -> None:
        """A table for each estimate, or all in one document; `design` is a fingerprint."""
        header = {"tacit": kind, "version": 1, "design": design, **others}
        self.show(Estimates(estimates, "estimates"), self.level, **header)


class Estimates(show.Several):
    """Several estimates as one result."""

    def columns(self, level: float) -> dict[str, list[Any]]:
        """All tables in one."""
        return estimate_columns(self.results, level)
