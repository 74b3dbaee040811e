"""`tacit test`: tests of hypotheses about the true answers, from reported records."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Annotated, Any

import typer

from tacit.cli.arguments import AsJson, DesignFile, other_names, split
from tacit.cli.output_format import AsFormat, OutputFormat, Results, chosen_format
from tacit.cli.sources import FromDatabase, OptionalData, counted_with, needed_source
from tacit.errors import DataError, unknown
from tacit.files import read_design
from tacit.reconstruction import TEST_METHODS, HypothesisTest, Reconstruction, reconstruct
from tacit.schema import Schema

Names = Annotated[
    str | None,
    typer.Option(metavar="NAMES", help="Are these answers independent of each other?"),
]
Alike = Annotated[
    str | None,
    typer.Option(metavar="NAMES", help="Are these distributed alike in all groups of --across?"),
]
Across = Annotated[
    str | None,
    typer.Option(
        metavar="NAMES", help="The groups of --homogeneity: attributes or other columns of DATA."
    ),
]
Shares = Annotated[
    str | None,
    typer.Option(
        metavar="NAME", help="Is the distribution of this attribute the one of --expected?"
    ),
]
Expected = Annotated[
    str | None,
    typer.Option(metavar="SHARES", help="The shares of --goodness-of-fit: 0.5,0.3,0.2."),
]
Ordered = Annotated[
    str | None,
    typer.Option(metavar="NAMES", help="Is there a trend between these two ordered attributes?"),
]
Groups = Annotated[
    str | None,
    typer.Option(metavar="NAMES", help="Test --independence or --trend within these groups."),
]
By = Annotated[
    str | None,
    typer.Option(
        metavar="|".join(TEST_METHODS),
        help="likelihood-ratio by default; wald for --trend.",
    ),
]


def hypothesis(
    design_file: DesignFile,
    data: OptionalData = None,
    independence: Names = None,
    homogeneity: Alike = None,
    across: Across = None,
    goodness_of_fit: Shares = None,
    expected: Expected = None,
    trend: Ordered = None,
    given: Groups = None,
    method: By = None,
    as_format: AsFormat = OutputFormat.TEXT,
    as_json: AsJson = False,
    database: FromDatabase = None,
) -> None:
    """Test a hypothesis about the true answers from reported records.

    Example: [bold]tacit test survey.json reported.csv --independence smokes,income[/bold]

    Example: [bold]tacit test survey.json reported.csv --goodness-of-fit smokes
    --expected 0.8,0.2[/bold]
    """
    output = chosen_format(as_format, as_json)
    design = read_design(design_file)
    records = needed_source(data, database)
    asked = {
        "--independence": independence,
        "--homogeneity": homogeneity,
        "--goodness-of-fit": goodness_of_fit,
        "--trend": trend,
    }
    chosen = [(option, names) for option, names in asked.items() if names is not None]
    if len(chosen) != 1:
        raise DataError(f"give one of {', '.join(asked)}; got {len(chosen)}")
    option, names = chosen[0]
    _check_companions(option, {"--across": across, "--expected": expected, "--given": given})
    if method is not None and method not in TEST_METHODS:
        raise DataError(unknown("method", method, TEST_METHODS))
    extra = {"across": across, "expected": expected, "given": given, "method": method}
    question = _AskedTest(option, names, extra)
    columns = other_names([across, given], design.schema)
    question.check([*design.schema.names, *columns], design.schema)
    rec = reconstruct(*counted_with(design_file, design, records, columns))
    found = question.ask(rec)
    header = {"tacit": "test", "version": 1, "design": design.fingerprint}
    Results(
        lambda: [found.to_table()],
        lambda: {key: [value] for key, value in found.to_dict().items()},
        lambda: header | found.to_dict(),
    ).show(output)


#: Options that belong to a test, and whether it needs them.
_COMPANIONS = {
    "--independence": {"--given": False},
    "--homogeneity": {"--across": True},
    "--goodness-of-fit": {"--expected": True},
    "--trend": {"--given": False},
}


def _check_companions(option: str, given: dict[str, str | None]) -> None:
    """An error if an option is missing or belongs to another test."""
    for name, text in given.items():
        needed = _COMPANIONS[option].get(name)
        if text is not None and needed is None:
            raise DataError(f"{name} does not go with {option}; leave it out")
        if text is None and needed:
            raise DataError(f"{option} needs {name}")


class _AskedTest:
    """What is tested, with its options as text."""

    def __init__(self, option: str, names: str, extra: dict[str, str | None]) -> None:
        self.option, self.names, self.extra = option, names, extra

    def check(self, known: Sequence[str], schema: Schema) -> None:
        """An error for unknown names before a long file is counted."""
        for text in (self.names, self.extra["across"], self.extra["given"]):
            for name in split(text, known) if text is not None else []:
                if name not in known:
                    schema.index(name)

    def ask(self, rec: Reconstruction) -> HypothesisTest:
        """Run the test."""
        known = rec.design.schema.names
        names = split(self.names, known)
        method = self.extra["method"]
        options: dict[str, Any] = {} if method is None else {"method": TEST_METHODS[method]}
        groups = split(self.extra["given"], known) if self.extra["given"] else None
        match self.option:
            case "--independence":
                return rec.independence(names, given=groups, **options)
            case "--homogeneity":
                return rec.homogeneity(names, split(self.extra["across"] or "", known), **options)
            case "--trend":
                return rec.trend(names, given=groups, **options)
            case _:
                return rec.goodness_of_fit(names, _shares(self.extra["expected"] or ""), **options)


def _shares(text: str) -> list[float]:
    try:
        return [float(part) for part in text.split(",")]
    except ValueError:
        raise DataError(
            f"--expected: {text!r} is not a list of numbers with commas between"
        ) from None
