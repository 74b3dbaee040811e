"""Results are no oracle: refreshing after each answer reveals nothing."""

from __future__ import annotations

import re
import subprocess
import sys
from datetime import date
from itertools import pairwise
from pathlib import Path

import numpy as np
import pytest

from tacit import reconstruct
from tacit.collect.store import Store
from tacit.errors import DataError
from tacit.studio.accounts import Role
from tacit.studio.release import Release, Releases
from tacit.studio.results import ReleaseHistory
from tests.support.studio import reports, send, survey, tried

pytestmark = pytest.mark.slow


def test_results_change_only_by_many_records_at_a_time(tmp_path: Path) -> None:
    """An attacker who looks after every single answer sees differences of 32 records or more.

    Each release contains the one before, and the final one, after closing, has all records.
    """
    studio = tried(tmp_path, records=0)
    codes = reports(studio.mine, 300)
    seen: list[np.ndarray] = [np.zeros(12, int)]
    for row in codes:
        send(studio.store, studio.mine, row[None])
        release = studio.studio.releases.newest(studio.mine)
        if release is not None:
            seen.append(table_of(release))
            assert release.open
            assert studio.studio.releases.comparable(studio.mine) is None
    assert len(seen) == 300 - 132 + 2  # 100, and 32 that are held back
    studio.store.close_survey(studio.mine.survey.fingerprint)
    final = studio.studio.releases.newest(studio.mine)
    assert final is not None
    assert final is studio.studio.releases.comparable(studio.mine)
    assert not final.open
    seen.append(table_of(final))
    assert seen[-1].sum() == 300
    steps = [after - before for before, after in pairwise(seen) if (after != before).any()]
    assert min(step.min() for step in steps) >= 0
    assert min(step.sum() for step in steps) >= 32
    assert len(steps) > 3  # the control: results do change
    studio.store.close()


def table_of(release: Release) -> np.ndarray:
    return np.ravel(release.counts.marginal(release.counts.schema.names))


def test_few_records_are_shown_once_the_survey_is_closed(tmp_path: Path) -> None:
    for n, shown in ((99, None), (100, 100), (131, 131)):
        folder = tmp_path / str(n)
        folder.mkdir()
        studio = tried(folder, records=n)
        assert studio.studio.releases.newest(studio.mine) is None
        studio.store.close_survey(studio.mine.survey.fingerprint)
        final = studio.studio.releases.newest(studio.mine)
        assert (None if final is None else final.counts.n_records) == shown
        studio.store.close()


def test_the_final_release_waits_until_no_record_can_arrive(tmp_path: Path) -> None:
    """The closing day is over on the clock of the studio, but not yet on that of a server."""
    store = Store(tmp_path / "survey.db")
    ends = survey(closes="2027-01-31")
    store.register(ends)
    send(store, ends, reports(ends, 150), date(2027, 1, 31))
    today = [date(2027, 1, 31)]
    releases = Releases(store, tmp_path, today=lambda: today[0])
    release = releases.newest(ends)
    assert release is not None
    assert release.open
    today[0] = date(2027, 2, 1)
    final = releases.newest(ends)
    assert final is not None
    assert (final.open, final.counts.n_records) == (False, 150)
    send(store, ends, reports(ends, 1, seed=2), date(2027, 1, 31))  # refused
    assert store.state(ends.survey.fingerprint).records == 150
    assert releases.newest(ends) is final
    store.close()


def test_a_full_survey_shows_its_final_results(tmp_path: Path) -> None:
    store = Store(tmp_path / "survey.db")
    full = survey(quota=150)
    store.register(full)
    send(store, full, reports(full, 150))
    final = Releases(store, tmp_path).newest(full)
    assert final is not None
    assert (final.open, final.counts.n_records) == (False, 150)
    send(store, full, reports(full, 1, seed=2))  # refused
    assert store.state(full.survey.fingerprint).records == 150
    store.close()


def test_a_release_outlives_the_process(tmp_path: Path) -> None:
    studio = tried(tmp_path)
    before = studio.studio.releases.newest(studio.mine)
    assert before is not None
    assert before.counts.n_records == 400 - 32
    send(studio.store, studio.mine, reports(studio.mine, 5, seed=2))
    for _ in range(2):
        again = Releases(studio.store, tmp_path / "studio").newest(studio.mine)
        assert again is not None
        np.testing.assert_array_equal(table_of(again), table_of(before))
    frozen = studio.studio.releases.freeze(studio.mine)
    studio.store.close_survey(studio.mine.survey.fingerprint)
    for _ in range(2):
        final = Releases(studio.store, tmp_path / "studio").newest(studio.mine)
        assert final is not None
        assert final.earlier is not None
        assert final.counts.n_records == 405
        np.testing.assert_array_equal(table_of(final.earlier), table_of(frozen))
    studio.store.close()


def test_no_snapshot_is_frozen_while_the_final_results_are_made(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A request that still sees the release before must not add a table that those do not know."""
    studio = tried(tmp_path, records=200)
    releases = studio.studio.releases
    before = releases.newest(studio.mine)
    studio.store.close_survey(studio.mine.survey.fingerprint)
    assert releases.newest(studio.mine) is not before
    monkeypatch.setattr(releases, "newest", lambda _: before)
    with pytest.raises(DataError, match="the survey is closed"):
        releases.freeze(studio.mine)
    assert releases.snapshot(studio.mine) is None
    studio.store.close()


def test_a_forgotten_survey_leaves_no_file(tmp_path: Path) -> None:
    studio = tried(tmp_path)
    send(studio.store, studio.mine, reports(studio.mine, 5, seed=2), date(2027, 1, 2))
    assert studio.studio.releases.newest(studio.mine) is not None
    files = f"{studio.mine.survey.fingerprint}*"
    studio.studio.releases.freeze(studio.mine)
    studio.store.close_survey(studio.mine.survey.fingerprint)
    assert studio.studio.releases.newest(studio.mine) is not None
    assert len([*(tmp_path / "studio").glob(files)]) == 5
    studio.studio.releases.forget(studio.mine)
    assert [*(tmp_path / "studio").glob(files)] == []
    studio.store.close()


def test_results_and_the_history_change_with_releases_only(tmp_path: Path) -> None:
    """The attack: look at all results after every answer, and subtract.

    The control reads the store itself, where one answer changes the results.
    """
    studio = tried(tmp_path, records=300)
    client = studio.client(studio.account("Ada", Role.VIEWER))
    path = f"/surveys/{studio.mine.slug}"
    pages = [f"{path}/results", f"{path}/estimates.json", f"{path}/report.html"]

    def seen() -> list[str]:
        waiting = r"\d+ records?\.|Results of.*"
        glance = client.get(path).text.partition("at a glance")[2]
        return [glance, *(re.sub(waiting, "", client.get(page).text) for page in pages)]

    def stored() -> list[float]:
        whole = reconstruct(studio.store.codes(studio.mine.survey.fingerprint), studio.mine.design)
        return [float(share) for share in whole.table(["stole"]).value]

    shown, direct = seen(), stored()
    for row in reports(studio.mine, 32, seed=3):
        send(studio.store, studio.mine, row[None])
        assert seen() == shown
    assert stored() != direct
    send(studio.store, studio.mine, reports(studio.mine, 1, seed=4))
    assert all(new != old for new, old in zip(seen(), shown, strict=True))  # 268 // 8 are new
    studio.store.close()


def test_few_releases_are_kept_in_memory(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("tacit.studio.release._MOST_RELEASES", 1)
    studio = tried(tmp_path)
    third = survey("Third")
    studio.store.register(third)
    send(studio.store, third, reports(third, 200))
    releases = studio.studio.releases
    first = releases.newest(studio.mine)
    assert releases.newest(studio.mine) is first
    assert releases.newest(third) is not None
    again = releases.newest(studio.mine)
    assert again is not None
    assert first is not None
    assert again is not first
    np.testing.assert_array_equal(again.counts.counts, first.counts.counts)
    studio.store.close()


def test_each_survey_has_its_own_release(tmp_path: Path) -> None:
    studio = tried(tmp_path)
    assert studio.studio.releases.newest(studio.other) is None
    studio.store.close()


def test_final_estimates_equal_those_of_the_library(tmp_path: Path) -> None:
    studio = tried(tmp_path, closed=True)
    release = studio.studio.releases.newest(studio.mine)
    assert release is not None
    whole = reconstruct(studio.store.codes(studio.mine.survey.fingerprint), studio.mine.design)
    own = release.reconstruction.table(["stole", "often"])
    np.testing.assert_allclose(own.value, whole.table(["stole", "often"]).value, atol=1e-12)
    assert survey().fingerprint == studio.mine.fingerprint
    studio.store.close()


@pytest.mark.parametrize("moment", [1, 2, 3])
def test_a_process_that_is_killed_while_it_makes_a_release_leaves_the_one_before(
    tmp_path: Path, moment: int
) -> None:
    """Killed before each of the files gets its name: finished days, shown, history."""
    studio = tried(tmp_path)
    before = studio.studio.releases.newest(studio.mine)
    assert before is not None
    send(studio.store, studio.mine, reports(studio.mine, 100, seed=2), date(2027, 1, 2))
    code = (
        "import os, sys, signal\n"
        "from pathlib import Path\n"
        "from tacit.collect.store import Store\n"
        "from tacit.studio.server import studio_of\n"
        "replaced, real = [], os.replace\n"
        "def killed(*given, **named):\n"
        "    replaced.append(1)\n"
        "    if len(replaced) == int(sys.argv[2]):\n"
        "        os.kill(os.getpid(), signal.SIGKILL)\n"
        "    return real(*given, **named)\n"
        "os.replace = killed\n"
        "folder = Path(sys.argv[1])\n"
        "store = Store(folder / 'survey.db')\n"
        "studio = studio_of(store, folder / 'studio')\n"
        "studio.releases.newest(store.published()[0])\n"
    )
    given = [sys.executable, "-c", code, str(tmp_path), str(moment)]
    assert subprocess.run(given, check=False).returncode == -9
    history = ReleaseHistory(tmp_path / "studio")
    again = Releases(studio.store, tmp_path / "studio", history.add).newest(studio.mine)
    assert again is not None
    assert (table_of(again) >= table_of(before)).all()
    assert [point.records for point in history.of(studio.mine)] == [368, 468]
    studio.store.close()
