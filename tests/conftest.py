"""The option --complete, and databases that tests share."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from tests.support.postgres import Cluster


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption(
        "--complete",
        action="store_true",
        help="every combination of parameters; by default all pairs of values",
    )


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    if config.getoption("--complete"):
        return
    left_out = [item for item in items if item.get_closest_marker("complete")]
    if left_out:
        config.hook.pytest_deselected(items=left_out)
        items[:] = [item for item in items if not item.get_closest_marker("complete")]


@pytest.fixture(scope="session")
def cluster() -> Iterator[Cluster]:
    """A PostgreSQL server; where none is installed the test is skipped, but not in CI."""
    from tests.support.postgres import Cluster, binaries

    if binaries() is None:
        if os.environ.get("TACIT_REQUIRE_ALL") == "1":
            pytest.fail("PostgreSQL is not installed, and TACIT_REQUIRE_ALL=1")
        pytest.skip("PostgreSQL is not installed")
    made = Cluster()
    yield made
    made.remove()


@pytest.fixture(params=["sqlite", "postgresql"])
def url(request: pytest.FixtureRequest, tmp_path: Path) -> str:
    """A new database of each kind."""
    if request.param == "sqlite":
        return str(tmp_path / "survey.db")
    cluster: Cluster = request.getfixturevalue("cluster")
    return cluster.url()
