"""Tables of groups have the numbers of the library, and hide small groups in every arrangement."""

from __future__ import annotations

from itertools import permutations
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from tacit import disguise, reconstruct
from tacit.cli.simulate import made_up
from tacit.errors import DataError
from tacit.records import PatternTable, count_reported
from tacit.studio.accounts import Role
from tacit.studio.disclosure import hidden_blocks, hidden_table
from tacit.studio.group_tables import group_table
from tacit.studio.release import Release
from tacit.survey import Published, survey_from_dict
from tests.support.conditional_surveys import DISGUISED
from tests.support.studio import MARKUP, reports, survey, tried

NAMES = ("stole", "place", "shift")


def one_small_place(small: int = 30) -> Release:
    """A disguised question, and people at four places, one of them small, in two shifts."""
    choice = {"kind": "choice", "sensitive": False, "text": "?"}
    published = Published(
        survey_from_dict(
            {
                "title": "Places",
                "questions": [
                    {"name": "stole", "kind": "yes_no", "text": "?"},
                    {"name": "place", "categories": ["a", "b", "c", "d"], **choice},
                    {"name": "shift", "categories": ["day", "night"], **choice},
                ],
                "groups": [{"questions": ["stole"], "family": "related", "theta": "4/5"}],
            },
            "survey",
        )
    )
    rng = np.random.default_rng(4)
    place = np.repeat([0, 1, 2, 3], [1500, 900, 600 - small, small])
    columns = [rng.random(3000) < 0.3, place, rng.integers(2, size=3000)]
    true = np.stack(columns, axis=1).astype(np.uint8)
    return Release(
        published, count_reported(disguise(true, published.design, rng), published.design)
    )


def release(n: int = 20_000) -> Release:
    published = survey()
    return Release(published, count_reported(reports(published, n), published.design))


@pytest.fixture(scope="module")
def large() -> Release:
    return release()


@pytest.mark.parametrize("by", [["site"], ["often"], ["often", "site"], ["site", "often"]])
def test_shares_and_the_test_are_those_of_the_library(large: Release, by: list[str]) -> None:
    found = group_table(large, "stole", by)
    whole = reconstruct(large.counts, large.survey.design)
    table = whole.table(["stole"], given=by)
    assert not found.hidden
    np.testing.assert_array_equal([cell.share for cell in found.cells], np.ravel(table.value))
    low, high = table.interval()
    np.testing.assert_array_equal([cell.low for cell in found.cells], np.ravel(low))
    np.testing.assert_array_equal([cell.high for cell in found.cells], np.ravel(high))
    assert found.test == whole.independence(["stole", by[-1]], given=by[:-1] or None)


@pytest.mark.parametrize(("row", "by"), [("stole", ["often", "site"]), ("often", ["site"])])
def test_comparisons_are_those_of_the_library(large: Release, row: str, by: list[str]) -> None:
    whole = reconstruct(large.counts, large.survey.design)
    found = group_table(large, row, by).comparisons
    assert len(found) == 3
    for one in found:
        pair = tuple(dict(zip(by, group, strict=True)) for group in (one.first, one.second))
        expected = whole.difference({row: one.answer}, between=(pair[0], pair[1]))
        low, high = expected.interval()
        own = [one.difference, one.low, one.high]
        np.testing.assert_allclose(own, [expected.value, low, high], atol=1e-9)


def test_a_table_hides_the_same_cells_in_every_arrangement() -> None:
    few = one_small_place()
    hidden = hidden_table(few, NAMES)
    assert 0 < hidden.sum() < hidden.size
    for names in permutations(NAMES):
        own = hidden_table(few, names)
        axes = [names.index(name) for name in NAMES]
        np.testing.assert_array_equal(own.transpose(axes), hidden)
        cells = group_table(few, names[2], names[:2]).cells
        np.testing.assert_array_equal([cell.hidden for cell in cells], np.ravel(own))


def test_a_small_group_stays_hidden_if_all_answers_to_the_other_question_are_merged() -> None:
    """Merged with the place that is hidden beside it, it is shown."""
    few, answers = one_small_place(10), [[0, 1]]
    assert hidden_table(few, NAMES[:2])[:, 3].all()
    alone = hidden_blocks(few, NAMES[:2], [answers, [[0], [1], [2], [3]]])
    assert alone[0].tolist() == [False, False, True, True]
    merged = hidden_blocks(few, NAMES[:2], [answers, [[0], [1], [2, 3]]])
    assert not merged.any()


def test_a_table_with_hidden_cells_has_no_test_and_no_comparison_of_them() -> None:
    few = group_table(one_small_place(), "stole", ["shift", "place"])
    assert few.test is None
    assert few.comparisons
    gone = {(cell.group, cell.answer) for cell in few.cells if cell.hidden}
    for one in few.comparisons:
        assert (one.first, one.answer) not in gone
        assert (one.second, one.answer) not in gone


def test_the_numbers_of_a_small_group_cannot_be_computed_from_all_tables() -> None:
    """The attack: every table of the release, in every arrangement, and the sums of its cells."""
    few = one_small_place()
    schema = few.survey.design.schema
    sizes = [schema[name].size for name in NAMES]
    shown, seen = np.zeros(sizes, bool), []
    for names in permutations(NAMES):
        cells = group_table(few, names[2], names[:2]).cells
        own = np.array([not cell.hidden for cell in cells]).reshape([schema[n].size for n in names])
        shown |= own.transpose([names.index(name) for name in NAMES])
    places = np.arange(shown.size).reshape(sizes)
    seen += [np.eye(shown.size)[place] for place in places[shown]]
    for axis in range(3):  # what the tables of two questions tell; they hide some of it
        lines = np.moveaxis(places, axis, -1).reshape(-1, sizes[axis])
        seen += [np.isin(np.arange(shown.size), line).astype(float) for line in lines]
    rank = np.linalg.matrix_rank(np.array(seen))
    for place in places[:, 3].ravel():
        more = np.vstack([*seen, np.eye(shown.size)[place]])
        assert np.linalg.matrix_rank(more) > rank
    known = np.vstack([*seen, np.eye(shown.size)[places[0, 0, 0]]])
    assert np.linalg.matrix_rank(known) == rank  # the control: a large group is shown


@pytest.mark.parametrize(
    ("row", "by"), [("stole", ["stole"]), ("stole", ["x"]), ("stole", ["site", "site"])]
)
def test_questions_must_be_different_and_known(large: Release, row: str, by: list[str]) -> None:
    with pytest.raises(DataError, match="two different questions"):
        group_table(large, row, by)


def test_a_table_with_too_many_cells_is_refused(
    large: Release, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("tacit.studio.group_tables.MOST_CELLS", 11)
    with pytest.raises(DataError, match="has 12 cells, at most 11 are shown"):
        group_table(large, "stole", ["often", "site"])


def test_answers_that_conditions_exclude_hide_nothing() -> None:
    rng = np.random.default_rng(1)
    true = made_up(DISGUISED, 20_000, rng).astype(np.uint8)
    counts = count_reported(disguise(true, DISGUISED.design, rng), DISGUISED.design)
    found = group_table(Release(DISGUISED, counts), "smokes", ["packs", "brand"])
    assert found.hidden == 0
    assert any(cell.unknown for cell in found.cells)  # nobody is in an impossible group


@pytest.mark.slow
def test_the_page_shows_layers_differences_and_markup_as_text(tmp_path: Path) -> None:
    studio = tried(tmp_path, records=3000, closed=True)
    client = studio.client(studio.account("Ada", Role.VIEWER))
    path = f"/surveys/{studio.mine.slug}/compare"
    page = client.get(f"{path}?row=stole&column=site&layer=often").text
    found = studio.studio.releases.newest(studio.mine)
    assert found is not None
    table = group_table(found, "stole", ["often", "site"])
    for cell in table.cells:
        shown = cell.share is not None and not cell.unknown
        assert not shown or f"{100 * (cell.share or 0):.1f}\u202f%</td>" in page
    assert page.count("the group may be empty") == sum(cell.unknown for cell in table.cells) > 0
    assert page.count("not shown</td>") == table.hidden
    for one in table.comparisons:
        assert f"{100 * one.difference:+.1f}</td>" in page
    assert MARKUP not in page
    assert client.get(f"{path}?column=stole").status_code == 400
    chosen = client.get(f"{path}?row=stole")
    assert chosen.status_code == 200
    assert '<option value="stole" selected>' in chosen.text
    assert client.get(f"{path}?row=stole&column=site&layer=stole").status_code == 400
    studio.store.close()


EVEN = {"family": "uniform_perturbation", "q": "9/10"}
UNEVEN = {
    "family": "matrix",
    "matrix": [["8/10", "1/10", "1/20"], ["1/10", "7/10", "1/10"], ["1/10", "1/5", "17/20"]],
}


@pytest.mark.parametrize(("coin", "hidden"), [(EVEN, 4), (UNEVEN, 9)])
def test_a_table_is_hidden_whole_if_intervals_tell_the_reports_of_hidden_cells(
    coin: dict[str, Any], hidden: int
) -> None:
    """Shares, the size of a group and intervals are then as many functions as there are reports."""
    answers = {"kind": "choice", "text": "?", "categories": ["a", "b", "c"]}
    published = Published(
        survey_from_dict(
            {
                "title": "Uneven",
                "questions": [
                    {"name": "worry", **answers},
                    {"name": "site", "sensitive": False, **answers},
                ],
                "groups": [{"questions": ["worry"], **coin}],
            },
            "survey",
        )
    )
    codes = np.array([*np.ndindex(3, 3)], np.uint8)
    before, grown = np.full(9, 100), np.array([3, 4, 30, 5, 3, 30, 25, 30, 28])
    tables = [PatternTable(published.design.reported, codes, n) for n in (before, before + grown)]
    final = Release(published, tables[1], earlier=Release(published, tables[0]))
    assert group_table(final, "worry", ["site"]).hidden == hidden
    weights = np.linalg.inv(published.design.channel(["worry"]).matrix)
    functions = [np.ones(3), weights[2], weights[2] ** 2]  # one of three answers is shown
    assert (np.linalg.matrix_rank(functions) == 3) == (coin is UNEVEN)
