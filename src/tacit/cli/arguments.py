"""Arguments that several commands share, and the parsing of their text."""

from __future__ import annotations

import csv
from collections.abc import Container, Iterable
from contextlib import closing
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

from typer import Argument, Option

from tacit.core.schema import Schema
from tacit.errors import DataError, SchemaError
from tacit.records.memory_limit import parse_memory, start_limit

if TYPE_CHECKING:
    from tacit.collect.store import Store


def event_option(what: str, more: str = "") -> Any:
    """The option of an event; `more` is the end of its help."""
    form = "attribute=category, several separated by commas. An attribute named twice may have"
    return Option(metavar="EVENT", help=f"{what}: {form} either category.{more}")


DesignFile = Annotated[
    Path, Argument(metavar="DESIGN", help="A design file, or a published survey (JSON).")
]
Picture = Annotated[Path | None, Option(help="Also draw it: .svg, .png or .pdf.")]
ModelFile = Annotated[Path, Argument(metavar="MODEL", help="A model file (JSON).")]
DataFile = Annotated[Path, Argument(metavar="DATA", help="Records: .csv, .csv.gz or .parquet.")]
RecordsOut = Annotated[Path, Option(help="The .csv, .csv.gz or .parquet to write.")]
SimulationSeed = Annotated[
    int | None, Option(min=0, help="For simulation only: the same draws every time.")
]
PublishedFile = Annotated[Path, Argument(metavar="PUBLISHED", help="A published survey (JSON).")]
DatabaseOption = Annotated[
    str, Option(envvar="TACIT_DATABASE", help="A file, or postgresql://USER@HOST/NAME.")
]
Target = Annotated[str, Option(help="The attribute to predict.")]
ModelOut = Annotated[Path, Option(help="The model file to write (JSON).")]
AsJson = Annotated[bool, Option("--json", help="Print JSON.")]
Tables = Annotated[
    list[str] | None,
    Option(
        metavar="NAMES",
        help="Attributes of one joint table, separated by commas (a name with a comma goes in "
        "double quotes). May be repeated; every attribute alone if left out.",
    ),
]
Events = Annotated[
    list[str] | None, event_option("The probability of an event", " May be repeated.")
]


def _limit_memory(text: str | None) -> str | None:
    if text is not None:
        start_limit(parse_memory(text))
    return text


MemoryLimit = Annotated[
    str | None,
    Option(
        "--memory",
        metavar="AMOUNT",
        callback=_limit_memory,
        help="The most memory that the process may take, such as 500MB or 2GB; an error if it "
        "needs more.",
    ),
]


def open_store(url: str, there: bool = False) -> closing[Store]:
    """The database of responses, for a with statement; with `there`, it must exist."""
    from tacit.collect.store import Store

    return closing(Store(url, must_exist=there))


def split(names: str, known: Container[str]) -> list[str]:
    """Names between commas; double quotes keep commas and outer spaces inside a name.

    >>> split('smokes , "income, yearly"," x "', ["smokes", "income, yearly", " x "])
    ['smokes', 'income, yearly', ' x ']
    """
    return [name if name in known else name.strip() for name in _parts(names)]


def _parts(given: str) -> list[str]:
    """The parts between commas that are not quoted."""
    try:
        return next(csv.reader([given], skipinitialspace=True), [])
    except csv.Error as error:
        raise DataError(f"{given!r} is not a list of names with commas between: {error}") from None


def other_names(texts: Iterable[str | None], schema: Schema) -> list[str]:
    """Names in lists of names or of conditions that are no attributes: columns of the records.

    >>> from tacit import Attribute
    >>> schema = Schema([Attribute("smokes", ["no", "yes"])])
    >>> other_names(["region=north,smokes=yes", "year"], schema)
    ['region', 'year']
    """
    columns = []
    for part in (part for text in texts if text is not None for part in _parts(text)):
        ends = [i for i, letter in enumerate(part) if letter == "="] or [len(part)]
        names = [name for end in ends for name in (part[:end], part[:end].strip())]
        if not any(name in schema for name in names):
            columns.append(names[1])
    return list(dict.fromkeys(columns))


def event(text: str, schema: Schema, option: str = "--where") -> dict[str, list[str]]:
    """Labels allowed for each attribute of 'smokes=yes,income=mid,income=high'."""
    allowed: dict[str, list[str]] = {}
    for condition in _parts(text):
        name, label = _condition(condition, schema, option)
        allowed.setdefault(name, []).append(label)
    if not allowed:
        raise SchemaError(f"{option}: names no attribute; give attribute=category")
    return allowed


def _condition(given: str, schema: Schema, option: str) -> tuple[str, str]:
    """Attribute and category; the attribute is the longest known one that ends before a '='."""
    ends = [position for position, letter in enumerate(given) if letter == "="]
    if not ends:
        raise DataError(
            f"{option}: {given.strip()!r} is not of the form attribute=category; "
            "separate several by commas"
        )
    before = [given[:end] for end in ends]
    names = [name if name in schema else name.strip() for name in before]
    chosen = max((position for position, name in enumerate(names) if name in schema), default=0)
    attribute = schema[names[chosen]]
    label = given[ends[chosen] + 1 :]
    if attribute.find(label) is None:
        label = label.strip()
        attribute.code(label)
    return attribute.name, label
