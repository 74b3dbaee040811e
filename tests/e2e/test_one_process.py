"""`tacit studio --collect`: one process, and surveys that are served when they are published."""

from __future__ import annotations

import signal
import socket
import time
from collections.abc import Callable
from contextlib import closing
from pathlib import Path

import httpx
import pytest

from tacit.collect.store import Store
from tests.support.asking import place, submission
from tests.support.commands import Ran
from tests.support.one_process import both, command
from tests.support.postgres import Cluster
from tests.support.published import published
from tests.support.serving import SECONDS, serving
from tests.support.studio import PASSWORD, SAME_SITE

pytestmark = pytest.mark.slow

FIRST, NEXT = published(), published(title="Published while the server runs")


def test_one_process_publishes_collects_and_shows(url: str, tmp_path: Path) -> None:
    with both(url, tmp_path / "studio") as running, httpx.Client(headers=SAME_SITE) as browser:
        form = {"name": "Ada", "password": PASSWORD, "again": PASSWORD}
        assert browser.post(running.link, data=form).status_code == 303
        assert httpx.get(running.collecting + place(FIRST)).status_code == 404
        text = {"text": FIRST.survey.to_json(), "from": "text"}
        draft = browser.post(f"{running.studio}drafts", data=text).headers["location"]
        publish = f"{running.studio.rstrip('/')}{draft}/publish"
        assert browser.post(publish, data={"confirm": "yes"}).status_code == 303
        with closing(Store(url)) as store:  # the page may say "not found" for a second
            while httpx.get(running.collecting + place(FIRST)).status_code == 404:
                time.sleep(0.1)
            target = running.collecting + place(FIRST, "responses")
            for _ in range(3):
                assert httpx.post(target, json=submission(FIRST)).status_code == 201
            assert store.state(FIRST.survey.fingerprint).records == 3
        shown = browser.get(f"{running.studio}surveys/{FIRST.slug}").text
        assert "3 records" in shown
        assert f"{running.collecting}{place(FIRST)}" in shown
        running.process.send_signal(signal.SIGTERM)
        assert running.process.wait(SECONDS) == 0


def test_a_port_without_collecting_is_an_error(tacit: Callable[..., Ran], tmp_path: Path) -> None:
    ran = tacit("studio", "--database", tmp_path / "survey.db", "--collect-port", "0")
    assert ran.status == 2
    assert "needs --collect" in ran.err


def test_a_port_in_use_is_an_error_that_names_the_option(
    tacit: Callable[..., Ran], tmp_path: Path
) -> None:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        own = ["--database", tmp_path / "survey.db", "--data", tmp_path / "studio", "--port", "0"]
        ran = tacit("studio", *own, "--collect", "--collect-port", taken.getsockname()[1])
    assert ran.status == 2
    assert "choose another by --collect-port" in ran.err


def test_every_server_serves_what_is_published_meanwhile(cluster: Cluster, tmp_path: Path) -> None:
    url = cluster.url()
    folders = [tmp_path / "one", tmp_path / "two"]
    for folder in folders:
        folder.mkdir()
    with (
        serving(folders[0], [FIRST], "--database", url) as one,
        serving(folders[1], [FIRST], "--database", url) as two,
    ):
        with closing(Store(url)) as store:
            store.register(NEXT)
        for server in (one, two):
            target = server.origin + place(NEXT, "responses")
            assert httpx.post(target, json=submission(NEXT)).status_code == 201
        with closing(Store(url)) as store:
            assert store.state(NEXT.survey.fingerprint).records == 2


def test_a_second_start_on_the_same_port_is_an_error_that_names_the_option(
    tacit: Callable[..., Ran], tmp_path: Path
) -> None:
    database, folder = str(tmp_path / "survey.db"), tmp_path / "studio"
    with both(database, folder) as running:
        second = tacit(*command(database, folder), "--port", running.studio[:-1].rpartition(":")[2])
        assert second.status == 2
        assert second.err.endswith("choose another by --port\n")
