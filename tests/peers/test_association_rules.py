"""Itemsets and rules beside mlxtend 0.25, on records that are not disguised."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
import pytest
from mlxtend.frequent_patterns import association_rules as peer_rules
from mlxtend.frequent_patterns import fpgrowth

from tacit import Design, Group, Schema, truthful
from tacit.core.arrays import Codes
from tacit.datasets import adult_binary, adult_native
from tacit.mine import PlainThreshold, association_rules, itemsets
from tests.support.retail import baskets, schema_of

ROUNDINGS = 1e-12


def retail() -> tuple[Codes, Schema]:
    return baskets(5000, 60, seed=1), schema_of(60)


def native() -> tuple[Codes, Schema]:
    codes, schema = adult_native(bins=3)
    return codes[:3000, :6], Schema(schema.attributes[:6])


def binary() -> tuple[Codes, Schema]:
    codes, schema = adult_binary()
    return codes[:4000], schema


def one_hot(codes: Codes, schema: Schema) -> Any:
    """A column per item: the last category of yes/no attributes, every one of the others."""
    columns = {}
    for place, attribute in enumerate(schema):
        wanted = [1] if attribute.size == 2 else range(attribute.size)
        for code in wanted:
            columns[f"{attribute.name} = {attribute.categories[code]}"] = codes[:, place] == code
    return pd.DataFrame(columns)


@pytest.mark.parametrize(
    ("data", "support"),
    [(retail, 0.02), (binary, 0.05), (native, 0.05)],
    ids=["baskets", "Adult as yes/no", "Adult"],
)
def test_undisguised_itemsets_and_rules_are_those_of_mlxtend(data: Any, support: float) -> None:
    codes, schema = data()
    design = Design(schema, [Group(schema.names, truthful())])
    found = itemsets(codes, design, support, control=PlainThreshold())
    peer = fpgrowth(one_hot(codes, schema), min_support=support, use_colnames=True)
    ours = {frozenset(str(one).split(", ")): one.support for one in found}
    theirs = dict(zip(peer["itemsets"], peer["support"], strict=True))
    assert len(ours) > 100
    assert ours.keys() == theirs.keys()
    assert max(abs(ours[key] - theirs[key]) for key in ours) <= ROUNDINGS
    check_rules(association_rules(found, 0.6, max_conclusions=None), peer)


def check_rules(found: Any, peer: Any) -> None:
    expected = peer_rules(peer, metric="confidence", min_threshold=0.6)
    sides = zip(expected["antecedents"], expected["consequents"], strict=True)
    numbers = expected[["support", "confidence", "lift", "antecedent support"]].to_numpy()
    theirs = dict(zip(sides, numbers, strict=True))
    columns = found.columns()
    names = ("support", "confidence", "lift", "conditions_support")
    ours = {
        (frozenset(given.split(", ")), frozenset(then.split(", "))): numbers
        for given, then, *numbers in zip(
            columns["conditions"],
            columns["conclusion"],
            *(columns[name] for name in names),
            strict=True,
        )
    }
    assert len(ours) > 50
    assert ours.keys() == theirs.keys()
    assert max(np.abs(ours[key] - theirs[key]).max() for key in ours) <= ROUNDINGS
