"""`tacit test`: tests of hypotheses about the true answers, from reported records."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any

from tacit.cli.arguments import other_names, split
from tacit.cli.option_groups import grouped_options, option, typed
from tacit.cli.output_format import Formatted
from tacit.cli.sample_options import DrawnSample
from tacit.cli.sources import ReportedRecords
from tacit.core.schema import Schema
from tacit.errors import DataError, unknown
from tacit.reconstruction import TEST_METHODS, HypothesisTest, Reconstruction

#: Options that belong to a test, and whether it needs them.
_COMPANIONS = {
    "independence": {"given": False},
    "homogeneity": {"across": True},
    "goodness_of_fit": {"expected": True},
    "trend": {"given": False},
}


def _names(text: str) -> str | None:
    """An option that names attributes."""
    return option(None, metavar="NAMES", help=text)


@dataclass(frozen=True)
class AskedTest:
    """What is tested, with its options as text."""

    independence: str | None = _names("Are these answers independent of each other?")
    homogeneity: str | None = _names("Are these distributed alike in all groups of --across?")
    across: str | None = _names("The groups of --homogeneity: attributes or columns of DATA.")
    goodness_of_fit: str | None = option(
        None, metavar="NAME", help="Is the distribution of this attribute the one of --expected?"
    )
    expected: str | None = option(
        None, metavar="SHARES", help="The shares of --goodness-of-fit: 0.5,0.3,0.2."
    )
    trend: str | None = _names("Is there a trend between these two ordered attributes?")
    given: str | None = _names("Test --independence or --trend within these groups.")
    method: str | None = option(None, metavar="|".join(TEST_METHODS), help="pearson by default.")

    @cached_property
    def kind(self) -> str:
        """The test; an error unless one is asked for with all that it needs, and no more."""
        chosen = [kind for kind in _COMPANIONS if getattr(self, kind) is not None]
        if len(chosen) != 1:
            raise DataError(f"give one of {', '.join(map(typed, _COMPANIONS))}; got {len(chosen)}")
        for name in ("across", "expected", "given"):
            text, needed = getattr(self, name), _COMPANIONS[chosen[0]].get(name)
            if text is not None and needed is None:
                raise DataError(f"{typed(name)} does not go with {typed(chosen[0])}; leave it out")
            if text is None and needed:
                raise DataError(f"{typed(chosen[0])} needs {typed(name)}")
        return chosen[0]

    def columns(self, schema: Schema) -> list[str]:
        """The groups that are no attributes: columns of the records."""
        return other_names([self.across, self.given], schema)

    def check(self, schema: Schema) -> None:
        """An error in the options before a long file is counted."""
        known = [*schema.names, *self.columns(schema)]
        for name in split(getattr(self, self.kind), known):
            schema.index(name)
        if self.method is not None and self.method not in TEST_METHODS:
            raise DataError(unknown("method", self.method, TEST_METHODS))

    def ask(self, rec: Reconstruction) -> HypothesisTest:
        """Run the test."""
        known = rec.design.schema.names
        names = split(getattr(self, self.kind), known)
        method: dict[str, Any] = {"method": TEST_METHODS[self.method]} if self.method else {}
        groups = split(self.given, known) if self.given else None
        match self.kind:
            case "independence":
                return rec.independence(names, given=groups, **method)
            case "homogeneity":
                return rec.homogeneity(names, split(self.across or "", known), **method)
            case "trend":
                return rec.trend(names, given=groups, **method)
            case _:
                return rec.goodness_of_fit(names, _shares(self.expected or ""), **method)


@grouped_options
def hypothesis(
    *, asked: AskedTest, output: Formatted, records: ReportedRecords, people: DrawnSample
) -> None:
    """Test a hypothesis about the true answers from reported records.

    Example: [bold]tacit test survey.json reported.csv --independence smokes,income[/bold]

    Example: [bold]tacit test survey.json reported.csv --goodness-of-fit smokes
    --expected 0.8,0.2[/bold]
    """
    schema = records.design.schema
    asked.check(schema)
    found = asked.ask(people.reconstructed(records, asked.columns(schema)))
    header = {"tacit": "test", "version": 1, "design": records.design.fingerprint}
    output.show(
        lambda: [found.to_table()],
        lambda: {key: [value] for key, value in found.to_dict().items()},
        lambda: header | found.to_dict(),
    )


def _shares(text: str) -> list[float]:
    try:
        return [float(part) for part in text.split(",")]
    except ValueError:
        raise DataError(
            f"--expected: {text!r} is not a list of numbers with commas between"
        ) from None
