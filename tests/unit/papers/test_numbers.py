"""A report of all papers: every number that it shows is in a CSV file beside it.

Only what takes long is replaced: trees are not grown, nor the noise-aware naive Bayes learnt, nor
fronts searched.
"""

from __future__ import annotations

import csv
import re
from pathlib import Path

import numpy as np
import pytest

from tacit.core.design import Design
from tacit.output.table import cell_text
from tacit.papers import (
    STUDIES,
    Plan,
    experiments,
    huang_du,
    report,
    reproduce,
    zhan_matwin,
)
from tacit.papers.experiments import divided
from tacit.papers.report import NO_ESTIMATE, signed
from tacit.records import count

pytestmark = pytest.mark.slow

PLAN = Plan(repeats=2, quick=True)


def some_trials(
    design: Design, rng: np.random.Generator, criteria: tuple[str, ...]
) -> tuple[dict[tuple[str, str], experiments.Trial], object]:
    found = {
        (criterion, name): experiments.Trial(*rng.random(3))
        for criterion in criteria
        for name in experiments.PROCEDURES
    }
    return found, count(divided()[1][:50], design.schema)


class SomeFront:
    """Channels of three privacies, with errors that are not theirs."""

    privacy = np.array([0.3, 0.5, 0.7])
    mse = np.array([1.2345e-5, 2.5e-5, 7e-5])
    lower_bound = mse / 2
    channels = tuple((1 - p) * np.eye(10) + p / 10 for p in privacy)

    def __len__(self) -> int:
        return len(self.privacy)


def some_front(*args: object, **others: object) -> SomeFront:
    return SomeFront()


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The papers one by one, as a user might run them, into one folder."""
    made = tmp_path_factory.mktemp("reproduced")
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(experiments, "trials", some_trials)
        patch.setattr(huang_du, "front", some_front)
        patch.setattr(
            zhan_matwin, "aware_scores", lambda one, tell: [0.5 + 1e-3 * one["theta"], 0.75]
        )
        patch.setattr(report, "svg", lambda figure: "<svg></svg>")
        patch.setattr(report, "draw", lambda chart: None)
        for name in reversed(STUDIES):
            reproduce([name], PLAN, made)
    return made


def text_of(folder: Path) -> str:
    return (folder / "report.html").read_text(encoding="utf-8")


def known(folder: Path) -> set[str]:
    """Numbers of all CSV files as a page shows them, and those within their sentences."""
    found: set[str] = set()
    for path in folder.glob("*.csv"):
        with path.open(newline="", encoding="utf-8") as stream:
            for cell in (cell for row in csv.reader(stream) for cell in row):
                found.update((cell, *re.findall(r"\d+\.\d{4}\b", cell)))
                if re.fullmatch(r"-?\d+(\.\d+)?(e-?\d+)?", cell) and not cell.isdigit():
                    value = float(cell)
                    found.update((cell_text(value), signed(value), f"{value:.4f}"))
    return found


def shown(page: str) -> tuple[list[str], list[str]]:
    """Numbers in cells; and, of four digits as ours have, in sentences."""
    body = re.sub(r"<(style|svg)\b.*?</\1>", "", page, flags=re.DOTALL)
    cells = re.findall(r"<t[dh][^>]*>([^<]+)</t[dh]>", body)
    sentences = re.sub(r"<[^>]+>", " ", re.sub(r"<table.*?</table>", "", body, flags=re.DOTALL))
    numbers = [cell for cell in cells if re.fullmatch(r"[-+]?[\d.]+(e-?\d+)?", cell)]
    return numbers, re.findall(r"\d*\.\d{4}\b", sentences)


def test_every_number_of_a_table_is_in_a_csv_file(folder: Path) -> None:
    cells, _ = shown(text_of(folder))
    assert len(cells) > 500
    assert set(cells) - known(folder) == set()


def test_every_number_of_ours_in_a_sentence_is_in_a_csv_file(folder: Path) -> None:
    _, sentences = shown(text_of(folder))
    assert len(sentences) > 20
    assert set(sentences) - known(folder) == set()


def test_a_number_that_is_in_no_file_would_be_found(folder: Path) -> None:
    page = text_of(folder).replace("</tbody>", "<tr><td>0.12349</td></tr></tbody>", 1)
    page = page.replace("</p>", " 9.8765</p>", 1)
    cells, sentences = shown(page)
    assert set(cells) - known(folder) == {"0.12349"}
    assert set(sentences) - known(folder) == {"9.8765"}


def test_a_report_keeps_the_papers_that_were_finished_before(folder: Path) -> None:
    assert re.findall(r'<h2 id="([^"]*)"', text_of(folder)) == list(STUDIES)
    with (folder / "summary.csv").open(newline="", encoding="utf-8") as stream:
        assert len(list(csv.reader(stream))) == 1 + len(STUDIES)


def test_another_plan_does_not_mix_with_what_is_there(folder: Path) -> None:
    before = {path: path.read_bytes() for path in folder.rglob("*") if path.is_file()}
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(report, "svg", lambda figure: "<svg></svg>")
        patch.setattr(report, "draw", lambda chart: None)
        patch.setattr(experiments, "trials", some_trials)
        sections = reproduce(["du-zhan"], Plan(repeats=1, quick=True, seed=1), folder)
    assert [section.name for section in sections] == ["du-zhan"]
    for path, content in before.items():
        path.write_bytes(content)


def test_where_no_estimate_exists_the_report_says_so(folder: Path) -> None:
    page = text_of(folder)
    assert page.count(f"<td>{NO_ESTIMATE}</td>") >= 3
    assert "theta = 0 and related ones at theta = 1/2: no estimate exists" in page
    with (folder / "zhan-matwin.csv").open(newline="", encoding="utf-8") as stream:
        rows = list(csv.DictReader(stream))
    nothing = [
        row
        for row in rows
        if (row["scheme"], row["theta"]) in {("unrelated", "0.0"), ("related", "0.5")}
    ]
    assert len(nothing) == 12
    assert {(row["mean"], row["variance"], row["repeats"]) for row in nothing} == {("", "", "0")}
