"""Which tests run, on how many processes; databases that tests share."""

from __future__ import annotations

import gc
import os
from collections import defaultdict
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from hypothesis import settings

if TYPE_CHECKING:
    from tests.support.postgres import Cluster


#: Collecting makes millions of objects that all stay; to search them for garbage takes seconds.
gc.disable()

#: The most cases of one test that `make quick` runs.
QUICK_CASES = 30

#: For `make quick`: as the profile "ci", which other runs use, with fewer examples.
settings.register_profile("quick", settings.get_profile("ci"), max_examples=20)


def pytest_configure() -> None:
    """Load no certificates, which takes longer than a request: all servers of tests are local."""
    os.environ.pop("SSL_CERT_FILE", None)
    os.environ["SSL_CERT_DIR"] = os.devnull


def pytest_collection_finish() -> None:
    """Search for garbage again, but not among what was collected."""
    gc.freeze()
    gc.enable()


def _is_quick(config: pytest.Config) -> bool:
    return bool(config.option.markexpr == "not slow")


def pytest_xdist_auto_num_workers(config: pytest.Config) -> int:
    """As many processes as cores, and half as many again for slow tests, which often wait."""
    cores = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count()
    return (cores or 1) if _is_quick(config) else (cores or 1) * 3 // 2


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption(
        "--complete",
        action="store_true",
        help="every combination of parameters; by default all pairs of values",
    )


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Tests that need PostgreSQL are slow; `complete` ones need the option."""
    for item in items:
        if "cluster" in getattr(item, "fixturenames", ()):
            item.add_marker("slow")
    left_out = _beyond_quick(items) if _is_quick(config) else set()
    if not config.getoption("--complete"):
        left_out |= {item for item in items if item.get_closest_marker("complete")}
    if left_out:
        config.hook.pytest_deselected(items=[*left_out])
        items[:] = [item for item in items if item not in left_out]


def _beyond_quick(items: list[pytest.Item]) -> set[pytest.Item]:
    """What `make quick` leaves out: all but some cases of each test, evenly spread."""
    cases = defaultdict[str, list[pytest.Item]](list)
    for item in items:
        if item.get_closest_marker("slow") is None:
            cases[item.nodeid.partition("[")[0]].append(item)
    left_out = set[pytest.Item]()
    for own in cases.values():
        step = max(1.0, len(own) / QUICK_CASES)
        kept = {int(step * i) for i in range(QUICK_CASES)}
        left_out |= {item for place, item in enumerate(own) if place not in kept}
    return left_out


@pytest.fixture(scope="session")
def cluster() -> Iterator[Cluster]:
    """A PostgreSQL server; where none is installed the test is skipped, but not in CI."""
    from tests.support.postgres import Cluster, binaries

    if binaries() is None:
        if os.environ.get("TACIT_REQUIRE_ALL") == "1":
            pytest.fail("PostgreSQL is not installed, and TACIT_REQUIRE_ALL=1")
        pytest.skip("PostgreSQL is not installed")
    made = Cluster(in_memory=True)
    yield made
    made.remove()


@pytest.fixture(params=["sqlite", pytest.param("postgresql", marks=pytest.mark.slow)])
def url(request: pytest.FixtureRequest, tmp_path: Path) -> str:
    """A new database of each kind."""
    if request.param == "sqlite":
        return str(tmp_path / "survey.db")
    cluster: Cluster = request.getfixturevalue("cluster")
    return cluster.url()
