"""Arguments that several commands take, and how their text is read."""

from __future__ import annotations

import csv
from pathlib import Path
from typing import Annotated

import typer

from tacit.errors import DataError, SchemaError
from tacit.schema import Schema

DesignFile = Annotated[Path, typer.Argument(metavar="DESIGN", help="A design file (JSON).")]
DataFile = Annotated[
    Path, typer.Argument(metavar="DATA", help="Records: .csv, .csv.gz or .parquet.")
]


def split(names: str) -> list[str]:
    """Names between commas; double quotes keep a comma inside a name.

    >>> split('smokes, "income, yearly"')
    ['smokes', 'income, yearly']
    """
    return [name.strip() for name in next(csv.reader([names], skipinitialspace=True), [])]


def event(text: str, schema: Schema) -> dict[str, list[str]]:
    """Labels allowed for each attribute of 'smokes=yes,income=mid,income=high'."""
    allowed: dict[str, list[str]] = {}
    for condition in split(text):
        name, sign, label = condition.partition("=")
        if not sign:
            raise DataError(
                f"--where: {condition!r} is not of the form attribute=category; "
                "separate several by commas"
            )
        attribute = schema[name.strip()]
        attribute.code(label.strip())
        allowed.setdefault(attribute.name, []).append(label.strip())
    if not allowed:
        raise SchemaError("--where: names no attribute; give attribute=category")
    return allowed
