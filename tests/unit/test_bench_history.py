"""The benchmarks' own arithmetic: medians of three runs, and the page with its history."""

from __future__ import annotations

from collections.abc import Iterator

from benchmarks.history import COLUMNS, page, read_history
from benchmarks.measure import Row, measured


class Runs:
    """A suite of one row that measures these figures, run by run."""

    def __init__(self, *figures: float) -> None:
        self.left = list(figures)

    def __call__(self) -> Iterator[Row]:
        yield Row("speed", self.left.pop(0), 15, "times", "")


def test_a_suite_that_meets_its_targets_runs_once() -> None:
    suite = Runs(16, 1, 1)
    assert [row.figure for row in measured(suite)] == [16]
    assert suite.left == [1, 1]


def test_a_missed_target_counts_by_the_median_of_three_runs() -> None:
    (met,), (missed,) = measured(Runs(10, 20, 16)), measured(Runs(10, 20, 12))
    assert (met.figure, met.met) == (16, True)
    assert (missed.figure, missed.met) == (12, False)


def test_the_page_shows_the_latest_run_and_earlier_ones() -> None:
    history = [
        dict(zip(COLUMNS, ("2026-01-01", "abc1234", "speed", "17", "times", "15"), strict=True)),
        dict(zip(COLUMNS, ("2026-01-02", "def5678", "speed", "16", "times", "15"), strict=True)),
    ]
    written = page([Row("speed", 16, 15, "times", "")], history)
    assert "| speed | 16 times | at least 15 times | met |  |" in written
    assert "| what | 2026-01-01 abc1234 | 2026-01-02 def5678 | unit |" in written
    assert "| speed | 17 | 16 | times |" in written


def test_the_history_has_a_date_and_a_commit_for_every_figure() -> None:
    history = read_history()
    assert history
    assert all(tuple(entry) == COLUMNS and all(entry.values()) for entry in history)
