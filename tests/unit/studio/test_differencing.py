"""Nothing that a viewer gets over all releases tells a figure of fewer than 20 people."""

from __future__ import annotations

import secrets
from datetime import date
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from tacit import disguise
from tacit.collect.store import Response, packed
from tacit.core.arrays import Codes
from tacit.records import count_codes
from tacit.studio import disclosure
from tacit.studio.accounts import Role
from tacit.studio.group_tables import group_table
from tacit.studio.release import Release
from tacit.survey import Published, survey_from_dict
from tests.support.differencing import KnownFigures, Viewer
from tests.support.studio import Tried, tried

_PLAIN: dict[str, Any] = {"kind": "choice", "sensitive": False, "text": "?"}
#: A rare job, an optional question, one that not everybody is asked, and a disguised one.
SURVEY = Published(
    survey_from_dict(
        {
            "title": "Company",
            "questions": [
                {**_PLAIN, "name": "job", "categories": ["worker", "clerk", "boss"]},
                {**_PLAIN, "name": "pay", "categories": ["low", "high"], "optional": True},
                {**_PLAIN, "name": "smokes", "categories": ["not", "does"]},
                {
                    **_PLAIN,
                    "name": "brand",
                    "categories": ["red", "blue"],
                    "asked_if": {"smokes": "does"},
                },
                {"name": "stole", "kind": "yes_no", "text": "Did you steal?"},
            ],
            "groups": [{"questions": ["stole"], "family": "related", "theta": "4/5"}],
        },
        "survey",
    )
)
DESIGN = SURVEY.design


def people(n: int, seed: int, bosses: int, smokers: int | None = None, declined: int = 0) -> Codes:
    """Reported records of n people; the last code of `pay` is a missing answer."""
    rng = np.random.default_rng(seed)

    def some(number: int) -> Codes:
        return rng.permutation(n) < number

    job = np.where(some(bosses), 2, rng.integers(2, size=n))
    smokes = some(n // 2 if smokers is None else smokers).astype(int)
    brand = np.where(smokes == 1, rng.integers(2, size=n), 2)
    true = np.column_stack([job, rng.integers(2, size=n), smokes, brand, some(n // 3)])
    reported = disguise(true.astype(np.uint8), DESIGN, rng)
    reported[some(declined), 1] = 2
    return reported


def arriving(step: int) -> Codes:
    """First many people of every kind; later few bosses and smokers, one of whom declines."""
    if step == 0:
        return people(180, step, bosses=40, declined=1)
    return people(27, step, bosses=step % 2, smokers=2, declined=1)


def send(studio: Tried, codes: Codes) -> None:
    fingerprint = SURVEY.survey.fingerprint
    rows = [
        Response(fingerprint, secrets.token_bytes(16), packed(list(map(int, row)), SURVEY.stored))
        for row in codes
    ]
    studio.store.write(rows, date(2027, 1, 1))


def running(folder: Path) -> Tried:
    studio = tried(folder, records=0)
    studio.store.register(SURVEY)
    studio.mine = SURVEY
    return studio


def learn(studio: Tried, browser: Any, records: str) -> None:
    """An analyst learns models of all kinds."""
    for form in (
        {"kind": "tree", "target": "smokes"},
        {"kind": "tree", "target": "job", "max_depth": "1"},
        {"kind": "naive_bayes", "target": "job"},
        {"kind": "naive_bayes", "target": "stole"},
        {"kind": "rules", "min_support": "1", "min_confidence": "1"},
    ):
        answer = browser.post(f"/surveys/{SURVEY.slug}/models", data={**form, "records": records})
        assert answer.status_code == 303, answer.text


#: Analyses of the report, which has their numbers as the API has them.
REPORTED = (
    ("comparison", "row=stole&column=job"),
    ("comparison", "row=smokes&column=job&job.0=1&job.2=1"),
    ("comparison", "row=pay&column=job&job.1=out"),
    ("regression", "outcome=stole&with=smokes"),
    ("regression", "outcome=job&with=smokes"),
)


def report(browser: Any) -> None:
    """An analyst puts into the report what may be shown."""
    for kind, query in REPORTED:
        sent = {"kind": kind, "query": query}
        answer = browser.post(f"/surveys/{SURVEY.slug}/report", data=sent)
        assert answer.status_code in (303, 400), answer.text


def watched(folder: Path, frozen: int | None) -> KnownFigures:
    """All that a viewer reads while people answer, and after closing.

    The release with the number `frozen` becomes the snapshot. Models are learnt when possible.
    """
    studio = running(folder)
    figures = KnownFigures(SURVEY)
    viewer = Viewer(studio.client(studio.account("viewer", Role.VIEWER)), SURVEY, figures)
    owner = studio.client(studio.account("owner", Role.OWNER))
    releases = studio.studio.releases
    for step in range(8):
        send(studio, arriving(step))
        release = releases.newest(SURVEY)
        if release is not None:
            figures.sets[release.counts.n_records] = release.counts
        viewer.look()
        if len(figures.sets) == frozen and not releases.snapshot(SURVEY):
            answer = owner.post(f"/surveys/{SURVEY.slug}/snapshot", data={"confirm": "yes"})
            assert answer.status_code == 303, answer.text
            learn(studio, owner, "all")
            report(owner)
            viewer.look()
    assert len(figures.sets) > 2  # results do change
    studio.store.close_survey(SURVEY.survey.fingerprint)
    final = releases.newest(SURVEY)
    assert final is not None
    figures.sets[final.counts.n_records] = final.counts
    for records in ("all", "snapshot") if frozen else ("all",):
        learn(studio, owner, records)
    report(owner)
    viewer.look()
    assert "Comparisons and regressions" in viewer.report
    studio.store.close()
    return figures


@pytest.mark.slow
@pytest.mark.usefixtures("learning_here")
@pytest.mark.parametrize("frozen", [None, 1, 2])
def test_no_figure_of_few_people_follows_from_all_that_a_viewer_reads(
    tmp_path: Path, frozen: int | None
) -> None:
    """Every page and address of the API, after every few answers, solved as one linear system."""
    figures = watched(tmp_path, frozen)
    assert max(figures.sets) == 180 + 7 * 27  # the final results are complete
    assert {n for n, _ in figures.singles} == {*figures.sets}
    assert figures.cells
    assert figures.told() == []


def _nothing_grew(people: Any) -> Any:
    return np.zeros(people.shape, bool)


def _only_missing(release: Release, names: Any) -> Release:
    counts = release.counts.complete(disclosure._reports(release, names))
    return Release(release.survey, counts)


@pytest.mark.slow
@pytest.mark.usefixtures("learning_here")
@pytest.mark.parametrize(
    ("module", "rule", "instead", "frozen", "words"),
    [
        (disclosure, "few_grown", _nothing_grew, 1, "job 2, smokes"),
        (disclosure, "_answering", _only_missing, None, "job 2, pay 2"),
        (disclosure, "_why_hidden", lambda *_: None, None, "smokes 1, brand"),
        (disclosure, "_whole_lines", lambda *_: True, 1, "job 2"),
    ],
)
def test_the_attack_finds_people_if_a_rule_is_left_out(
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    module: Any,
    rule: str,
    instead: Any,
    frozen: int | None,
    words: str,
) -> None:
    """The control: growth since the snapshot, people who declined, conditional questions."""
    monkeypatch.setattr(module, rule, instead)
    assert any(told.startswith(words) for told in watched(tmp_path, frozen).told())


def shown_by_the_old_rule(figures: KnownFigures, codes: Codes) -> None:
    """All tables of all records, as every release had them."""
    counts = count_codes(codes, DESIGN.reported)
    release = Release(SURVEY, counts)
    figures.sets[counts.n_records] = counts
    for name in figures.names:
        figures.add_single(counts.n_records, name)
    for column in ("smokes", "stole"):
        for cell in group_table(release, column, ["job"]).cells:
            if not cell.hidden:
                figures.add_cell(counts.n_records, {"job": cell.group[0], column: cell.answer})


def test_the_attack_finds_a_newcomer_in_the_difference_of_two_releases() -> None:
    """The control: when the bosses grew from 24 to 25, two releases tell what the last one said."""
    first = people(400, 1, bosses=24)
    figures = KnownFigures(SURVEY)
    shown_by_the_old_rule(figures, first)
    assert figures.told() == []
    shown_by_the_old_rule(figures, np.vstack([first, people(50, 2, bosses=1)]))
    told = figures.told()
    assert any(words.startswith("job 2, smokes") and "after 400" in words for words in told)
    assert any(words.startswith("job 2, stole") and "after 400" in words for words in told)


def test_the_attack_finds_who_declined_if_a_table_leaves_out_only_her() -> None:
    """The control: results of one question less its table with another are those who declined."""
    figures = KnownFigures(SURVEY)
    codes = people(400, 3, bosses=50, declined=1)
    counts = count_codes(codes, DESIGN.reported)
    figures.sets[400] = counts
    for name in figures.names:
        figures.add_single(400, name)
    for job in ("worker", "clerk", "boss"):
        for pay in ("low", "high"):
            figures.add_cell(400, {"job": job, "pay": pay})
    assert any("pay 2" in words for words in figures.told())
