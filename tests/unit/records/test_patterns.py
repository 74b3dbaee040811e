"""One table of reports: with counts, a sample, missing answers, or records that an engine keeps."""

from __future__ import annotations

from typing import Any

import numpy as np
import polars as pl
import pytest

from tacit import reconstruct
from tacit.errors import DataError, MissingAnswersError
from tacit.records import PatternTable, answers_of, count, count_codes, engine_of
from tests.support.samples import DISGUISED, HOW, sample

CODES = np.array([[0, 0], [1, 2], [1, 2], [0, 1]], np.uint8)
SCHEMA = DISGUISED.reported
#: What each refusal says.
WORDS = {"weights": "of a sample", "missing": "1 missing answer;", "remote": "do not fit in memory"}


def with_gaps() -> pl.DataFrame:
    """A sample in which every seventh person left out a question."""
    data = sample(DISGUISED).with_row_index()
    answer: Any = pl.when(pl.col("index") % 7 == 0).then(None).otherwise(pl.col("smokes"))
    return data.with_columns(smokes=answer)


def tables() -> dict[str, PatternTable]:
    gaps = CODES.copy()
    gaps[0, 1] = SCHEMA.sizes[1]
    return {
        "weights": reconstruct(sample(DISGUISED), DISGUISED, **HOW).patterns,
        "missing": count_codes(gaps, SCHEMA),
        "remote": PatternTable.remote(engine_of(CODES, SCHEMA)),
    }


@pytest.mark.parametrize("refused", WORDS)
def test_a_table_refuses_only_what_it_has_and_the_analysis_cannot_use(refused: str) -> None:
    given = tables()
    for name, table in given.items():
        if name != refused:
            assert table.refuse(**{refused: True}) is table
    with pytest.raises(DataError, match=WORDS[refused]):
        given[refused].refuse(**{refused: True})


@pytest.mark.parametrize("name", ["missing", "remote"])
def test_what_is_not_in_the_patterns_is_never_taken_for_a_pattern(name: str) -> None:
    table = tables()[name]
    for attribute in ("patterns", "counts"):
        with pytest.raises(DataError):
            getattr(table, attribute)


def test_a_subset_of_a_sample_keeps_its_weights() -> None:
    table = tables()["weights"]
    subset = table.subset(["income"])
    assert subset.sample is table.sample
    assert subset.n_records == table.n_records == 400
    np.testing.assert_allclose(subset.marginal(["income"]), table.marginal(["income"]))


def test_weights_of_a_sample_are_not_added_to_counts_of_records() -> None:
    plain, given = count(CODES, SCHEMA), tables()
    assert (plain + plain).n_records == 8
    with pytest.raises(DataError, match="of a sample"):
        plain + given["weights"]
    with pytest.raises(MissingAnswersError):
        given["missing"] + plain
    with pytest.raises(DataError, match="count them together"):
        given["remote"] + plain


def test_complete_records_of_a_sample_keep_everybody_in_the_clusters() -> None:
    table = reconstruct(with_gaps(), DISGUISED, **HOW).patterns
    assert table.absent is not None
    complete = table.complete(["smokes"])
    assert complete.absent is None
    assert complete.sample is not None
    assert len(complete) == len(table)
    assert table.n_records - complete.n_records == -(-400 // 7)
    np.testing.assert_array_equal(complete.sample.weight == 0, ~table.answered(["smokes"]))
    assert complete.complete(["smokes", "income"]) is complete


def test_missing_answers_survive_the_way_through_a_count_file() -> None:
    table = tables()["missing"]
    again = answers_of(table.with_no_answer(), SCHEMA)
    assert again.absent is not None
    assert again.n_records == table.n_records == 4
    np.testing.assert_array_equal(again.complete(["income"]).marginal(["income"]), [0, 1, 2])
