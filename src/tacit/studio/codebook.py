"""What goes with a file of records: a codebook, and an R script that reads the file."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable

from tacit.output.number_text import number_of
from tacit.output.table import safe_cell
from tacit.studio.labelled_records import SPSS, STATA, LabelledVariable, labelled_variables
from tacit.studio.survey_methods import design_sentences
from tacit.survey import Published

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
        *(_variable(one) for one in labelled_variables(survey)),
    ]
    return "\n\n".join(parts) + "\n"


def r_script(survey: Published, file: str, kind: str, labels: bool = False) -> str:
    """An R script that reads a file of records as factors, with the questions as labels."""
    variables = labelled_variables(survey)
    lines = ["# Reported (disguised) records: counting them does not estimate true answers."]
    if kind in (SPSS, STATA):
        read = "read_sav" if kind == SPSS else "read_dta"
        lines += ["library(haven)", f"records <- as_factor({read}({_r(file)}))"]
        return "\n".join(lines) + "\n"
    if kind == ".parquet":
        lines += ["library(arrow)", f"records <- as.data.frame(read_parquet({_r(file)}))"]
    else:
        options = 'check.names = FALSE, colClasses = "character", na.strings = character()'
        lines.append(f'records <- read.csv({_r(file)}, encoding = "UTF-8", {options})')
    for place, one in enumerate(variables, start=1):
        texts = one.labels if labels else one.categories
        cells = map(safe_cell, texts) if kind != ".parquet" else texts
        unique = dict.fromkeys(cells)
        column = f"records[[{place}]]"
        lines.append(f"{column} <- factor({column}, levels = c({_list(unique)}))")
        lines.append(f'attr({column}, "label") <- {_r(one.text)}')
    lines.append(f"names(records) <- c({_list(one.name for one in variables)})")
    return "\n".join(lines) + "\n"


def _variable(one: LabelledVariable) -> str:
    rows = zip(range(1, len(one.categories) + 1), one.categories, one.labels, strict=True)
    table = [
        "| code | category | label |",
        "|---|---|---|",
        *(f"| {code} | {_markdown(name)} | {_markdown(label)} |" for code, name, label in rows),
    ]
    head = f"### {_markdown(one.name)}"
    in_files = f"In SPSS and Stata: `{one.short}`."
    if one.optional:
        in_files += " Optional: an empty cell is a respondent who preferred not to say."
    return "\n\n".join([head, _markdown(one.text), in_files, "\n".join(table)])


def _markdown(text: str) -> str:
    """One line of Markdown that shows this text."""
    return _MARKDOWN.sub(r"\\\1", " ".join(text.split()))


def _r(text: str) -> str:
    """A string of R."""
    return json.dumps(text, ensure_ascii=False)


def _list(texts: Iterable[str]) -> str:
    return ", ".join(map(_r, texts))
