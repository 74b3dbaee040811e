"""Results are no oracle: refreshing after each answer reveals nothing."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from tacit import reconstruct
from tacit.studio.release import FEWEST_SHOWN, Releases
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
