"""Merged groups: the library's numbers, and no cell that tells of a small group."""

from __future__ import annotations

import re
from html import unescape
from pathlib import Path

import numpy as np
import pytest

from tacit import Design, Schema, reconstruct
from tacit.errors import DataError
from tacit.records import PatternTable, count_codes
from tacit.studio.disclosure import hidden_blocks, hidden_table
from tacit.studio.group_tables import GroupTable, group_table
from tacit.studio.merge_offers import merge_offer
from tacit.studio.recoding import Recoding, recoding_of_form, recodings_of_form
from tacit.studio.release import Release
from tacit.survey import Published, survey_from_dict
from tests.support.studio import send, tried
from tests.support.studio_tour import simulated, study

SURVEY = Published(
    survey_from_dict(
        {
            "title": "Work",
            "questions": [
                {
                    "name": "site",
                    "kind": "choice",
                    "sensitive": False,
                    "text": "Where?",
                    "categories": ["office", "road", "home", "abroad"],
                },
                {"name": "stole", "kind": "yes_no", "text": "Did you steal?"},
            ],
            "groups": [{"questions": ["stole"], "family": "related", "theta": "9/10"}],
        },
        "survey",
    )
)
SCHEMA = SURVEY.design.schema
#: Reported records by site; few people are abroad.
PEOPLE = {"office": (200, 100), "road": (60, 40), "home": (150, 90), "abroad": (6, 4)}
ELSEWHERE = {"site.1": "1", "site.3": "1", "site.merged1": "elsewhere"}


def counted() -> PatternTable:
    rows = [
        (site, answer)
        for site, numbers in enumerate(PEOPLE.values())
        for answer, n in enumerate(numbers)
        for _ in range(n)
    ]
    return count_codes(np.array(rows, np.uint8), SURVEY.design.reported)


RELEASE = Release(SURVEY, counted())


def merged(fields: dict[str, str], reference: str | None = None) -> GroupTable:
    recodings = recodings_of_form(SCHEMA, ["stole", "site"], fields)
    return group_table(RELEASE, "stole", ["site"], recodings, reference)


def test_without_merging_a_small_group_is_hidden_with_another() -> None:
    hidden = {
        cell.group[0] for cell in group_table(RELEASE, "stole", ["site"]).cells if cell.hidden
    }
    assert hidden == {"road", "abroad"}


def test_a_merged_group_with_all_hidden_cells_has_the_numbers_of_the_library() -> None:
    table = merged(ELSEWHERE)
    assert table.hidden == 0
    whole = reconstruct(RELEASE.counts, SURVEY.design)
    share = whole.probability({"stole": "yes"}, given={"site": ["road", "abroad"]})
    (cell,) = (c for c in table.cells if c.group == ("elsewhere",) and c.answer == "yes")
    np.testing.assert_allclose(
        [cell.share, cell.low, cell.high], [float(share.value), *map(float, share.interval())]
    )
    difference = whole.difference(
        {"stole": "yes"}, between=({"site": ["road", "abroad"]}, {"site": "office"})
    )
    (pair,) = (c for c in table.comparisons if c.first == ("elsewhere",))
    np.testing.assert_allclose(pair.difference, float(difference.value))


def test_the_test_of_merged_groups_is_that_of_recoded_records() -> None:
    site = np.array([0, 1, 2, 1], np.uint8)[RELEASE.counts.patterns[:, 0]]
    frame = {"stole": RELEASE.counts.patterns[:, 1], "groups": site}
    rows = {name: np.repeat(column, RELEASE.counts.counts) for name, column in frame.items()}
    pd = pytest.importorskip("pandas")
    records = pd.DataFrame(
        {"stole": np.array(["no", "yes"])[rows["stole"]], "groups": rows["groups"]}
    )
    design = Design(Schema([SCHEMA["stole"]]), [SURVEY.design.group_of("stole")])
    expected = reconstruct(records, design, columns=["groups"]).independence(["stole", "groups"])
    test = merged(ELSEWHERE).test
    assert test is not None
    np.testing.assert_allclose((test.statistic, test.df), (expected.statistic, expected.df))


@pytest.mark.parametrize(
    "fields",
    [
        {"site.0": "1", "site.3": "1"},  # with the office, which is shown alone
        {"site.2": "1", "site.3": "1"},
        {"site.0": "1", "site.1": "1"},
    ],
)
def test_a_merged_group_with_a_part_of_the_hidden_cells_stays_hidden(
    fields: dict[str, str],
) -> None:
    table = merged(fields)
    label = next(n for n in recoding_of_form(SCHEMA["site"], fields, WORDS).labels if " or " in n)
    assert all(cell.hidden for cell in table.cells if cell.group == (label,))
    assert table.test is None


WORDS = {name: name for name in PEOPLE}


def test_a_group_that_is_left_out_uncovers_no_other() -> None:
    table = merged({"site.3": "out"})
    assert {cell.group[0] for cell in table.cells if cell.hidden} == {"road"}
    assert not any(cell.group == ("abroad",) for cell in table.cells)


def test_a_merged_group_of_few_people_stays_hidden() -> None:
    """Two groups of 10 people are 20, two of 6 are 12."""
    few = {"office": (200, 100), "road": (4, 2), "home": (150, 90), "abroad": (4, 2)}
    rows = [
        (site, answer)
        for site, numbers in enumerate(few.values())
        for answer, n in enumerate(numbers)
        for _ in range(n)
    ]
    release = Release(SURVEY, count_codes(np.array(rows, np.uint8), SURVEY.design.reported))
    parts = [[[0], [2], [1, 3]], [[0], [1]]]
    assert hidden_table(release, ["site", "stole"])[[1, 3]].all()
    assert hidden_blocks(release, ["site", "stole"], parts)[2].all()


def test_groups_are_compared_with_the_reference_that_is_chosen() -> None:
    assert {pair.second for pair in merged(ELSEWHERE, "home").comparisons} == {("home",)}
    with pytest.raises(DataError, match="reference group"):
        merged(ELSEWHERE, "abroad")


def test_merged_answers_that_are_disguised_have_no_test() -> None:
    survey = Published(
        survey_from_dict(
            {
                "title": "Late",
                "questions": [
                    {
                        "name": "late",
                        "kind": "choice",
                        "text": "?",
                        "categories": ["never", "often", "daily"],
                    },
                    {
                        "name": "site",
                        "kind": "choice",
                        "sensitive": False,
                        "text": "?",
                        "categories": ["a", "b"],
                    },
                ],
                "groups": [{"questions": ["late"], "family": "uniform_perturbation", "q": "3/4"}],
            },
            "survey",
        )
    )
    rng = np.random.default_rng(1)
    codes = np.column_stack([rng.integers(3, size=900), rng.integers(2, size=900)]).astype(np.uint8)
    release = Release(survey, count_codes(codes, survey.design.reported))
    recodings = recodings_of_form(survey.design.schema, ["late"], {"late.1": "1", "late.2": "1"})
    table = group_table(release, "late", ["site"], recodings)
    assert table.test is None
    assert [cell.answer for cell in table.cells[:2]] == ["never", "often or daily"]
    shares = [cell.share or 0.0 for cell in table.cells[:2]]
    np.testing.assert_allclose(sum(shares), 1)


@pytest.mark.parametrize(
    ("fields", "message"),
    [
        ({"site.0": "out", "site.1": "out", "site.2": "out"}, "at least two groups"),
        ({"site.0": "1", "site.1": "1", "site.merged1": "home"}, "the same name"),
        ({"site.0": "1", "site.1": "1", "site.merged1": "a\0"}, "control character"),
        ({"site.0": "1", "site.1": "1", "site.merged1": "a\u202e"}, "control character"),
    ],
)
def test_a_recoding_has_two_groups_with_names_of_their_own(
    fields: dict[str, str], message: str
) -> None:
    with pytest.raises(DataError, match=message):
        recoding_of_form(SCHEMA["site"], fields, WORDS)


def test_groups_with_the_same_text_are_told_apart_by_their_categories() -> None:
    words = {**WORDS, "home": "elsewhere", "abroad": "elsewhere"}
    recoding = recoding_of_form(SCHEMA["site"], {}, words)
    assert recoding.labels == ("office", "road", "elsewhere (home)", "elsewhere (abroad)")
    fields = {"site.2": "1", "site.3": "1", "site.merged1": " not\nhere "}
    assert recoding_of_form(SCHEMA["site"], fields, words).labels == ("office", "road", "not here")


def test_a_merged_group_is_where_the_first_of_its_answers_was() -> None:
    fields = {"site.1": "1", "site.2": "2", "site.3": "1", "site.0": "2", "site.merged2": "in"}
    recoding = recoding_of_form(SCHEMA["site"], fields, WORDS)
    assert recoding == Recoding(
        "site", (("in", ("office", "home")), ("road or abroad", ("road", "abroad")))
    )


def test_the_groups_that_are_offered_are_those_that_are_hidden_and_are_shown_when_merged() -> None:
    before = merged({})
    offer = merge_offer(RELEASE, ["site", "stole"], {})
    assert offer is not None
    assert {*offer.labels} == {cell.group[0] for cell in before.cells if cell.hidden}
    fields = offer.fields({})
    assert fields is not None
    assert merged(fields).hidden == 0 < before.hidden
    assert (
        merge_offer(RELEASE, ["site", "stole"], recodings_of_form(SCHEMA, ["site"], fields)) is None
    )


def test_an_offer_leaves_other_merged_groups_of_the_form_alone() -> None:
    offer = merge_offer(RELEASE, ["site", "stole"], {})
    assert offer is not None
    codes = {offer.attribute.code(category) for category in offer.categories}
    first, second = (code for code in range(4) if code not in codes)
    assert offer.fields({f"site.{first}": "1"}) == {f"site.{code}": "2" for code in codes}
    assert offer.fields({f"site.{first}": "1", f"site.{second}": "2"}) is None


@pytest.mark.slow
@pytest.mark.parametrize(
    ("page", "shown"),
    [
        ("compare?row=painkillers&column=site", "on the road or another place"),
        ("regression?outcome=painkillers&with=site", "Odds ratios for painkillers: yes"),
    ],
)
def test_one_click_merges_the_groups_that_are_too_small(
    page: str, shown: str, tmp_path: Path
) -> None:
    studio, finished = tried(tmp_path), study("Health", optional="false")
    studio.store.register(finished)
    send(studio.store, finished, simulated(finished, 598, np.random.default_rng(11)))
    studio.store.close_survey(finished.survey.fingerprint)
    client = studio.client(studio.account("root", administrator=True))
    before = client.get(f"/surveys/{finished.slug}/{page}").text
    assert "Some groups are too small to show" in before
    assert shown not in before
    (link,) = re.findall(r'href="([^"]+)" aria-label="Merge them', before)
    after = client.get(unescape(link))
    assert after.status_code == 200
    assert shown in after.text
    assert "Some groups are too small to show" not in after.text
    studio.store.close()
