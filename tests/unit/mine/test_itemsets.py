from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from tacit import Attribute, Design, Group, Schema, disguise, reconstruct, related, truthful
from tacit.core.arrays import Codes
from tacit.core.channel import matrix
from tacit.errors import DataError, DesignError, SchemaError, SingularChannelError
from tacit.mine import FamilyWise, PlainThreshold, itemsets, split_records

SCHEMA = Schema(
    [
        Attribute("bread", ["no", "yes"]),
        Attribute("butter", ["no", "yes"]),
        Attribute("size", ["small", "mid", "large"]),
    ]
)
MASK = Design(SCHEMA, [Group([name], related(0.9)) for name in SCHEMA.names])
TRUE = Design(SCHEMA, [Group(SCHEMA.names, truthful())])
NUMBERS = 1e-12


def people(n: int = 4000, seed: int = 1) -> Codes:
    """Butter goes with bread, and large purchases with both."""
    rng = np.random.default_rng(seed)
    bread = rng.random(n) < 0.5
    butter = rng.random(n) < np.where(bread, 0.8, 0.1)
    size = np.where(bread & butter, rng.choice(3, n, p=[0.1, 0.2, 0.7]), rng.choice(3, n))
    return np.stack([bread, butter, size], axis=1).astype(np.uint8)


def reported(design: Design = MASK, n: int = 4000) -> Codes:
    return np.asarray(disguise(people(n), design, np.random.default_rng(2)))


def test_an_itemset_has_the_support_that_probability_estimates() -> None:
    records = reported()
    found = itemsets(records, MASK, 0.1)
    truth = reconstruct(records, MASK)
    assert {len(one.items) for one in found} == {1, 2, 3}
    for one in found:
        estimate = truth.probability(one.items)
        assert abs(one.support - float(estimate.value)) < NUMBERS
        assert abs(one.support_stderr - float(estimate.stderr)) < NUMBERS


def test_by_default_yes_counts_and_every_category_of_larger_attributes() -> None:
    found = itemsets(people(), TRUE, 0.01, control=PlainThreshold(), max_length=1)
    assert [one.items for one in found] == [
        {"bread": "yes"},
        {"butter": "yes"},
        {"size": "small"},
        {"size": "mid"},
        {"size": "large"},
    ]


def test_the_user_chooses_which_categories_count() -> None:
    chosen = {"size": ["large"], "bread": "no"}
    found = itemsets(people(), TRUE, 0.01, items=chosen, control=PlainThreshold())
    names = [one.items for one in found]
    assert names == [{"bread": "no"}, {"size": "large"}, {"bread": "no", "size": "large"}]


def test_a_claim_needs_more_than_an_estimate_above_the_threshold() -> None:
    records = reported(n=300)
    plain = itemsets(records, MASK, 0.3, control=PlainThreshold())
    careful = itemsets(records, MASK, 0.3, control=FamilyWise(0.01))
    assert len(careful) < len(plain)
    assert careful.tested <= plain.tested


def test_all_itemsets_of_a_certain_answer_are_not_claimed_from_few_records() -> None:
    """Five of five records do not prove a share above .9; without the floor they would."""
    records = np.ones((5, 3), np.uint8)
    assert len(itemsets(records, TRUE, 0.9)) == 0
    assert len(itemsets(np.ones((5000, 3), np.uint8), TRUE, 0.9)) == 7


def test_supports_from_other_records_are_theirs_and_the_title_says_so() -> None:
    first, second = split_records(reported(), MASK, np.random.default_rng(3))
    assert first.n_records + second.n_records == 4000
    mined = itemsets(first, MASK, 0.1)
    found = mined.estimated_on(second)
    assert "so intervals are too short" in mined.title
    assert f"selected from {first.n_records:,}, estimated from {second.n_records:,}" in found.title
    assert (found.is_split, mined.is_split) == (True, False)
    truth = reconstruct(second, MASK)
    for one, own in zip(found, mined, strict=True):
        assert one.items == own.items
        assert abs(one.support - float(truth.probability(one.items).value)) < NUMBERS


def test_a_split_sends_each_record_to_one_part() -> None:
    records = reported()
    whole = reconstruct(records, MASK).patterns
    parts = split_records(records, MASK, np.random.default_rng(4), share=0.25)
    again = parts[0] + parts[1]
    assert (again.patterns == whole.patterns).all()
    assert (again.counts == whole.counts).all()
    assert abs(parts[0].n_records - 1000) < 6 * np.sqrt(4000 * 0.25 * 0.75)


def test_itemsets_print_as_a_table_and_convert_to_a_frame() -> None:
    found = itemsets(reported(), MASK, 0.1)
    frame = found.to_frame(backend="pyarrow").to_pydict()
    assert frame["itemset"][0] == "bread = yes"
    assert frame["length"] == [len(one.items) for one in found]
    low, high = found.support_interval()
    assert frame["support_lower"] == low.tolist()
    assert all(0 <= a <= b <= 1 for a, b in zip(low, high, strict=True))
    assert "expected share of wrong ones at most 0.05" in str(found)
    assert "bread = yes, butter = yes" in repr(found)
    assert found._repr_html_().startswith("<table>")


def test_a_design_with_a_matrix_gives_the_same_sets_as_its_family() -> None:
    channel = [[0.9, 0.1], [0.1, 0.9]]
    groups = [Group(["bread"], matrix(channel)), Group(["butter"], matrix(channel))]
    other = Design(SCHEMA, [*groups, Group(["size"], related(0.9))])
    records = reported()
    one, two = (itemsets(records, design, 0.1) for design in (MASK, other))
    assert [a.items for a in one] == [b.items for b in two]
    assert np.abs(one.support - two.support).max() < NUMBERS
    assert np.abs(one.support_stderr - two.support_stderr).max() < NUMBERS


def test_progress_rises_to_nearly_1() -> None:
    told: list[float] = []
    itemsets(reported(), MASK, 0.1, progress=told.append)
    assert told == sorted(told)
    assert 0 < told[0] < told[-1] <= 1


@pytest.mark.parametrize(
    ("arguments", "error", "said"),
    [
        ({"min_support": 0}, DataError, "min_support must lie above 0 and be at most 1, got 0"),
        ({"min_support": 1.5}, DataError, "got 1.5"),
        ({"min_support": float("nan")}, DataError, "min_support must"),
        ({"min_support": "0.1"}, DataError, "got '0.1'"),
        (
            {"max_length": 0},
            DataError,
            "max_length must be a whole number from 1 up, got 0",
        ),
        ({"max_length": 1.5}, DataError, "got 1.5"),
        ({"max_length": 13}, DataError, "max_length is at most 12 for disguised records, got 13"),
        ({"control": "fdr"}, DataError, "control must be FalseDiscovery"),
        ({"items": {"bred": "yes"}}, SchemaError, "did you mean 'bread'"),
        ({"items": {"bread": "maybe"}}, SchemaError, "unknown category 'maybe'"),
        ({"items": {"bread": []}}, SchemaError, "no category of 'bread' is given"),
        ({"items": {"bread": ["yes", "yes"]}}, DataError, "given twice"),
        ({"items": {}}, SchemaError, "items must be a mapping"),
        ({"items": ["bread"]}, SchemaError, "items must be a mapping"),
        ({"records": np.ones((3, 2), int)}, DataError, "records x 3 attributes"),
        ({"design": "MASK"}, DesignError, "design must be a Design"),
    ],
)
def test_wrong_input_gives_one_clear_error(
    arguments: dict[str, Any], error: type[Exception], said: str
) -> None:
    given: dict[str, Any] = {"records": reported(), "design": MASK, "min_support": 0.1}
    with pytest.raises(error, match=said):
        itemsets(**given | arguments)


def test_a_coin_that_tells_nothing_is_named_only_if_its_items_count() -> None:
    blank = Group(["bread"], related(0.5))
    design = Design(SCHEMA, [blank, Group(["butter", "size"], related(0.9))])
    with pytest.raises(SingularChannelError, match="bread"):
        itemsets(reported(design), design, 0.1)
    assert len(itemsets(reported(design), design, 0.1, items={"butter": "yes"})) == 1


@pytest.mark.parametrize("share", [0, 1, -1, "half", True])
def test_a_split_needs_a_share_between_0_and_1(share: Any) -> None:
    with pytest.raises(DataError, match="share must lie between 0 and 1"):
        split_records(reported(), MASK, np.random.default_rng(1), share)


def test_a_single_record_cannot_be_split() -> None:
    with pytest.raises(DataError, match="too few to split"):
        split_records(reported()[:1], MASK, np.random.default_rng(1))
