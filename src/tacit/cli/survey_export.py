"""`tacit survey export`: the reported records of a survey as a file, with what explains it."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from tacit.cli.option_groups import grouped_options, option
from tacit.cli.survey_store import DatabaseOption, PublishedFile, open_store
from tacit.core.label_codes import absent_cells
from tacit.errors import DataError, FileError
from tacit.output.number_text import number_of
from tacit.output.table import Table
from tacit.records import Origin, check_apart, write_bytes, write_text, writing_records
from tacit.records.paths import SUFFIXES

if TYPE_CHECKING:
    from tacit.core.arrays import Codes
    from tacit.survey import Published

_STATISTICS = (".sav", ".dta")


@dataclass(frozen=True)
class ExportedFiles:
    """The files that an export writes."""

    out: Annotated[
        Path, typer.Option(help="Where to write: .csv, .csv.gz, .parquet, .sav or .dta.")
    ]
    labels: bool = option(
        False,
        "--labels",
        help="Write the texts of answers instead of the names of categories; .sav and .dta "
        "always have both.",
    )
    codebook: Path | None = option(None, help="Also write a codebook (Markdown): .md.")
    r_script: Path | None = option(None, help="Also write an R script that reads the file: .R.")
    texts: Path | None = option(None, help="Also write the free texts, apart from records: .csv.")

    @property
    def kind(self) -> str:
        """The suffix of the records."""
        allowed = (*SUFFIXES, *_STATISTICS)
        name = self.out.name.lower()
        for suffix in allowed:
            if name.endswith(suffix):
                return suffix
        raise FileError(
            f"{self.out}: unknown suffix {self.out.suffix!r}; allowed: {', '.join(allowed)}"
        )

    def check(self, file: Path) -> None:
        """Raise, before any work is done, the errors of writing these files."""
        _ = self.kind
        beside = ((self.codebook, ".md"), (self.r_script, ".R"), (self.texts, ".csv"))
        for path, suffix in beside:
            if path is not None and path.suffix.lower() != suffix.lower():
                raise FileError(f"{path}: must be named {suffix}")
            check_apart(path, file, self.out)
        check_apart(self.out, file)

    def write(self, published: Published, codes: Codes) -> None:
        """Write the records, then what explains them."""
        if self.labels or self.kind in _STATISTICS:
            from tacit.studio.labelled_records import LabelledRecords

            content = LabelledRecords(published, codes).file(self.kind, self.labels)
            write_bytes(self.out, content, private=True)
        else:
            origin = Origin(published.fingerprint, published.title)
            reported = published.design.reported
            known, absent = absent_cells(codes, reported)
            with writing_records(self.out, reported, origin=origin) as write:
                write(known, absent=absent)
        if self.codebook is not None:
            from tacit.studio.codebook import codebook

            write_text(self.codebook, codebook(published, len(codes)))
        if self.r_script is not None:
            from tacit.studio.codebook import r_script

            script = r_script(published, self.out.name, self.kind, self.labels)
            write_text(self.r_script, script)


@grouped_options
def export(
    file: PublishedFile,
    database: DatabaseOption,
    files: ExportedFiles,
) -> None:
    """Write the reported records of a survey, in random order.

    The file does not say who answered, when, or by which link. tacit estimate reads it together
    with the published survey, unless it has labels or is for another program.

    Example: [bold]tacit survey export published.json --database survey.db --out reported.csv[/bold]

    Example: [bold]tacit survey export published.json --database survey.db --out reported.sav
    --codebook codebook.md[/bold]
    """
    from tacit.survey import read_published

    published = read_published(file)
    files.check(file)
    fingerprint = published.survey.fingerprint
    if files.texts is not None and not published.survey.free_texts:
        raise DataError(f"{file}: the survey has no free texts; leave out --texts")
    with open_store(database, there=True) as store:
        codes, state = store.codes(fingerprint), store.state(fingerprint)
        texts = store.texts(fingerprint)
    if not len(codes):
        raise DataError(f"no answers yet to {file}: nothing to export")
    files.write(published, codes)
    typer.echo(f"wrote {files.out}: {number_of(len(codes), 'record')}")
    if files.texts is not None:
        write_text(files.texts, Table(("question", "text"), texts).csv(), private=True)
        typer.echo(f"wrote {files.texts}: {number_of(len(texts), 'text')}")
    if state.open:
        typer.echo(
            "note: the survey is open; comparing two exports reveals which records arrived "
            "in between",
            err=True,
        )
