"""Reported records with the texts of questions and answers: CSV, Parquet, SPSS and Stata files."""

from __future__ import annotations

import csv
import gzip
import io
import re
from collections.abc import Iterable
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.csv
import pyarrow.parquet

from tacit.core.arrays import Codes
from tacit.core.imports import optional_imports
from tacit.core.schema import Attribute
from tacit.output.table import safe_cell
from tacit.studio.question_results import question_of, question_texts
from tacit.survey import Published

#: Suffixes of files that always have labels.
SPSS, STATA = STATISTICS = (".sav", ".dta")
LONGEST_NAME = 32
#: Bytes that SPSS and Stata keep of the text of a question, of an answer, and of a title.
_ROOM = {SPSS: (255, 120, 64), STATA: (80, 32_000, 80)}
#: Names that SPSS or Stata do not accept.
_RESERVED = re.compile(
    r"all|and|by|eq|ge|gt|le|lt|ne|not|or|to|with|byte|double|float|if|in|int|long|using|"
    r"str\d+|strl|_.*"
)


@dataclass(frozen=True)
class LabelledVariable:
    """One column: its attribute, the text of its question, and a text for each category.

    `short` is its name in SPSS and Stata, which accept fewer names than a survey.
    """

    name: str
    short: str
    text: str
    categories: tuple[str, ...]
    labels: tuple[str, ...]
    ordered: bool
    optional: bool = False


@dataclass(frozen=True)
class LabelledRecords:
    """Reported records of a survey; a missing answer has the code after the last category."""

    survey: Published
    codes: Codes

    @cached_property
    def variables(self) -> list[LabelledVariable]:
        """The columns."""
        return labelled_variables(self.survey)

    def table(self, labels: bool, safe: bool = False) -> Any:
        """A table of texts: names of categories, or their labels; the question is metadata."""
        fields, columns = [], []
        for place, one in enumerate(self.variables):
            texts = one.labels if labels else one.categories
            shown = pa.array([safe_cell(text) if safe else text for text in texts], pa.string())
            codes = self.codes[:, place]
            columns.append(shown.take(pa.array(codes, mask=codes >= len(texts))))
            fields.append(pa.field(one.name, pa.string(), metadata={"label": one.text}))
        return pa.table(columns, schema=pa.schema(fields))

    def csv(self, labels: bool = False) -> bytes:
        """CSV; no spreadsheet takes a cell or a header for a formula."""
        out = io.BytesIO()
        out.write(csv_line(one.name for one in self.variables).encode())
        options = pyarrow.csv.WriteOptions(include_header=False, quoting_style="needed")
        pyarrow.csv.write_csv(self.table(labels, safe=True), out, options)
        return out.getvalue()

    def parquet(self, labels: bool = False) -> bytes:
        """Parquet; the text of the question is the metadata `label` of a column."""
        out = io.BytesIO()
        pyarrow.parquet.write_table(self.table(labels), out, compression="zstd")
        return out.getvalue()

    def statistics_file(self, kind: str) -> bytes:
        """An SPSS (.sav) or Stata (.dta) file: codes from 1, with variable and value labels."""
        with optional_imports():
            import pandas as pd
            import pyreadstat
        question, answer, title = _ROOM[kind]
        frame = pd.DataFrame(
            {
                one.short: _from_one(self.codes[:, place], len(one.categories))
                for place, one in enumerate(self.variables)
            }
        )
        given: dict[str, Any] = {
            "file_label": cut(self.survey.title, title),
            "column_labels": {one.short: cut(one.text, question) for one in self.variables},
            "variable_value_labels": {
                one.short: {
                    code: cut(label, answer) for code, label in enumerate(one.labels, start=1)
                }
                for one in self.variables
            },
        }
        write: Any = pyreadstat.write_dta
        if kind == SPSS:
            write = pyreadstat.write_sav
            measure = {one.short: _measure(one) for one in self.variables}
            given |= {"variable_measure": measure, "row_compress": True}
        with TemporaryDirectory() as folder:
            path = Path(folder) / f"records{kind}"
            write(frame, path, **given)
            return path.read_bytes()

    def file(self, kind: str, labels: bool = False) -> bytes:
        """The file of a kind: .csv, .csv.gz, .parquet, .sav or .dta."""
        if kind in _ROOM:
            return self.statistics_file(kind)
        if kind == ".parquet":
            return self.parquet(labels)
        made = self.csv(labels)
        return gzip.compress(made, mtime=0) if kind == ".csv.gz" else made


def labelled_variables(survey: Published) -> list[LabelledVariable]:
    """The columns of the reported records of a survey."""
    reported = survey.design.reported
    short = statistics_names(reported.names)
    texts = question_texts(survey)
    language = survey.survey.languages[0]
    joint = {"+".join(group.attributes): group.attributes for group in survey.design.groups}

    def made(attribute: Attribute, name: str) -> LabelledVariable:
        own = joint.get(attribute.name, (attribute.name,))
        question = question_of(survey, own[0])
        categories = tuple(map(str, attribute.categories))
        labels = attribute.aliases or tuple(
            survey.survey.label(question, one, language) for one in categories
        )
        text = " / ".join(texts[each] for each in own)
        in_order = question.kind in ("ordered", "number") and len(own) == 1
        ordered = in_order and not question.asked_if  # "does not apply" is no degree
        optional = bool(question.optional)
        return LabelledVariable(attribute.name, name, text, categories, labels, ordered, optional)

    return [made(each, name) for each, name in zip(reported, short, strict=True)]


def statistics_names(names: Iterable[str]) -> list[str]:
    """Distinct names that SPSS and Stata accept, as near to these as possible.

    >>> statistics_names(["age", "Age", "worries.my pay", "2nd", "with"])
    ['age', 'Age_2', 'worries_my_pay', 'v_2nd', 'v_with']
    """
    found: list[str] = []
    used: set[str] = set()
    for name in names:
        plain = re.sub(r"[^A-Za-z0-9_]", "_", name)[: LONGEST_NAME - 2]
        if not plain[:1].isalpha() or _RESERVED.fullmatch(plain.lower()):
            plain = f"v_{plain}"
        made, number = plain, 1
        while made.lower() in used:
            number += 1
            end = f"_{number}"
            made = plain[: LONGEST_NAME - len(end)] + end
        used.add(made.lower())
        found.append(made)
    return found


def csv_line(cells: Iterable[Any]) -> str:
    """A line of CSV; text that a spreadsheet would take for a formula gets an apostrophe."""
    out = io.StringIO()
    csv.writer(out, lineterminator="\n").writerow(map(safe_cell, cells))
    return out.getvalue()


def cut(text: str, most: int) -> str:
    """The text in at most so many bytes of UTF-8, on one line."""
    line = " ".join(text.split())
    return line.encode()[:most].decode(errors="ignore")


def _from_one(codes: Codes, size: int) -> Any:
    """Codes from 1; a missing answer, the code after the last, becomes a missing number."""
    absent = codes >= size
    return np.where(absent, np.nan, codes + 1.0) if absent.any() else codes.astype("int32") + 1


def _measure(variable: LabelledVariable) -> str:
    return "ordinal" if variable.ordered else "nominal"
