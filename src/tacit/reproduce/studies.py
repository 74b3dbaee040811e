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
from tacit.reproduce.report import write_report
from tacit.reproduce.running import Watch
from tacit.reproduce.running import run as run_settings
from tacit.reproduce.section import Section
from tacit.reproduce.setting import Plan, Results, Rows, Setting, Tell
from tacit.reproduce.storing import make_folder


@dataclass(frozen=True)
class Study:
    """A paper: its settings, how one is run, and what is said of the results."""

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
    """Run the settings of these papers that are not finished, write the report; its sections.

    The report is `report.html` in the folder, beside figures (SVG) and tables (CSV).
    """
    for name in names:
        if name not in STUDIES:
            raise DataError(unknown("paper", name, tuple(STUDIES)))
    if plan.repeats is not None and plan.repeats < 1:
        raise DataError(f"repeats must be at least 1, got {plan.repeats}")
    if processes < 1:
        raise DataError(f"processes must be at least 1, got {processes}")
    make_folder(folder)
    settings = [one for name in names for one in STUDIES[name].settings(plan)]
    longest = sorted(settings, key=_long, reverse=True)
    found = run_settings(longest, run_setting, folder, processes, watch)
    sections = [
        STUDIES[name].section({one.name: found[one] for one in settings if one.study == name})
        for name in names
    ]
    write_report(sections, plan, folder)
    return sections


def run_setting(one: Setting, tell: Tell) -> Rows:
    """Run a setting of any paper."""
    return STUDIES[one.study].run(one, tell)


def _long(one: Setting) -> bool:
    """Whether a setting takes minutes; these come first, so that no process waits at the end."""
    return one.study == huang_du.NAME
