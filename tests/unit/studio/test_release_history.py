"""The history of releases: one point per release, kept over restarts, told by nothing else."""

from __future__ import annotations

import json
from datetime import date
from pathlib import Path

import numpy as np
import pytest

from tacit import reconstruct
from tacit.errors import FileError
from tacit.studio.accounts import Role
from tacit.studio.release import Releases
from tacit.studio.results import ReleaseHistory, ReleasePoint, history_figures
from tests.support.studio import reports, send, tried

pytestmark = pytest.mark.slow


def test_each_release_is_one_point_with_the_widths_of_its_intervals(tmp_path: Path) -> None:
    studio = tried(tmp_path, records=0)
    codes = reports(studio.mine, 300)
    widths = {}
    for start in range(0, 300, 10):
        send(studio.store, studio.mine, codes[start : start + 10])
        release = studio.studio.releases.newest(studio.mine)
        if release is not None and release.counts.n_records not in widths:
            whole = reconstruct(release.counts, studio.mine.design)
            low, high = whole.table(["often"]).interval()
            widths[release.counts.n_records] = float(np.max(high - low)) / 2
    points = studio.studio.history.of(studio.mine)
    assert {point.records: point.widths["often"] for point in points} == pytest.approx(widths)
    assert np.diff([point.records for point in points]).min() >= 32
    assert len(points) > 3
    for figure in history_figures(points):
        ((_, places),) = figure.lines
        assert len(places) == len(points)
    page = (
        studio.client(studio.account("Ada", Role.VIEWER))
        .get(f"/surveys/{studio.mine.slug}/results")
        .text
    )
    for point in points:
        assert f"± {100 * point.widths[point.widest]:.1f}</td>" in page
    assert page.count('<svg class="lines"') == 2
    studio.store.close()


def test_a_release_is_added_once_also_after_a_restart(tmp_path: Path) -> None:
    studio = tried(tmp_path)
    folder = tmp_path / "studio"
    assert studio.studio.releases.newest(studio.mine) is not None
    (folder / f"{studio.mine.survey.fingerprint}-releases.json").unlink()  # killed in between
    for _ in range(2):
        history = ReleaseHistory(folder, lambda: date(2027, 2, 3))
        assert Releases(studio.store, folder, history.add).newest(studio.mine) is not None
        assert [(p.day, p.records) for p in history.of(studio.mine)] == [("2027-02-03", 368)]
    studio.store.close()


def test_a_damaged_history_is_one_error(tmp_path: Path) -> None:
    studio = tried(tmp_path)
    path = tmp_path / "studio" / f"{studio.mine.survey.fingerprint}-releases.json"
    path.write_text(json.dumps({"tacit": "releases", "version": 9}))
    with pytest.raises(FileError, match="upgrade tacit"):
        studio.studio.history.of(studio.mine)
    studio.store.close()


def test_one_release_is_no_figure() -> None:
    assert history_figures([ReleasePoint("2027-01-01", 100, {"a": 0.1})]) == []
