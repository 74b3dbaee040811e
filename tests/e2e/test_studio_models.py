"""Models in the studio: learnt and published in a browser, answered by respondents in another."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import threading
import time
from contextlib import suppress
from pathlib import Path

import httpx
import numpy as np
import pytest
from playwright.sync_api import Browser, Page

from tacit import disguise, mine, reconstruct
from tacit.collect.store import Store
from tacit.records import count_reported
from tacit.studio.accuracy_round import accuracy_round
from tacit.studio.models import ModelFolder
from tacit.survey import Published
from tests.support.browser import device, serving
from tests.support.respondent import Respondent
from tests.support.studio import PASSWORD, reports, send, survey
from tests.support.studio_process import running

pytestmark = pytest.mark.slow

TITLES = {
    "decision tree": "Decision tree for stole",
    "naive Bayes": "Naive Bayes for stole",
    "association rules": "Association rules",
    "clusters (latent classes)": "Clusters (latent classes)",
}
#: People who answer an accuracy round in a browser.
BY_HAND = 2


def sign_up(page: Page, link: str | None) -> None:
    """Make the first account."""
    page.goto(link or "")
    page.get_by_label("Name").fill("Ada")
    page.get_by_label("Password, at least").fill(PASSWORD)
    page.get_by_label("again").fill(PASSWORD)
    page.get_by_role("button", name="Make the account").click()


@pytest.mark.parametrize(
    "url", ["sqlite", pytest.param("postgresql", marks=pytest.mark.complete)], indirect=True
)
def test_from_released_records_to_a_model_a_round_and_its_accuracy(
    url: str, tmp_path: Path, browser: Browser
) -> None:
    """Models are learnt from released counts and published like surveys; other tests do both on
    PostgreSQL, so this one needs --complete.
    """
    store, own = Store(url), survey()
    store.register(own)
    send(store, own, reports(own, 2000))
    store.close_survey(own.survey.fingerprint)
    with running(url, tmp_path / "studio") as (address, link):
        page = browser.new_context().new_page()
        sign_up(page, link)
        page.goto(f"{address}surveys/{own.slug}")
        page.get_by_role("link", name="Models", exact=True).click()
        for kind, title in TITLES.items():
            page.goto(f"{address}surveys/{own.slug}/models")
            page.get_by_label("Kind of model").select_option(label=kind)
            page.get_by_role("button", name="Learn").click()
            page.get_by_role("heading", name=title, exact=True).wait_for(timeout=120_000)
        page.goto(f"{address}surveys/{own.slug}/models")
        page.get_by_role("link", name="Naive Bayes for stole").click()
        with page.expect_download() as wanted:
            page.get_by_role("link", name="Download").click()
        wanted.value.save_as(tmp_path / "model.json")
        model = mine.model_from_json((tmp_path / "model.json").read_text())
        assert model.fingerprint_ == own.fingerprint
        page.get_by_role("button", name="Publish an accuracy round").click()
        page.get_by_role("heading", name="Work – how often is a model right?").wait_for()
    store.close()


def test_a_round_is_answered_on_devices_and_found_in_the_results(
    tmp_path: Path, browser: Browser
) -> None:
    """A few people in the browser, the others straight to the store: their reports are alike."""
    own = survey()
    counts = count_reported(reports(own, 3000), own.design)
    model = mine.DecisionTree(own.design, "stole", caution=0).fit(counts)
    made = Published(accuracy_round(own, mine.model_to_json(model), "9/10"))
    assert made.survey.model is not None
    with serving([made], tmp_path) as served:
        for _ in range(BY_HAND):
            context = device(browser)
            person = Respondent(context.new_page())
            person.opens(served[made])
            assert person.goes_on() == "You and a model"
            frames = person.page.locator("form fieldset")
            for i in range(frames.count()):
                frames.nth(i).locator("input").first.check()
            person.goes_on()
            assert "The model predicts" in person.page.locator(".outcome-box").inner_text()
            assert person.goes_on() == "This will be sent"
            person.presses("Send")
            person.reaches("Stored. Thank you!")
            context.close()
    store = Store(str(served.database))
    assert store.state(made.survey.fingerprint).records == BY_HAND
    rng = np.random.default_rng(3)
    right = (rng.random(3000) < 0.8).astype(np.uint8)[:, None]
    send(store, made, disguise(right, made.design, rng))
    codes = store.codes(made.survey.fingerprint)
    table = reconstruct(count_reported(codes, made.design), made.design).table(["correct"])
    lower, upper = (limit[1] for limit in table.interval(1 - 1e-6))
    assert lower <= 0.8 <= upper
    store.close()


def test_killing_the_studio_while_a_model_is_learnt_leaves_nothing_half_written(
    tmp_path: Path,
) -> None:
    """The studio and the process that learns are killed as soon as that has read the records."""
    database, folder = str(tmp_path / "survey.db"), tmp_path / "studio"
    store, own = Store(database), survey()
    store.register(own)
    send(store, own, reports(own, 2000))
    store.close_survey(own.survey.fingerprint)
    models = folder / "models" / own.slug
    command = [sys.executable, "-m", "tacit", "studio", "--database", database, "--port", "0"]
    with subprocess.Popen(
        [*command, "--data", str(folder)], stdout=subprocess.PIPE, text=True, start_new_session=True
    ) as process:
        assert process.stdout is not None
        address = process.stdout.readline().split()[1]
        link = process.stdout.readline().split()[5]
        with httpx.Client(headers={"sec-fetch-site": "same-origin"}, base_url=address) as client:
            form = {"name": "Ada", "password": PASSWORD, "again": PASSWORD}
            assert client.post(link, data=form).status_code == 303
            killer = threading.Thread(target=kill_when_read, args=(models, process.pid))
            killer.start()
            asked = {"kind": "clusters"}
            with suppress(httpx.HTTPError):  # unless the studio is killed after it has answered
                client.post(f"surveys/{own.slug}/models", data=asked, timeout=120)
            killer.join()
        assert process.wait() == -signal.SIGKILL
    assert list(models.glob("*.json")) == []
    again = ModelFolder(folder / "models")
    assert again.all_of(own) == []
    assert list(models.iterdir()) == []
    store.close()


def kill_when_read(models: Path, group: int) -> None:
    """Kill a group of processes once the records of a model were written and read."""
    while not list(models.glob("*.counts")):
        time.sleep(0.01)
    while list(models.glob("*.counts")):
        time.sleep(0.01)
    os.killpg(group, signal.SIGKILL)
