"""STUDIES: the papers by name; reproduce: run some of them and write the report."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from tacit.errors import DataError, unknown
from tacit.papers import du_zhan, huang_du, soni_shrivastva, zhan_matwin
from tacit.papers.report import Section, write_report
from tacit.papers.runner import Plan, Rows, Setting, Tell, Watch, kept, make_folder, sweep
from tacit.papers.runner import run as run_settings

#: A module per paper, with its settings, how to run one, and its section of the report.
STUDIES = {study.NAME: study for study in (du_zhan, zhan_matwin, soni_shrivastva, huang_du)}


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
    # Those of Huang & Du take minutes; they start first, so that no process waits at the end.
    first = sorted(names, key=lambda name: name != huang_du.NAME)
    settings = [setting for name in first for setting in STUDIES[name].settings(plan)]
    run_settings(settings, run_setting, folder, processes, watch)
    sections = []
    for study in STUDIES.values():
        stored = {setting.name: kept(folder, setting) for setting in study.settings(plan)}
        rows = {name: rows for name, rows in stored.items() if rows is not None}
        if len(rows) == len(stored):
            sections.append(study.section(rows))
    write_report(sections, plan, folder)
    return sections


def run_setting(setting: Setting, tell: Tell) -> Rows:
    """Run a setting of any paper."""
    rows: Rows = STUDIES[setting.study].run(setting, tell)
    return rows
