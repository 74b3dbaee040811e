"""A studio without records, for the tests that do not need any."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from tacit.errors import TacitError
from tacit.studio import model_training, models
from tests.support.studio import Browser, Tried, tried


@pytest.fixture
def studio(tmp_path: Path) -> Iterator[Tried]:
    made = tried(tmp_path, records=0)
    yield made
    made.store.close()


@pytest.fixture
def root(studio: Tried) -> Browser:
    return studio.client(studio.account("Root", administrator=True))


@pytest.fixture
def learning_here(monkeypatch: pytest.MonkeyPatch) -> None:
    """Models are learnt in this process: another one takes longer to start than to learn."""

    def started(job: dict[str, Any]) -> Any:
        try:
            model_training.learn(job)
        except TacitError as error:
            Path(job["problem"]).write_text(str(error))
        return SimpleNamespace(poll=lambda: 0, wait=lambda seconds: 0, kill=lambda: None)

    monkeypatch.setattr(models, "_started", started)
