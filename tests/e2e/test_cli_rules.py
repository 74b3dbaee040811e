"""`tacit mine rules`, as a user runs it."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.csv as pa_csv
import pyarrow.parquet as pq
import pytest

from tacit import Attribute, Design, Group, Schema, disguise, related
from tacit.mine import (
    FamilyWise,
    PlainThreshold,
    association_rules,
    itemsets,
    split_records,
)
from tacit.records import count_reported
from tests.support.commands import is_one_error
from tests.support.origins import unknown_origin

SCHEMA = Schema(
    [
        Attribute("bread", ["no", "yes"]),
        Attribute("butter", ["no", "yes"]),
        Attribute("store, type", ["small", "mid", "large"]),
    ]
)
DESIGN = Design(SCHEMA, [Group([name], related(0.9)) for name in SCHEMA.names])
RULES = ("mine", "rules", "design.json", "reported.parquet", "--min-support", "0.1")


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A design and reported records, in which butter goes with bread."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("COLUMNS", "100")
    Path("design.json").write_text(DESIGN.to_json())
    rng = np.random.default_rng(1)
    bread = rng.random(5000) < 0.5
    butter = rng.random(5000) < np.where(bread, 0.8, 0.1)
    labels = np.array(SCHEMA["store, type"].categories)
    columns = {
        "bread": np.where(bread, "yes", "no"),
        "butter": np.where(butter, "yes", "no"),
        "store, type": labels[rng.choice(3, 5000, p=[0.2, 0.3, 0.5])],
    }
    pq.write_table(disguise(pa.table(columns), DESIGN, rng), "reported.parquet")


def test_the_rules_are_those_of_the_library(tacit_: Any) -> None:
    ran = tacit_(*RULES, "--json", "--level", "0.9")
    assert (ran.status, ran.err) == (0, unknown_origin("reported.parquet"))
    expected = association_rules(itemsets("reported.parquet", DESIGN, 0.1), 0.5)
    assert json.loads(ran.out) == expected.to_dict(0.9)
    assert {"tacit", "control", "error", "split", "rules"} <= set(json.loads(ran.out))


def test_the_options_are_those_of_the_library(tacit_: Any) -> None:
    chosen = 'bread=no,bread=yes,"store, type=large"'
    options = ("--items", chosen, "--max-length", "2", "--min-confidence", "0.4")
    ran = tacit_(*RULES, *options, "--control", "familywise", "--error", "0.01", "--json")
    items = {"bread": ["no", "yes"], "store, type": ["large"]}
    found = itemsets(
        "reported.parquet", DESIGN, 0.1, items=items, max_length=2, control=FamilyWise(0.01)
    )
    assert json.loads(ran.out) == association_rules(found, 0.4).to_dict()


def test_a_split_estimates_from_other_records_and_the_table_says_so(tacit_: Any) -> None:
    ran = tacit_(*RULES, "--split", "--seed", "4")
    records = count_reported("reported.parquet", DESIGN)
    first, second = split_records(records, DESIGN, np.random.default_rng(4))
    said = f"selected from {first.n_records:,}, estimated from {second.n_records:,} reported"
    assert said in ran.out
    found = itemsets(first, DESIGN, 0.1).estimated_on(second)
    whole = tacit_(*RULES, "--split", "--seed", "4", "--json")
    assert json.loads(whole.out) == association_rules(found, 0.5).to_dict()


def test_without_a_split_the_table_says_that_intervals_are_too_short(tacit_: Any) -> None:
    ran = tacit_(*RULES)
    assert "estimated from the 5,000 reported records that selected them, so intervals" in ran.out
    assert "expected share of wrong ones at most 0.05" in ran.out
    assert "\nbread = yes" in ran.out
    assert " butter = yes" in ran.out
    plain = tacit_(*RULES, "--control", "plain")
    assert "no error rate" in plain.out


def test_rules_are_written_as_json_csv_and_parquet(tacit_: Any) -> None:
    for name in ("rules.json", "rules.csv", "rules.parquet"):
        ran = tacit_(*RULES, "--control", "plain", "--out", name)
        assert ran.out.startswith(f"wrote {name}: ")
    found = itemsets("reported.parquet", DESIGN, 0.1, control=PlainThreshold())
    expected = association_rules(found, 0.5)
    assert json.loads(Path("rules.json").read_text()) == expected.to_dict()
    for table in (pa_csv.read_csv("rules.csv"), pq.read_table("rules.parquet")):
        assert table.column("conclusion").to_pylist() == expected.columns()["conclusion"]
        assert np.allclose(table.column("lift"), expected.columns()["lift"], rtol=1e-12)


def test_what_published_rules_disclose_is_measured(tacit_: Any) -> None:
    assert tacit_(*RULES, "--out", "rules.json").status == 0
    before = json.loads(tacit_("privacy", "design.json", "--json").out)
    ran = tacit_("privacy", "design.json", "--rules", "rules.json", "--json")
    assert ran.status == 0
    after = json.loads(ran.out)
    assert before != after
    assert "butter" in tacit_("privacy", "design.json", "--rules", "rules.json").out


def test_many_rules_are_cut(tacit_: Any) -> None:
    every = ("--items", "bread=no,bread=yes,butter=no,butter=yes", "--min-confidence", "0")
    ran = tacit_(*RULES[:-1], "0.01", "--control", "plain", *every)
    assert "\nbutter = no" in ran.out
    many = tacit_(*RULES[:-1], "0.01", "--control", "plain", "--min-confidence", "0")
    assert "more rules; --json and --out have all" in many.out


def test_no_rule_is_no_error(tacit_: Any) -> None:
    ran = tacit_(*RULES, "--min-confidence", "0.99")
    assert ran.status == 0
    assert "0 rules with confidence above 0.99" in ran.out


@pytest.mark.parametrize(
    ("options", "said"),
    [
        (("--min-support", "0"), "min_support must lie above 0 and be at most 1, got 0"),
        (("--min-support", "0.99"), "no frequent itemset"),
        (("--min-confidence", "2"), "min_confidence must lie between 0 and 1, got 2"),
        (("--max-length", "0"), "max_length must be a whole number from 1 up, got 0"),
        (("--max-length", "30"), "max_length is at most 12 for disguised records"),
        (("--error", "0"), "error must lie between 0 and 1, got 0"),
        (("--items", "bred=yes"), "did you mean 'bread'?"),
        (("--items", "bread=maybe"), "unknown category 'maybe'"),
        (("--items", "bread"), "--items: 'bread' is not of the form attribute=category"),
        (("--items", ""), "--items: names no attribute"),
        (("--control", "holm"), "'holm' is not one of"),
        (("--out", "rules.txt"), "rules.txt"),
        (("--out", "reported.parquet"), "reported.parquet"),
        (("--level", "1"), "the confidence level must lie between 0 and 1"),
    ],
)
def test_wrong_input_is_one_error(tacit_: Any, options: tuple[str, ...], said: str) -> None:
    is_one_error(tacit_(*RULES, *options), said)
    assert not Path("rules.txt").exists()
