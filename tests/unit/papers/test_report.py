"""The report: every number is in a file, nothing is loaded, what does not exist is said."""

from __future__ import annotations

import csv
import re
from pathlib import Path

import pytest

from tacit.errors import DataError
from tacit.output.table import Table
from tacit.papers import STUDIES, Plan, reproduce
from tacit.papers.report import NO_ESTIMATE, Chart, Check, Curve, Section, page, write_report

CHART = Chart(
    "trial-mean",
    "A title & more",
    "theta",
    "accuracy",
    (
        Curve("literal", [(0.9, 0.8), (0.1, 0.7), (0.5, None)]),
        Curve("noise-aware", [(0.1, 0.75), (0.9, 0.82)], 1, dashed=True),
    ),
    level=("commonest class", 0.6),
)
SECTION = Section(
    "trial",
    "A trial",
    "Somebody & others",
    ("What was done.",),
    (
        Check("printed", 0.815, 0.82, within=0.01, why="Rounded."),
        Check("far off", 0.5, 0.82, within=0.01, why="Rounded."),
        Check("measured", 0.812, reference=0.8135, within=0.01),
        Check("nothing to compare", None),
    ),
    (CHART,),
    {"trial": Table(("theta", "mean"), ((0.1, 0.7), (0.5, None)), "All <rows>")},
)


def rows(path: Path) -> list[list[str]]:
    with path.open(newline="", encoding="utf-8") as stream:
        return list(csv.reader(stream))


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    write_report([SECTION], Plan(quick=True), tmp_path)
    return tmp_path


def test_every_point_of_a_chart_is_in_its_csv_file(folder: Path) -> None:
    assert rows(folder / "trial-mean.csv") == [
        ["curve", "theta", "accuracy"],
        ["literal", "0.1", "0.7"],
        ["literal", "0.5", ""],
        ["literal", "0.9", "0.8"],
        ["noise-aware", "0.1", "0.75"],
        ["noise-aware", "0.9", "0.82"],
        ["commonest class", "", "0.6"],
    ]


def test_tables_checks_and_summary_are_csv_files(folder: Path) -> None:
    assert rows(folder / "trial.csv") == [["theta", "mean"], ["0.1", "0.7"], ["0.5", ""]]
    header, *checks = rows(folder / "trial-checks.csv")
    assert header[:3] == ["what", "published", "measured before"]
    assert [check[5] for check in checks] == ["yes", "no", "yes", ""]
    assert rows(folder / "summary.csv")[0][:2] == ["paper", "numbers compared"]
    assert rows(folder / "summary.csv")[1][:3] == ["A trial", "3", "2"]


def test_the_page_loads_nothing(folder: Path) -> None:
    text = (folder / "report.html").read_text(encoding="utf-8")
    assert re.findall(r"<(?:script|link|img|iframe)\b", text) == []
    assert re.findall(r"(?:src|href)=\"(?!#)[^\"]*\"", text) == []
    assert "@import" not in text
    assert "@font-face" not in text
    assert 'name="viewport"' in text


def test_text_is_escaped_and_what_does_not_exist_is_said(folder: Path) -> None:
    text = (folder / "report.html").read_text(encoding="utf-8")
    assert "A title &amp; more" in text
    assert "All &lt;rows&gt;" in text
    assert f"<td>{NO_ESTIMATE}</td>" in text
    assert NO_ESTIMATE in (folder / "trial-mean.svg").read_text(encoding="utf-8")


def test_a_variance_of_one_repeat_is_a_gap_and_not_an_estimate_that_cannot_exist(
    tmp_path: Path,
) -> None:
    table = Table(("theta", "mean", "variance"), ((0.7, 0.8, None),), "One repeat")
    write_report([Section("trial", "A trial", "", (), tables={"one": table})], Plan(), tmp_path)
    assert NO_ESTIMATE not in (tmp_path / "report.html").read_text(encoding="utf-8")


def test_names_in_two_pictures_of_a_page_do_not_meet(tmp_path: Path) -> None:
    again = Chart("trial-other", "Another", "theta", "accuracy", CHART.curves)
    both = Section("trial", "A trial", "", (), (), (CHART, again))
    write_report([both], Plan(), tmp_path)
    names = re.findall(r'\bid="([^"]*)"', (tmp_path / "report.html").read_text(encoding="utf-8"))
    assert len(names) == len(set(names))


def test_a_reason_is_said_once(folder: Path) -> None:
    text = (folder / "report.html").read_text(encoding="utf-8")
    assert text.count("Rounded.") == 1


def test_a_page_without_papers_is_a_page() -> None:
    assert page([], {}, Plan()).startswith("<!doctype html>")


def test_a_difference_is_from_the_published_number_first() -> None:
    assert Check("a", 0.5, 0.25, 0.5).difference == 0.25
    assert Check("a", 0.5, None, 0.375).difference == 0.125
    assert Check("a", 0.5).difference is None


@pytest.mark.parametrize(
    ("names", "plan", "processes", "said"),
    [
        (["du-zan"], Plan(), 1, "paper"),
        (["du-zhan"], Plan(repeats=0), 1, "repeats must be at least 1"),
        (["du-zhan"], Plan(), 0, "processes must be at least 1"),
    ],
)
def test_mistakes_are_said_before_anything_runs(
    tmp_path: Path, names: list[str], plan: Plan, processes: int, said: str
) -> None:
    with pytest.raises(DataError, match=said):
        reproduce(names, plan, tmp_path / "out", processes)
    assert not (tmp_path / "out").exists()


@pytest.mark.parametrize("name", STUDIES)
def test_the_names_of_settings_are_file_names_and_differ(name: str) -> None:
    for plan in (Plan(), Plan(quick=True)):
        settings = STUDIES[name].settings(plan)
        names = [one.name for one in settings]
        assert len(set(names)) == len(names)
        assert all(re.fullmatch(r"[a-z0-9.-]+", one) for one in names)
        assert {one.study for one in settings} == {name}
