"""Every result renders itself: a table for people, JSON-ready content, and a figure."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from tacit import Attribute, Design, Group, Schema, disguise, reconstruct, related
from tacit.compliance import Cheaters, pool, sensitivity
from tacit.evaluate import accuracy, confusion, recall
from tacit.mine import NaiveBayes
from tacit.optimize import Exact, front, robustness
from tacit.output.table import Table
from tacit.plan import plan, tradeoff
from tacit.quantitative import additive, mean, square_wave, variance
from tacit.quantitative import distribution as number_distribution
from tacit.regression import correlation, linear, logit

SCHEMA = Schema([Attribute("smokes", ["no", "yes"]), Attribute("age", [20, 40, 60])])
DESIGN = Design(SCHEMA, [Group(["smokes"], related("0.8")), Group(["age"], related("0.9"))])
FEWER = Design(SCHEMA, [Group(["smokes"], related("0.7")), Group(["age"], related("0.9"))])
TRUE = np.random.default_rng(1).integers(0, [2, 3], (600, 2)).astype(np.uint8)
REPORTED = disguise(TRUE, DESIGN, np.random.default_rng(2))
OTHERS = disguise(TRUE, FEWER, np.random.default_rng(3))
SAMPLES = [(REPORTED, DESIGN), (OTHERS, FEWER)]
WAVE = square_wave(2, 0, 10)
CONSTANT = {"constant": np.ones(len(TRUE))}


def _logit() -> Any:
    x = np.random.default_rng(4).normal(size=len(TRUE))
    return logit("smokes", REPORTED, DESIGN, covariates=CONSTANT | {"x": x})


def _model() -> Any:
    return NaiveBayes(DESIGN, target="smokes").fit(REPORTED)


def _front() -> Any:
    return front([0.5, 0.3, 0.2], 1000, delta=0.8, method=Exact(3))


RECONSTRUCTED = reconstruct(REPORTED, DESIGN)
YES, AGES = {"smokes": "yes"}, ({"age": 20}, {"age": [40, 60]})

RESULTS: dict[str, Callable[[], Any]] = {
    "reconstruction": lambda: RECONSTRUCTED,
    "table": lambda: RECONSTRUCTED.table(["smokes", "age"]),
    "table by em": lambda: RECONSTRUCTED.table("age", method="em", given="smokes"),
    "probability": lambda: RECONSTRUCTED.probability(YES, given=AGES[0]),
    "expectation": lambda: RECONSTRUCTED.expectation(float, "age"),
    "odds ratio": lambda: RECONSTRUCTED.odds_ratio(YES, between=AGES),
    "contrast": lambda: RECONSTRUCTED.contrast(np.sum, [YES, AGES[0]]),
    "bounds": lambda: RECONSTRUCTED.bounds(YES),
    "logit": _logit,
    "marginal effects": lambda: _logit().marginal_effects(),
    "linear": lambda: linear("age", REPORTED, DESIGN, covariates=CONSTANT),
    "correlation": lambda: correlation("smokes", "age", REPORTED, DESIGN),
    "cheaters": lambda: Cheaters().fit(SAMPLES, "smokes"),
    "pool": lambda: pool(SAMPLES, "smokes"),
    "sensitivity": lambda: sensitivity(REPORTED, DESIGN, Cheaters(), [0, 0.1], "smokes"),
    "mean": lambda: mean(np.arange(9.0), additive([0, 1])),
    "variance": lambda: variance(np.arange(9.0), additive([0, 1])),
    "numbers": lambda: number_distribution(np.full(50, 0.0), WAVE, bins=4),
    "front": _front,
    "robustness": lambda: robustness(_front(), [0.4, 0.4, 0.2]),
    "plan": lambda: plan(DESIGN, n=500),
    "tradeoff": lambda: tradeoff(["related"], n=500, bounds=[1.0]),
    "accuracy": lambda: accuracy(_model(), REPORTED, DESIGN),
    "confusion": lambda: confusion(_model(), REPORTED, DESIGN),
    "recall": lambda: recall(_model(), REPORTED, DESIGN),
}


@pytest.mark.parametrize("make", RESULTS.values(), ids=RESULTS)
def test_a_result_is_a_table_json_and_a_figure(make: Callable[[], Any]) -> None:
    result = make()
    table = result.to_table()
    assert isinstance(table, Table)
    assert table.rows
    assert all(len(row) == len(table.heads) for row in table.rows)
    assert json.loads(json.dumps(result.to_dict()))
    assert result.plot().axes


def test_a_chosen_channel_is_a_table_and_json() -> None:
    channel = _front()[0]
    assert len(channel.to_table().rows) == len(channel.reports)
    content = json.loads(json.dumps(channel.to_dict()))
    assert [r["label"] for r in content["reports"]] == [r.label for r in channel.reports]


@pytest.mark.parametrize("method", ["pearson", "likelihood-ratio", "wald"])
def test_a_test_of_independence_is_a_table_and_json(method: str) -> None:
    test = RECONSTRUCTED.independence(["smokes", "age"], method=method)
    assert len(test.to_table().rows) == 1
    assert json.loads(json.dumps(test.to_dict()))["df"] == 2


def test_a_test_of_nested_models_is_a_table_and_json() -> None:
    test = _logit().compare_lr_test(logit("smokes", REPORTED, DESIGN, covariates=CONSTANT))
    assert isinstance(test.to_table(), Table)
    assert json.loads(json.dumps(test.to_dict()))["df"] == 1
