"""A studio without records, for the tests that do not need any."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.support.studio import Browser, Tried, tried


@pytest.fixture
def studio(tmp_path: Path) -> Iterator[Tried]:
    made = tried(tmp_path, records=0)
    yield made
    made.store.close()


@pytest.fixture
def root(studio: Tried) -> Browser:
    return studio.client(studio.account("Root", administrator=True))
