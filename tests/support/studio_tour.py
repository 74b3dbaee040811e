"""Every page of the studio, one after the other, with surveys in all states.

python -m tests.support.studio_tour FOLDER     writes a picture of each page into FOLDER:
                                               light and dark, 360, 768 and 1280 px wide
"""

from __future__ import annotations

import secrets
import sys
import tempfile
from collections.abc import Iterator
from contextlib import closing
from datetime import date, timedelta
from pathlib import Path

import numpy as np
from playwright.sync_api import Browser, Page

from tacit import disguise
from tacit.collect.store import Response, Store, packed
from tacit.core.arrays import Codes
from tacit.survey import Published, example
from tacit.survey.reader import survey_from_text
from tests.support.browser import chromium
from tests.support.studio import PASSWORD
from tests.support.studio_process import running

WIDTHS = (360, 768, 1280)
#: Milliseconds after which a model is learnt, on a busy machine.
LEARNT = 60_000
_STUDY = """
title: {title}
introduction: Seven short questions about health at work. Taking part is voluntary.
{terms}
sections:
  - {{first: site, title: About your work}}
  - {{first: painkillers, title: Health}}
questions:
  - {{name: site, kind: choice, text: Where do you work?, sensitive: false,
     categories: [office, warehouse, on the road, another place]}}
  - {{name: age, kind: ordered, text: How old are you?, sensitive: false, optional: {optional},
     categories: [under 30, 30 to 44, 45 or over]}}
  - {{name: pressure, kind: yes_no, text: Are you under time pressure on most days?,
     sensitive: false}}
  - {{name: painkillers, kind: yes_no,
     text: Did you take painkillers to get through work last month?}}
  - {{name: reason, kind: choice, text: What was the main reason?, asked_if: {{painkillers: yes}},
     categories: [back pain, headache, something else]}}
  - {{name: alcohol, kind: ordered, text: How often do you drink alcohol to unwind after work?,
     categories: [never, some days, most days]}}
  - {{name: harassed, kind: yes_no, text: Have you been harassed at work in the last 12 months?}}
groups:
  - {{questions: [painkillers, harassed], family: related, theta: 5/6, throw: each}}
  - {{questions: [reason], family: uniform_perturbation, q: 0.7, throw: each}}
  - {{questions: [alcohol], family: uniform_perturbation, q: 0.7, throw: each}}
"""


def study(title: str, terms: str = "", optional: str = "true") -> Published:
    """A survey with sections, a small group, an optional and a conditional question."""
    text = _STUDY.format(title=title, terms=terms, optional=optional)
    return Published(survey_from_text(text, "survey.yaml"))


def simulated(survey: Published, n: int, rng: np.random.Generator) -> Codes:
    """Disguised answers of n people, of whom few work at another place."""
    site = rng.choice(4, n, p=[0.44, 0.36, 0.175, 0.025])
    pain = rng.random(n) < np.array([0.29, 0.54, 0.45, 0.4])[site]
    reason = np.where(pain, rng.choice(3, n, p=[0.5, 0.35, 0.15]), 3)
    columns = [site, rng.choice(3, n, p=[0.3, 0.4, 0.3]), rng.random(n) < 0.54, pain, reason]
    columns += [rng.choice(3, n, p=[0.6, 0.3, 0.1]), rng.random(n) < 0.15]
    true = np.stack(columns, axis=1).astype(np.uint8)
    return disguise(true, survey.design, rng)


def answered(store: Store, survey: Published, n: int, days: int, seed: int) -> None:
    """Answers of n people on some days, with links if the survey needs them."""
    codes = simulated(survey, n, np.random.default_rng(seed))
    fingerprint, reported = survey.survey.fingerprint, survey.design.reported
    invited = survey.survey.access == "invited"
    links = store.invite(fingerprint, n + 60)[:n] if invited else [None] * n
    people = list(zip(codes.tolist(), links, strict=True))
    for day in range(days):
        rows = [
            Response(fingerprint, secrets.token_bytes(16), packed(row, reported), link)
            for row, link in people[day::days]
        ]
        store.write(rows, date.today() - timedelta(days - day))


def tour(browser: Browser, folder: Path) -> Iterator[tuple[str, Page]]:
    """The name of each page and the page, open in a tab; a new tab has nothing of the last one."""
    database = str(folder / "survey.db")
    context = browser.new_context(bypass_csp=True, reduced_motion="reduce")  # for axe
    context.set_default_timeout(LEARNT)
    page = context.new_page()
    with closing(Store(database)) as store, running(database, folder / "studio") as started:
        address, link = started
        page.goto(link or "")
        yield "set-up", page
        page.get_by_label("Name").fill("Ada Brandt")
        page.get_by_label("Password, at least").fill(PASSWORD)
        page.get_by_label("again").fill(PASSWORD)
        page.get_by_role("button", name="Make the account").click()
        yield "surveys-empty", page
        page.goto(link or "")
        yield "set-up-used", page
        yield from _drafts(page, address)
        running_study = study("Work and health 2027", "access: invited")
        finished = study("Work and health 2025", optional="false")
        asked, silent = study("Work and health, 2026 wave"), study("Exit interviews, spring")
        for survey in (running_study, finished, asked, silent):
            store.register(survey)
        answered(store, running_study, 200, 5, seed=1)
        page.goto(f"{address}surveys/{running_study.slug}")
        answered(store, running_study, 400, 12, seed=2)
        answered(store, finished, 598, 14, seed=11)
        answered(store, asked, 700, 70, seed=12)
        for survey in (finished, asked):
            store.close_survey(survey.survey.fingerprint)
        page.goto(address)
        yield "surveys", page
        page.goto(f"{address}?q=nothing")
        yield "surveys-none-found", page
        for name, survey in (("open", running_study), ("silent", silent), ("closed", finished)):
            yield from _tabs(page, f"{address}surveys/{survey.slug}", name)
        yield from _analysis(page, f"{address}surveys/{finished.slug}")
        yield from _models(page, f"{address}surveys/{finished.slug}/models")
        page.goto(f"{address}surveys/{asked.slug}/compare?row=alcohol&column=age")
        yield "compare-optional", page
        yield from _people(page, address, running_study)
        page.goto(f"{address}surveys/{finished.slug}/export")
        with page.expect_download() as wanted:
            page.get_by_role("link", name="Report (HTML)").click()
        wanted.value.save_as(folder / "report.html")
        page.goto((folder / "report.html").as_uri())
        yield "report", page
        page.goto(f"{address}plan")
        yield "plan", page
        page.get_by_label("Family or survey").select_option("related")
        page.get_by_label("Number of respondents").fill("2000")
        page.get_by_label("Half the width").fill("0.05")
        page.get_by_role("button", name="Plan", exact=True).click()
        yield "plan-made", page
        for path in ("accounts", "audit", "nowhere", f"surveys/{finished.slug}/compare?row=site"):
            page.goto(f"{address}{path}")
            yield path.split("?")[0].replace("/", "-").replace(finished.slug, "refused"), page
        page.get_by_role("button", name="Ada Brandt").click()
        yield "menu", page
        page.get_by_role("button", name="Sign out").click()
        yield "sign-in", page
        page.get_by_label("Name").fill("Ada Brandt")
        page.get_by_label("Password").fill("wrong")
        page.get_by_role("button", name="Sign in", exact=True).click()
        yield "sign-in-failed", page
    context.close()


def _drafts(page: Page, address: str) -> Iterator[tuple[str, Page]]:
    page.goto(f"{address}new")
    yield "new", page
    page.get_by_label("Title").fill("Gifts and conflicts of interest")
    page.get_by_role("button", name="Start with this title").click()
    yield "draft-empty", page
    page.get_by_role("link", name="Review and publish", exact=True).click()
    yield "draft-not-ready", page
    page.goto(f"{address}new")
    page.get_by_label("Survey file").fill(example())
    page.get_by_role("button", name="Make a draft of it").click()
    yield "draft", page
    draft = page.url
    page.get_by_role("button", name="Delete the draft…").click()
    yield "draft-delete", page
    for path in ("questions/1", "questions/2", "groups/1", "settings", "text", "publish"):
        page.goto(f"{draft}/{path}")
        yield f"draft-{path.replace('/', '-')}", page
    page.goto(f"{draft}/questions/1")
    page.get_by_label("Name").fill("not a name!")
    page.get_by_role("button", name="Save").click()
    yield "draft-problems", page
    page.go_back()
    page.goto(f"{draft}/text")
    page.get_by_label("Survey file").fill("title: X\nquestions: none\n")
    page.get_by_role("button", name="Check").click()
    yield "draft-text-problems", page


def _tabs(page: Page, base: str, state: str) -> Iterator[tuple[str, Page]]:
    for tab in ("", "questions", "results", "compare", "regression", "models", "people", "export"):
        page.goto(f"{base}/{tab}".rstrip("/"))
        yield f"{state}-{tab or 'overview'}", page
    page.goto(f"{base}/settings")
    yield f"{state}-settings", page


def _analysis(page: Page, base: str) -> Iterator[tuple[str, Page]]:
    page.goto(f"{base}/results")
    page.get_by_text("Table", exact=True).click()
    yield "results-table", page
    page.get_by_role("button", name="How to read this").click()
    yield "results-help", page
    page.goto(f"{base}/compare?row=painkillers&column=site")
    yield "compare-hidden", page
    page.goto(
        f"{base}/compare?row=painkillers&column=site&site.2=1&site.3=1&site.merged1=elsewhere"
    )
    yield "compare-merged", page
    page.get_by_role("button", name="Add to the report").click()
    page.goto(f"{base}/compare?row=alcohol&column=pressure&layer=age")
    yield "compare-layers", page
    page.goto(f"{base}/regression?outcome=harassed&with=site&with=pressure")
    yield "regression-refused", page
    page.goto(
        f"{base}/regression?outcome=painkillers&with=site&with=pressure&with=harassed"
        "&site.2=1&site.3=1&site.merged1=elsewhere"
    )
    yield "regression-fit", page
    address = page.url
    page.get_by_role("button", name="Add to the report").click()
    yield "export-with-analyses", page
    page.goto(f"{base}/regression?outcome=alcohol&with=pressure&kind=unordered")
    yield "regression-several", page
    page.goto(address)
    for fold in page.locator("main summary:visible").all():
        fold.click()
    yield "regression-unfolded", page


def _models(page: Page, base: str) -> Iterator[tuple[str, Page]]:
    for kind in ("tree", "naive_bayes", "rules", "clusters"):
        page.goto(base)
        page.get_by_label("Kind of model").select_option(kind)
        page.get_by_label("Question to predict").select_option("painkillers")
        page.get_by_role("button", name="Learn").click()
        page.get_by_role("heading", name="What publishing this model costs").wait_for()
        yield f"model-{kind}", page
    page.goto(base)
    yield "models", page


def _people(page: Page, address: str, survey: Published) -> Iterator[tuple[str, Page]]:
    """Links, colleagues and tokens."""
    page.goto(f"{address}surveys/{survey.slug}/people")
    page.get_by_role("button", name="Invite a colleague").click()
    yield "people-invite", page
    page.get_by_role("button", name="Make an invitation").click()
    yield "people-invited", page
    invited = page.locator("code", has_text="/set-up/").inner_text()
    page.goto(f"{address}account")
    yield "account", page
    page.get_by_label("What the token is for").fill("the notebook of the study")
    page.get_by_role("button", name="Make a token").click()
    yield "account-token", page
    other = page.context.browser.new_context()
    colleague = other.new_page()
    colleague.goto(invited)
    colleague.get_by_label("Name").fill("Jonas Reuter")
    colleague.get_by_label("Password, at least").fill(PASSWORD)
    colleague.get_by_label("again").fill(PASSWORD)
    colleague.get_by_role("button", name="Make the account").click()
    other.close()
    page.goto(f"{address}surveys/{survey.slug}/people")
    yield "people", page


def main() -> None:
    """Write the pictures."""
    pictures = Path(sys.argv[1])
    pictures.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory() as folder, chromium() as browser:
        for name, page in tour(browser, Path(folder)):
            size = page.viewport_size
            for scheme in ("light", "dark"):
                page.emulate_media(color_scheme=scheme)
                for width in WIDTHS:
                    page.set_viewport_size({"width": width, "height": 800})
                    page.screenshot(full_page=True, path=pictures / f"{name}-{width}-{scheme}.png")
            page.emulate_media(color_scheme="light")
            page.set_viewport_size(size or {"width": 1280, "height": 800})


if __name__ == "__main__":
    main()
