"""What `tacit serve` loads: nothing that could undo a disguise, and nothing slow."""

from __future__ import annotations

from pathlib import Path

import httpx
import pytest

from tests.support.asking import place, submission
from tests.support.published import published
from tests.support.serving import serving

SURVEY = published()
#: Packages of tacit that reconstruct, or that only analysts use.
UNDOING = {"tacit.reconstruction", "tacit.mine", "tacit.evaluate", "tacit.privacy"}
ANALYSTS = {"tacit.records.memory", "tacit.records.engines", "tacit.core.disguise", "tacit.papers"}
SLOW = {"scipy", "sklearn", "matplotlib", "pyarrow", "pandas", "polars", "narwhals"}


def test_a_server_loads_nothing_that_reconstructs_and_nothing_slow(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PYTHONPROFILEIMPORTTIME", "1")
    with serving(tmp_path, [SURVEY], "--metrics") as served:
        target = served.origin + place(SURVEY, "responses")
        assert httpx.post(target, json=submission(SURVEY)).status_code == 201
        for path in (place(SURVEY), place(SURVEY, "survey.json"), "/metrics", "/health/ready"):
            assert httpx.get(served.origin + path).status_code == 200
        assert served.stop() == 0
    loaded = {line.rpartition("|")[2].strip() for line in served.log if "import time:" in line}
    assert {"tacit.collect.server", "uvicorn", "sqlalchemy"} <= loaded, "imports were listed"
    packages = {".".join(name.split(".")[:2]) for name in loaded} | loaded
    assert packages & (UNDOING | ANALYSTS | SLOW) == set()
