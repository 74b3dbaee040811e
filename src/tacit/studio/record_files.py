"""Reported records with the texts of questions and answers: CSV, Parquet, SPSS and Stata files."""

from __future__ import annotations

import gzip
import io
import json
import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property
from importlib.resources import files
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.csv
import pyarrow.parquet

from tacit.core.arrays import Array, Codes
from tacit.core.imports import optional_imports
from tacit.output.number_text import number_of
from tacit.output.table import Table, safe_cell
from tacit.studio.design_text import design_sentences
from tacit.survey import Published

#: Suffixes of files that always have labels.
SPSS, STATA = ".sav", ".dta"
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
        for column, variable in enumerate(self.variables):
            texts = variable.labels if labels else variable.categories
            shown = pa.array([safe_cell(text) if safe else text for text in texts], pa.string())
            codes = self.codes[:, column]
            columns.append(shown.take(pa.array(codes, mask=codes >= len(texts))))
            fields.append(pa.field(variable.name, pa.string(), metadata={"label": variable.text}))
        return pa.table(columns, schema=pa.schema(fields))

    def csv(self, labels: bool = False) -> bytes:
        """CSV; no spreadsheet takes a cell or a header for a formula."""
        out = io.BytesIO()
        out.write(Table([variable.name for variable in self.variables], ()).csv().encode())
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
        columns = {variable.short: variable for variable in self.variables}
        codes = zip(self.codes.T, columns.items(), strict=True)
        frame = {name: _from_one(part, len(column.labels)) for part, (name, column) in codes}
        answers = {
            name: {code: cut(label, answer) for code, label in enumerate(column.labels, 1)}
            for name, column in columns.items()
        }
        given: dict[str, Any] = {
            "file_label": cut(self.survey.title, title),
            "column_labels": {name: cut(column.text, question) for name, column in columns.items()},
            "variable_value_labels": answers,
        }
        write: Any = pyreadstat.write_dta
        if kind == SPSS:
            write = pyreadstat.write_sav
            measures = {n: "ordinal" if c.ordered else "nominal" for n, c in columns.items()}
            given |= {"variable_measure": measures, "row_compress": True}
        with TemporaryDirectory() as folder:
            path = Path(folder) / f"records{kind}"
            write(pd.DataFrame(frame), path, **given)
            return path.read_bytes()

    def file(self, kind: str, labels: bool = False) -> bytes:
        """The file of a kind: .csv, .csv.gz, .parquet, .sav or .dta."""
        if kind in _ROOM:
            return self.statistics_file(kind)
        content = self.parquet(labels) if kind == ".parquet" else self.csv(labels)
        return gzip.compress(content, mtime=0) if kind == ".csv.gz" else content


def labelled_variables(survey: Published) -> list[LabelledVariable]:
    """The columns of the reported records of a survey."""
    reported = survey.design.reported
    short = statistics_names(reported.names)
    texts = survey.question_texts
    language = survey.survey.languages[0]
    joint = {"+".join(group.attributes): group.attributes for group in survey.design.groups}

    variables = []
    for attribute, name in zip(reported, short, strict=True):
        names = joint.get(attribute.name, (attribute.name,))
        question = survey.question_of(names[0])
        categories = tuple(map(str, attribute.categories))
        labels = attribute.aliases or tuple(
            survey.survey.label(question, category, language) for category in categories
        )
        text, optional = " / ".join(texts[part] for part in names), bool(question.optional)
        in_order = question.ordered and len(names) == 1
        ordered = in_order and not question.asked_if  # "does not apply" is no degree
        variables.append(
            LabelledVariable(attribute.name, name, text, categories, labels, ordered, optional)
        )
    return variables


def statistics_names(names: Iterable[str]) -> list[str]:
    """Distinct names that SPSS and Stata accept, as near to these as possible.

    >>> statistics_names(["age", "Age", "worries.my pay", "2nd", "with"])
    ['age', 'Age_2', 'worries_my_pay', 'v_2nd', 'v_with']
    """
    accepted: list[str] = []
    used: set[str] = set()
    for name in names:
        plain = re.sub(r"[^A-Za-z0-9_]", "_", name)[: LONGEST_NAME - 2]
        if not plain[:1].isalpha() or _RESERVED.fullmatch(plain.lower()):
            plain = f"v_{plain}"
        unique, number = plain, 1
        while unique.lower() in used:
            number += 1
            end = f"_{number}"
            unique = plain[: LONGEST_NAME - len(end)] + end
        used.add(unique.lower())
        accepted.append(unique)
    return accepted


def cut(text: str, most: int) -> str:
    """The text in at most so many bytes of UTF-8, on one line."""
    line = " ".join(text.split())
    return line.encode()[:most].decode(errors="ignore")


def _from_one(codes: Codes, size: int) -> Any:
    """Codes from 1; a missing answer, the code after the last, becomes a missing number."""
    absent = codes >= size
    return np.where(absent, np.nan, codes + 1.0) if absent.any() else codes.astype("int32") + 1


# Codebook and R script ----------------------------------------------------------------------------


_MARKDOWN = re.compile(r"([\\`*_{}\[\]<>()#|&~!$:-])")


def codebook(survey: Published, n_records: int) -> str:
    """Markdown: each variable with its question, its codes and texts, and how it was disguised."""
    parts = [
        f"# Codebook: {_markdown(survey.title)}",
        f"{number_of(n_records, 'reported record')}. The answers are disguised: estimate shares of "
        "true answers with the design, never by counting.",
        f"Fingerprint of the design: `{survey.fingerprint}`",
        "## How answers were disguised",
        "\n".join(f"- {_markdown(sentence)}" for sentence in design_sentences(survey.design)),
        "## Variables",
        *(_variable(variable) for variable in labelled_variables(survey)),
    ]
    return "\n\n".join(parts) + "\n"


def r_script(survey: Published, file: str, kind: str, labels: bool = False) -> str:
    """An R script that reads a file of records and estimates the shares of the true answers.

    Factors have the questions as labels. What only tacit estimates is named in a comment: questions
    that are disguised together, and those that depend on each other.
    """
    lines, variables = r_records(survey, file, kind, labels), labelled_variables(survey)
    return "\n".join([*lines, "", *_r_estimates(survey, variables)]) + "\n"


def r_records(survey: Published, file: str, kind: str, labels: bool = False) -> list[str]:
    """Lines of R that read a file of records as factors."""
    lines = ["# Reported (disguised) records: counting them does not estimate true answers."]
    if kind in (SPSS, STATA):
        read = "read_sav" if kind == SPSS else "read_dta"
        read_file = f"{read}({r_text(file)})"
        return [*lines, "library(haven)", f"records <- as.data.frame(as_factor({read_file}))"]
    if kind == ".parquet":
        lines += ["library(arrow)", f"records <- as.data.frame(read_parquet({r_text(file)}))"]
    else:
        options = 'check.names = FALSE, colClasses = "character", na.strings = character()'
        lines.append(f'records <- read.csv({r_text(file)}, encoding = "UTF-8", {options})')
    variables = labelled_variables(survey)
    for position, variable in enumerate(variables, start=1):
        texts = variable.labels if labels else variable.categories
        cells = map(safe_cell, texts) if kind != ".parquet" else texts
        unique = dict.fromkeys(cells)
        column = f"records[[{position}]]"
        lines.append(f"{column} <- factor({column}, levels = c({r_list(unique)}))")
        lines.append(f'attr({column}, "label") <- {r_text(variable.text)}')
    lines.append(f"names(records) <- c({r_list(variable.name for variable in variables)})")
    return lines


def _r_estimates(survey: Published, variables: Sequence[LabelledVariable]) -> list[str]:
    """Functions and calls of R that estimate every question that is reported by itself."""
    positions = {variable.name: k for k, variable in enumerate(variables, start=1)}
    matrices, others = _matrices(survey)
    calls = [
        f"estimate(records[[{positions[name]}]], matrix(c({number_list(matrix.T)}), "
        f"{len(matrix)}), {r_text(name)})"
        for name, matrix in matrices.items()
    ]
    functions = files("tacit.studio").joinpath("estimate.R").read_text(encoding="utf-8")
    left = [f"# Estimated by tacit only: {', '.join(others)}"] if others else []
    listed = ",\n  ".join(calls)
    show = [f"estimates <- rbind(\n  {listed}\n)", "print(estimates, digits = 4)"] if calls else []
    return [functions.rstrip(), "", *left, *show]


def _matrices(survey: Published) -> tuple[dict[str, Array], list[str]]:
    """The matrix of each question that is reported by itself, and the names of the others."""
    design = survey.design
    related = {n for c in design.conditions for n in (c.attribute, *c.names)}
    matrices, others = {}, []
    for name in design.schema.names:
        channel = design.channel(design.jointly_reported([name]))
        alone = channel.reported.names == (name,) and name not in related
        if alone and channel.matrix.shape[0] == channel.matrix.shape[1]:
            matrices[name] = channel.matrix
        else:
            others.append(name)
    return matrices, others


def number_list(matrix: Array) -> str:
    """Exact numbers."""
    return ", ".join(repr(float(number)) for number in matrix.ravel())


def python_script(survey: Published) -> str:
    """A Python script that estimates all questions from the downloaded design and records."""
    base = survey.slug
    return (
        "# Reported (disguised) records: counting them does not estimate true answers.\n"
        "from pathlib import Path\n\nimport tacit\n\n"
        f'design = tacit.Design.from_json(Path("{base}-design.json").read_text(encoding="utf-8"))\n'
        f'estimates = tacit.reconstruct("{base}-records.csv", design)\n'
        "print(estimates)  # every question, with 95 % intervals\n"
    )


def stata_script(survey: Published) -> str:
    """A Stata do-file that estimates shares with standard errors from the downloaded records.

    Its intervals are those of the normal approximation; R and tacit have better ones.
    """
    short = {variable.name: variable.short for variable in labelled_variables(survey)}
    matrices, others = _matrices(survey)
    lines = [
        "* Reported (disguised) records: counting them does not estimate true answers.",
        "* 95 % intervals by the normal approximation; tacit and the R script have better ones.",
        *([f"* Estimated by tacit only: {', '.join(others)}"] if others else []),
        f'use "{survey.slug}-records.dta", clear',
        "mata:",
        "void tacit_estimate(string scalar name, real matrix M)",
        "{",
        "    real colvector x, counts, share",
        "    real matrix W, covariance",
        "    real scalar n, k, error",
        "    x = st_data(., name)",
        "    x = select(x, x :< .)",
        "    n = rows(x)",
        "    counts = J(rows(M), 1, 0)",
        "    for (k = 1; k <= rows(M); k++) counts[k] = sum(x :== k)",
        "    W = luinv(M)",
        "    share = W * counts / n",
        "    covariance = W * diag(counts / n) * W' - share * share'",
        '    printf("%s\\n", name)',
        "    for (k = 1; k <= rows(M); k++) {",
        "        error = sqrt(max((covariance[k, k], 0)) / n)",
        '        printf("  %f: %6.4f (%6.4f), %6.4f to %6.4f\\n", k, share[k], error, ',
        "            share[k] - 1.96 * error, share[k] + 1.96 * error)",
        "    }",
        "}",
        "end",
    ]
    for name, matrix in matrices.items():
        rows = " \\ ".join(number_list(row) for row in matrix)
        lines.append(f'mata: tacit_estimate("{short[name]}", ({rows}))')
    return "\n".join(lines) + "\n"


def _variable(variable: LabelledVariable) -> str:
    rows = enumerate(zip(variable.categories, variable.labels, strict=True), start=1)
    table = [
        "| code | category | label |",
        "|---|---|---|",
        *(f"| {code} | {_markdown(name)} | {_markdown(label)} |" for code, (name, label) in rows),
    ]
    in_files = f"In SPSS and Stata: `{variable.short}`."
    if variable.optional:
        in_files += " Optional: an empty cell is a respondent who preferred not to say."
    head = f"### {_markdown(variable.name)}"
    return "\n\n".join([head, _markdown(variable.text), in_files, "\n".join(table)])


def _markdown(text: str) -> str:
    """One line of Markdown that shows this text."""
    return _MARKDOWN.sub(r"\\\1", " ".join(text.split()))


def r_text(text: str) -> str:
    """A string of R."""
    return json.dumps(text, ensure_ascii=False)


def r_list(texts: Iterable[str]) -> str:
    """Strings of R."""
    return ", ".join(map(r_text, texts))
