"""STUDIES: the papers by name; reproduce: run some of them and write the report."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

from tacit.errors import DataError, unknown
from tacit.reproduce import (
    du_zhan,
    huang_du,
    huang_du_section,
    soni_shrivastva,
    zhan_matwin,
    zhan_matwin_section,
)
from tacit.reproduce.job_runner import Watch
from tacit.reproduce.job_runner import run as run_settings
from tacit.reproduce.report_files import write_report
from tacit.reproduce.section import Section
from tacit.reproduce.stored_results import kept, make_folder, sweep
from tacit.reproduce.study_settings import Plan, Results, Rows, Setting, Tell


@dataclass(frozen=True)
class Study:
    """A paper: its settings, how to run one, and its section of the report."""

    settings: Callable[[Plan], list[Setting]]
    run: Callable[[Setting, Tell], Rows]
    section: Callable[[Results], Section]


STUDIES = {
    du_zhan.NAME: Study(du_zhan.settings, du_zhan.run, du_zhan.section),
    zhan_matwin.NAME: Study(zhan_matwin.settings, zhan_matwin.run, zhan_matwin_section.section),
    soni_shrivastva.NAME: Study(
        soni_shrivastva.settings, soni_shrivastva.run, soni_shrivastva.section
    ),
    huang_du.NAME: Study(huang_du.settings, huang_du.run, huang_du_section.section),
}


def reproduce(
    names: Sequence[str], plan: Plan, folder: Path, processes: int = 1, watch: Watch | None = None
) -> list[Section]:
    """Run the unfinished settings of these papers and write the report; returns its sections.

    The report is `report.html` in the folder, beside figures (SVG) and tables (CSV). It also
    has the other papers that an earlier run of the same plan, by the same code, finished.
    """
    for name in names:
        if name not in STUDIES:
            raise DataError(unknown("paper", name, tuple(STUDIES)))
    if plan.repeats is not None and plan.repeats < 1:
        raise DataError(f"repeats must be at least 1, got {plan.repeats}")
    if processes < 1:
        raise DataError(f"processes must be at least 1, got {processes}")
    make_folder(folder)
    sweep(folder)
    settings = [one for name in names for one in STUDIES[name].settings(plan)]
    run_settings(sorted(settings, key=_long, reverse=True), run_setting, folder, processes, watch)
    finished = {name: _finished(name, plan, folder) for name in STUDIES}
    sections = [
        STUDIES[name].section(found) for name, found in finished.items() if found is not None
    ]
    write_report(sections, plan, folder)
    return sections


def _finished(name: str, plan: Plan, folder: Path) -> Results | None:
    """The rows of all settings of a paper; None if one is not finished."""
    found = {one.name: kept(folder, one) for one in STUDIES[name].settings(plan)}
    rows = {name: rows for name, rows in found.items() if rows is not None}
    return rows if len(rows) == len(found) else None


def run_setting(one: Setting, tell: Tell) -> Rows:
    """Run a setting of any paper."""
    return STUDIES[one.study].run(one, tell)


def _long(one: Setting) -> bool:
    """Whether a setting takes minutes; these start first, so that no process waits at the end."""
    return one.study == huang_du.NAME
