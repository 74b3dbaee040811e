"""docs/studio-guide.md, word for word: from nothing to a report, with people who answer."""

from __future__ import annotations

import re
import shlex
from collections import Counter
from contextlib import closing
from pathlib import Path

import numpy as np
import pytest
from playwright.sync_api import Browser, Page

from tacit import Design, disguise, reconstruct
from tacit.cli.simulate import send
from tacit.collect.store import Store
from tacit.reconstruction import Reconstruction
from tacit.records import PatternTable, count_codes
from tacit.survey import Published
from tests.support.browser import device
from tests.support.chance import FALSE_ALARM, looks_like
from tests.support.doc_blocks import blocks
from tests.support.guide_pictures import FOLDER, LARGEST, PEOPLE, take
from tests.support.guide_steps import steps
from tests.support.guide_walk import (
    GUIDE,
    TEXTS,
    GuideWalk,
    Person,
    answer,
    people,
    true_codes,
    true_shares,
)
from tests.support.one_process import both, command

pytestmark = pytest.mark.slow

#: The first results need 132 people, of whom some answer in a browser and the others over HTTP;
#: with --complete, as many answer as the guide says, all in a browser.
SOME, IN_BROWSER = 140, 30
#: What the newcomer answers in the guide, and theta = 5/6 for two answers.
NEWCOMER = {"site": "warehouse", "painkillers": "yes", "pressure": "yes", "reason": "back pain"}
DISGUISE = np.array([[5, 1], [1, 5]]) / 6


class Follower:
    """Finds the new record after each person and whether its disguised answers are true."""

    def __init__(self, store: Store, survey: Published) -> None:
        self._store, self._survey = store, survey
        self._before = self._records()
        self.throws: list[bool] = []

    def _records(self) -> Counter[bytes]:
        return Counter(row.tobytes() for row in self._store.codes(self._survey.survey.fingerprint))

    def __call__(self, person: Person) -> None:
        now = self._records()
        ((new, _),) = (now - self._before).items()
        self._before = now
        true = true_codes([person], self._survey.design.schema)[0]
        same = np.frombuffer(new, true.dtype) == true
        names = self._survey.design.schema.names
        assert same[names.index("site")]  # is not disguised
        self.throws += [bool(one) for name, one in zip(names, same, strict=True) if name != "site"]


@pytest.mark.parametrize(
    ("n", "in_browser", "url"),
    [
        (SOME, IN_BROWSER, "sqlite"),
        pytest.param(PEOPLE, PEOPLE - 1, "sqlite", marks=pytest.mark.complete),
        pytest.param(PEOPLE, PEOPLE - 1, "postgresql", marks=pytest.mark.complete),
    ],
    indirect=["url"],
)
def test_a_newcomer_who_follows_the_guide_gets_what_it_shows(
    n: int, in_browser: int, url: str, tmp_path: Path, browser: Browser
) -> None:
    rng = np.random.default_rng(n)
    shown: dict[str, str] = {}
    throws: list[bool] = []
    with both(url, tmp_path / "studio", TACIT_RATE="off") as running:

        def wait(address: str) -> None:
            everybody = people(n - 1, rng)
            with closing(Store(url)) as store:
                (survey,) = store.published()
                follow = Follower(store, survey)
                answer(device(browser).new_page(), address, everybody[:in_browser], rng, follow)
                throws.extend(follow.throws)
            if others := everybody[in_browser:]:
                true = true_codes(others, survey.design.schema)
                send(running.collecting, survey, disguise(true, survey.design, rng))

        def shoot(page: Page, name: str) -> None:
            shown[name] = page.content()
            take(page, name, tmp_path)

        walk = GuideWalk(browser, running, shoot, wait)
        walk.follow()
        assert walk.files[0].read_bytes().startswith(b"%PDF-")
        report = walk.files[1].read_text(encoding="utf-8")
        design = Design.from_json(walk.files[2].read_text(encoding="utf-8"))
    with closing(Store(url)) as store:
        (survey,) = store.published()
        counts = count_codes(store.codes(survey.survey.fingerprint), survey.design.reported)
        assert not store.state(survey.survey.fingerprint).open
    assert counts.n_records == n  # the newcomer and the others
    assert design == survey.design
    found = reconstruct(counts, survey.design)
    _figures_are_those_of_the_library(shown["studio-results"], found)
    _groups_are_those_of_the_library(shown["studio-comparison"], found)
    assert all(text in report for text in TEXTS.values())
    _analyses_are_in_the_report(report, shown["studio-regression"], found)
    shown_tables = (found.table(["painkillers"]), found.table(["painkillers"], given=["site"]))
    assert walk.printed == "".join(f"{table}\n" for table in shown_tables)
    _estimates_are_near_the_truth(counts, found)
    _browsers_throw_as_promised(throws)


def test_the_command_of_the_guide_is_the_one_that_is_tested() -> None:
    (lines,) = [content for language, content in blocks("docs/studio-guide.md") if language == "sh"]
    assert shlex.split(lines.splitlines()[-1]) == ["tacit", *command("survey.db", "studio")]


def test_every_picture_of_the_guide_is_there_and_small() -> None:
    names = [f"{step.label}.png" for step in steps(GUIDE) if step.way == "picture"]
    assert sorted(names) == sorted(file.name for file in FOLDER.glob("studio-*.png"))
    assert sum((FOLDER / name).stat().st_size for name in names) < LARGEST


def _figures_are_those_of_the_library(text: str, found: Reconstruction) -> None:
    """Each row of a chart: answer, estimate, interval."""
    row = (
        r'scope="row" class="answer"[^>]*>([^<]+)</th>.*?class="num share">(\S+)\s%</td>'
        r'<td[^>]*class="num interval">(\S+) to (\S+)</td>'
    )
    rows = re.findall(row, text, flags=re.DOTALL)
    expected = []
    for name in TEXTS:
        asked = [found.asked(name)] if name in found.design.asked_if else []
        for estimate in (found.table([name]), *asked):
            columns = zip(estimate.cells(), estimate.value, *estimate.interval(), strict=True)
            for (label,), *numbers in columns:
                expected.append((str(label), *(f"{100 * float(one):.1f}" for one in numbers)))
    assert rows == expected


def _groups_are_those_of_the_library(text: str, found: Reconstruction) -> None:
    table = found.table(["painkillers"], given=["site"])
    shares = [f"{100 * float(one):.1f}" for one in table.columns()["estimate"]]
    assert re.findall(r'<td>(?:No|Yes|no|yes)</td><td class="num strong">(\S+)\s%<', text) == shares


def _analyses_are_in_the_report(report: str, regression: str, found: Reconstruction) -> None:
    """The merged comparison, computed from the library's table, and the page's odds ratios."""
    _, text = report.split("<h2>Comparisons and regressions</h2>")
    table = found.table(["reason"], given=["site"]).value
    for back_pain, headache, other, not_asked in table:
        merged = [] if "not shown" in text else [headache + other]  # too few people
        for share in (back_pain, not_asked, *merged):
            assert f"{100 * share:.1f}\u202f%" in text
    assert "headache or something else" in text
    ratios = re.findall(r'class="num share">([\d.]+)</td>', regression)
    assert ratios
    assert all(f'<td class="num">{ratio}</td>' in text for ratio in ratios)


def _estimates_are_near_the_truth(counts: PatternTable, found: Reconstruction) -> None:
    """The shares of the population are in intervals that miss them once in a million."""
    n = counts.n_records
    expected = {
        name: np.array([(n - 1) * share + (label == NEWCOMER[name]) for label, share in own]) / n
        for name, own in ((name, shares.items()) for name, shares in true_shares().items())
    }
    level = 1 - FALSE_ALARM / sum(map(len, expected.values()))
    for name, shares in expected.items():
        low, high = found.table([name]).interval(level)
        assert np.all((low <= shares) & (shares <= high)), name
    reports = counts.marginal(["painkillers"])
    assert looks_like(reports, n, DISGUISE @ expected["painkillers"])
    assert not looks_like(reports, n, DISGUISE @ [1, 0])  # nobody takes painkillers


def _browsers_throw_as_promised(throws: list[bool]) -> None:
    """A report is true with probability theta, and neither always nor half the time."""
    counts, n = np.array([throws.count(False), throws.count(True)]), len(throws)
    promised = np.array([1, 5]) / 6
    assert looks_like(counts, n, promised)
    assert not looks_like(np.array([0, n]), n, promised)
    assert not looks_like(counts, n, np.array([1, 1]) / 2)
