"""Results are no oracle: refreshing after each answer reveals nothing."""

from __future__ import annotations

import re
import subprocess
import sys
from datetime import date
from pathlib import Path

import numpy as np
import pytest

from tacit import reconstruct
from tacit.counting import count_reported
from tacit.studio.accounts import Role
from tacit.studio.release import FEWEST_SHOWN, Releases
from tacit.studio.release_history import ReleaseHistory
from tests.support.studio import reports, send, survey, tried

pytestmark = pytest.mark.slow


def test_results_change_only_by_many_records_at_a_time(tmp_path: Path) -> None:
    """An attacker who looks after every single answer sees differences of 32 records or more."""
    studio = tried(tmp_path, records=0)
    codes = reports(studio.mine, 300)
    seen = []
    for row in codes:
        send(studio.store, studio.mine, row[None])
        release = studio.studio.releases.newest(studio.mine)
        seen.append(0 if release is None else release.counts.n_records)
    assert seen[FEWEST_SHOWN - 2] == 0
    steps = np.diff(sorted({*seen}))
    assert steps.min() >= 32
    assert len(steps) > 3  # the control: results do change
    studio.store.close()


def test_a_release_outlives_the_process(tmp_path: Path) -> None:
    studio = tried(tmp_path)
    assert studio.studio.releases.newest(studio.mine) is not None
    send(studio.store, studio.mine, reports(studio.mine, 5, seed=2))
    again = Releases(studio.store, tmp_path / "studio").newest(studio.mine)
    assert again is not None
    assert again.counts.n_records == 400
    studio.store.close()


def test_a_forgotten_survey_leaves_no_file(tmp_path: Path) -> None:
    studio = tried(tmp_path)
    send(studio.store, studio.mine, reports(studio.mine, 5, seed=2), date(2027, 1, 2))
    assert studio.studio.releases.newest(studio.mine) is not None
    files = f"{studio.mine.survey.fingerprint}*"
    assert len([*(tmp_path / "studio").glob(files)]) == 3
    studio.studio.releases.forget(studio.mine)
    assert [*(tmp_path / "studio").glob(files)] == []
    studio.store.close()


def test_tables_of_groups_and_the_history_change_with_releases_only(tmp_path: Path) -> None:
    """The attack on tables: look at all of them after every answer, and subtract.

    Whatever is shown is a function of the release, so differences mix at least 32 reports. The
    control reads the store itself, where one answer changes the tables.
    """
    studio = tried(tmp_path, records=300)
    client = studio.client(studio.account("Ada", Role.VIEWER))
    path = f"/surveys/{studio.mine.slug}"
    tables = ["row=stole&column=site", "row=stole&column=site&layer=often"]
    pages = [f"{path}/table?{query}" for query in tables] + [f"{path}/estimates.json"]

    def seen() -> list[str]:
        return [re.sub(r"Results of.*", "", client.get(page).text) for page in pages]

    def stored() -> list[float]:
        whole = reconstruct(studio.store.codes(studio.mine.survey.fingerprint), studio.mine.design)
        shares = whole.table(["stole"], given=["often", "site"]).value
        return [float(share) for share in np.ravel(shares)]

    shown, direct = seen(), stored()
    for row in reports(studio.mine, 36, seed=3):
        send(studio.store, studio.mine, row[None])
        assert seen() == shown
    assert stored() != direct
    send(studio.store, studio.mine, reports(studio.mine, 1, seed=4))
    assert all(new != old for new, old in zip(seen(), shown, strict=True))  # 300 // 8 are new
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


def test_estimates_equal_those_of_the_library(tmp_path: Path) -> None:
    studio = tried(tmp_path)
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
    """It is killed before each of the three files gets its name: finished days, counts, history."""
    studio = tried(tmp_path)
    assert studio.studio.releases.newest(studio.mine) is not None
    send(studio.store, studio.mine, reports(studio.mine, 100, seed=2), date(2027, 1, 2))
    code = (
        "import os, sys, signal\n"
        "from pathlib import Path\n"
        "from tacit.service.store import Store\n"
        "from tacit.studio.studio_server import studio_of\n"
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
    whole = count_reported(studio.store.codes(studio.mine.survey.fingerprint), studio.mine.design)
    np.testing.assert_array_equal(again.counts.counts, whole.counts)
    assert [point.records for point in history.of(studio.mine)] == [400, 500]
    studio.store.close()
