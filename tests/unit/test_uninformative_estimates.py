"""Probabilities that few or very noisy records leave open have wide intervals and say so."""

from __future__ import annotations

import json
from typing import Any

import numpy as np
import pytest
from scipy.stats import binomtest

from tacit import Design, Group, Schema, related, truthful
from tacit.evaluate import accuracy, confusion, recall
from tacit.mine import DecisionTree, NaiveBayes
from tacit.reconstruction import reconstruct
from tests.support.families import attributes_of

SCHEMA = Schema(attributes_of((2, 2, 2)))
NAMES = list(SCHEMA.names)
PLAIN = Design(SCHEMA, [Group(NAMES, truthful())])
NOISY = Design(SCHEMA, [Group([name], related("0.51")) for name in NAMES])


class First:
    """Predicts the first attribute by the second."""

    def predict(self, codes: Any) -> Any:
        return codes[:, 0]


def records(n: int = 20, seed: int = 1) -> Any:
    return np.random.default_rng(seed).integers(0, 2, (n, 3)).astype(np.uint8)


def test_a_wild_accuracy_is_shown_as_not_informative_with_its_interval() -> None:
    found = accuracy(First(), records(200), NOISY, "a0")
    assert not 0 <= float(found) <= 1
    lower, upper = found.interval()
    assert 0 <= lower < 0.05
    assert 0.95 < upper <= 1
    assert "not informative" in str(found)
    assert f"{float(found):.4f}" not in str(found)
    assert json.loads(json.dumps(found.to_dict()))["table"]["estimate"] == [float(found)]


def test_20_right_predictions_leave_room_for_errors() -> None:
    codes = records()
    codes[:, 0] = codes[:, 1]
    found = accuracy(First(), codes, PLAIN, "a0")
    assert float(found) == 1
    expected = binomtest(20, 20).proportion_ci(0.95, method="exact")
    np.testing.assert_allclose(found.interval(), (expected.low, 1), atol=1e-9)
    for measure in (confusion, recall):
        limits = measure(First(), codes, PLAIN, "a0").interval()
        assert (limits.upper - limits.lower > 0.1).all()


def test_recall_without_disguise_has_the_exact_interval_of_its_class() -> None:
    codes = records(60)
    found = recall(First(), codes, PLAIN, "a0")
    for c in (0, 1):
        own = codes[codes[:, 0] == c]
        peer = binomtest(int(np.sum(own[:, 1] == c)), len(own)).proportion_ci(0.95, "exact")
        limits = found.interval().lower[c], found.interval().upper[c]
        np.testing.assert_allclose(limits, peer, rtol=1e-7)


@pytest.mark.parametrize("design", [PLAIN, NOISY], ids=["plain", "noisy"])
def test_intervals_of_models_stay_inside_the_bounds(design: Design) -> None:
    codes = records(40)
    found = [measure(First(), codes, design, "a0") for measure in (accuracy, confusion, recall)]
    found += [model(design, "a0").fit(codes).prior() for model in (NaiveBayes, DecisionTree)]
    for each in found:
        lower, upper = each.interval()
        assert (lower >= 0).all()
        assert (upper <= 1).all()
        assert (upper > lower).all()
        assert each.fit is not None


def test_a_function_of_two_values_keeps_its_bounds() -> None:
    rec = reconstruct(records(40), NOISY)
    for low, high in ((2.0, 5.0), (-1.0, 0.0), (0.0, 0.5)):
        scores = {"c0": high, "c1": low}
        mean = rec.expectation(scores.__getitem__, ["a0"])
        share = rec.probability({"a0": "c0"})
        np.testing.assert_allclose(float(mean), low + (high - low) * float(share))
        for limit, other in zip(mean.interval(), share.interval(), strict=True):
            np.testing.assert_allclose(limit, low + (high - low) * other)
            assert low <= limit <= high
        assert float(mean.stderr) == pytest.approx((high - low) * float(share.stderr))
        assert mean.covariance[0, 0] == pytest.approx(float(mean.stderr) ** 2)
