"""Settings are run once, kept, and give the same whatever runs them."""

from __future__ import annotations

import os
import re
from pathlib import Path

import pytest

from tacit.papers import Plan, runner, zhan_matwin
from tacit.papers.runner import (
    Progress,
    Rows,
    Setting,
    Tell,
    file_of,
    keep,
    kept,
    moments,
    run,
    sweep,
)
from tacit.papers.studies import run_setting

PLAN = Plan(repeats=2, seed=3)


def some(plan: Plan = PLAN) -> list[Setting]:
    return [plan.setting("trial", f"number-{i}", 4, number=i) for i in range(6)]


def draw(one: Setting, tell: Tell) -> Rows:
    """A job that draws a number a repeat."""
    values = []
    for repeat in range(one.repeats):
        values.append(one.rng(repeat).random())
        tell(repeat + 1)
    return [{"number": one["number"], **moments(values)}]


def contents(folder: Path) -> dict[str, bytes]:
    return {
        str(path.relative_to(folder)): path.read_bytes()
        for path in folder.rglob("*")
        if path.is_file()
    }


@pytest.mark.parametrize("stop", range(6))
def test_interrupted_and_continued_equals_uninterrupted(tmp_path: Path, stop: int) -> None:
    def interrupted(one: Setting, tell: Tell) -> Rows:
        if one["number"] == stop:
            tell(2)
            raise KeyboardInterrupt
        return draw(one, tell)

    with pytest.raises(KeyboardInterrupt):
        run(some(), interrupted, tmp_path / "stopped")
    assert len(contents(tmp_path / "stopped")) == stop
    continued = run(some(), draw, tmp_path / "stopped")
    assert continued == run(some(), draw, tmp_path / "whole")
    assert contents(tmp_path / "stopped") == contents(tmp_path / "whole")


def test_a_finished_setting_is_not_run_again(tmp_path: Path) -> None:
    first = run(some(), draw, tmp_path)

    def never(one: Setting, tell: Tell) -> Rows:
        raise AssertionError(one.name)

    assert run(some(), never, tmp_path) == first


def test_the_order_of_settings_does_not_change_their_rows(tmp_path: Path) -> None:
    forth = run(some(), draw, tmp_path / "forth")
    back = run(some()[::-1], draw, tmp_path / "back")
    assert forth == back


def test_another_seed_runs_anew_and_draws_other_numbers(tmp_path: Path) -> None:
    first = run(some(), draw, tmp_path)
    other = run(some(Plan(repeats=2, seed=4)), draw, tmp_path)
    assert [*first.values()] != [*other.values()]


def test_a_damaged_file_counts_as_none(tmp_path: Path) -> None:
    one = some()[0]
    keep(tmp_path, one, [{"number": 0}])
    assert kept(tmp_path, one) == [{"number": 0}]
    file_of(tmp_path, one).write_text('{"made_by": ')
    assert kept(tmp_path, one) is None
    file_of(tmp_path, one).write_text("[]")
    assert kept(tmp_path, one) is None


def test_what_other_code_found_is_run_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    one = some()[0]
    keep(tmp_path, one, [{"number": 0}])
    for name in runner.made_by():
        other = {**runner.made_by(), name: "another"}
        with monkeypatch.context() as patch:
            patch.setattr(runner, "made_by", lambda other=other: other)
            assert kept(tmp_path, one) is None
    assert kept(tmp_path, one) == [{"number": 0}]


def test_the_code_is_known_by_every_source_file() -> None:
    assert set(runner.made_by()) == {"tacit", "source", "numpy", "scipy"}
    assert re.fullmatch("[0-9a-f]{16}", runner.made_by()["source"])


def test_what_a_killed_run_had_begun_to_write_is_swept(tmp_path: Path) -> None:
    old, new, other = (tmp_path / name for name in (".tacit-1.part", ".tacit-2.part", "kept.json"))
    for path in (old, new, other):
        path.write_text("")
    for path in (old, other):
        os.utime(path, (0, 0))
    sweep(tmp_path)
    assert (old.exists(), new.exists(), other.exists()) == (False, True, True)


def test_progress_counts_settings_and_repeats_also_those_kept(tmp_path: Path) -> None:
    seen: list[tuple[int, int]] = []

    def watch(done: Progress) -> None:
        seen.append((done.settings_done, done.repeats_done))

    run(some()[:2], draw, tmp_path, watch=watch)
    assert seen[0] == (0, 0)
    assert seen[-1] == (2, 8)
    assert seen == sorted(seen)
    seen.clear()
    run(some(), draw, tmp_path, watch=watch)
    assert seen[0] == (2, 8)
    assert seen[-1] == (6, 24)


def test_progress_counts_work_by_what_a_repeat_takes(tmp_path: Path) -> None:
    """Four repeats of 1 and of 3 seconds: 16 in all; the first is kept from before."""
    short, long = (PLAN.setting("trial", f"of-{s}", 4, s, number=0) for s in (1.0, 3.0))
    run([short], draw, tmp_path)
    seen: list[tuple[float, float]] = []
    run([short, long], draw, tmp_path, watch=lambda done: seen.append((done.work_done, done.work)))
    assert seen[0] == (4, 16)
    assert sorted({done for done, _ in seen}) == [4, 7, 10, 13, 16]


def test_what_a_repeat_takes_is_no_part_of_a_setting() -> None:
    short, long = (PLAN.setting("trial", "name", 4, s, number=0) for s in (1.0, 3.0))
    assert short == long
    assert short.to_dict() == long.to_dict()
    assert "seconds" not in short.to_dict()


@pytest.mark.slow
def test_the_number_of_processes_does_not_change_a_byte(tmp_path: Path) -> None:
    chosen = [one for one in zhan_matwin.settings(PLAN) if one.name.startswith("wisconsin-unrel")]
    chosen = chosen[:2]
    alone = run(chosen, run_setting, tmp_path / "1", 1)
    assert run(chosen, run_setting, tmp_path / "2", 2) == alone
    assert contents(tmp_path / "1") == contents(tmp_path / "2")


def test_one_score_has_no_variance() -> None:
    assert moments([0.5]) == {"mean": 0.5, "variance": None, "stderr": None}
    assert moments([0.25, 0.75])["variance"] == 0.125
    assert moments([0.8135] * 50) == {
        "mean": pytest.approx(0.8135, rel=1e-15),
        "variance": 0,
        "stderr": 0,
    }


def test_scores_that_share_a_division_vary_among_themselves() -> None:
    """Pairs (0, 1), (4, 5) and a fifth alone: variance 1/2 within, means .5 and 4.5."""
    found = moments([0, 1, 4, 5, 7], 2)
    assert found == {"mean": 3.4, "variance": 0.5, "stderr": 2.0}
    assert moments([0, 1], 2) == {"mean": 0.5, "variance": 0.5, "stderr": None}
    assert moments([3], 2) == {"mean": 3.0, "variance": None, "stderr": None}
