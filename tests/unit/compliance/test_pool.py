"""Several samples in one estimate."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
import pytest

from tacit import (
    Attribute,
    Design,
    Group,
    Schema,
    forced,
    reconstruct,
    related,
    truthful,
    uniform_perturbation,
    unrelated,
)
from tacit.compliance import pool
from tacit.errors import TacitError
from tests.support.compliance import design_of, records_of, sample

HALF = ["1/2", "1/2"]


def test_one_sample_gives_the_estimate_by_inversion() -> None:
    records, design = sample([560, 440], related("0.7"))
    found = pool([(records, design)])
    expected = reconstruct(records, design).table(["drug"])
    np.testing.assert_allclose(found.value, expected.value, atol=1e-9)
    np.testing.assert_allclose(found.stderr, expected.stderr, rtol=1e-6)
    np.testing.assert_allclose(found.covariance, expected.covariance, rtol=1e-6)
    assert found.agreement.pvalue == 1


def test_two_samples_under_one_design_equal_one_sample() -> None:
    coin = related("0.7")
    apart = pool([sample([300, 200], coin), sample([260, 240], coin)])
    together = pool([sample([560, 440], coin)])
    np.testing.assert_allclose(apart.value, together.value, atol=1e-9)
    np.testing.assert_allclose(apart.interval(), together.interval(), atol=1e-7)


def test_agreeing_samples_combine_like_their_weighted_mean() -> None:
    """Equal estimates of .2 from both: the variance is that of inverse-variance weights."""
    samples = [sample([620, 380], related("0.7")), sample([160, 40], truthful())]
    found = pool(samples)
    single = [reconstruct(*each).table(["drug"]) for each in samples]
    precision = sum(1 / each.stderr**2 for each in single)
    np.testing.assert_allclose(found.value, [0.8, 0.2], atol=1e-9)
    np.testing.assert_allclose(found.stderr, precision**-0.5, rtol=1e-6)
    assert found.agreement.df == 1
    assert found.agreement.pvalue > 0.999


def test_samples_that_disagree_are_reported() -> None:
    found = pool([sample([620, 380], related("0.7")), sample([950, 50], truthful())])
    assert found.agreement.pvalue < 1e-4
    assert "the samples agree" in str(found)


def test_an_unrelated_question_of_unknown_prevalence_is_estimated() -> None:
    """Greenberg et al. (1969): pi = (l1 (1 - t2) - l2 (1 - t1)) / (t1 - t2), and its variance."""
    counts, thetas = ([600, 400], [390, 610]), (0.7, 0.3)
    found = pool(
        [sample(n, unrelated(str(t), HALF)) for n, t in zip(counts, thetas, strict=True)],
        unknown_question=True,
    )
    l1, l2 = 0.4, 0.61
    t1, t2 = thetas
    pi = (l1 * (1 - t2) - l2 * (1 - t1)) / (t1 - t2)
    other = (t2 * l1 - t1 * l2) / (t2 - t1)
    variance = (l1 * (1 - l1) * (1 - t2) ** 2 + l2 * (1 - l2) * (1 - t1) ** 2) / 1000
    np.testing.assert_allclose(found.value[1], pi, atol=1e-8)
    np.testing.assert_allclose(found.stderr[1], variance**0.5 / (t1 - t2), rtol=1e-6)
    assert found.unrelated is not None
    np.testing.assert_allclose(found.unrelated.value[1], other, atol=1e-8)


def test_three_categories_and_an_unknown_question_recover_the_truth() -> None:
    attribute = Attribute("kind", ["a", "b", "c"])
    true, drawn = np.array([0.6, 0.3, 0.1]), np.array([0.2, 0.3, 0.5])
    samples = []
    for theta in (0.8, 0.4):
        counts = np.rint(10_000 * (theta * true + (1 - theta) * drawn)).astype(int)
        coin = unrelated(str(theta), ["1/3", "1/3", "1/3"])
        samples.append((records_of(counts), design_of(coin, attribute)))
    found = pool(samples, unknown_question=True)
    assert found.unrelated is not None
    np.testing.assert_allclose(found.value, true, atol=1e-7)
    np.testing.assert_allclose(found.unrelated.value, drawn, atol=1e-7)


def test_a_joint_table_can_be_pooled() -> None:
    schema = Schema([Attribute("a", ["0", "1"]), Attribute("b", ["0", "1", "2"])])
    truth = np.array([[0.3, 0.2, 0.1], [0.1, 0.1, 0.2]])
    samples = []
    for coin in (uniform_perturbation("0.5"), forced("0.6", {"a": ["1/2"] * 2, "b": ["1/3"] * 3})):
        design = Design(schema, [Group(["a", "b"], coin)])
        reported = design.channel(["a", "b"]).disguised(truth)
        counts = np.rint(36_000 * reported).astype(int)
        cells = np.array([(i, j) for i in range(2) for j in range(3)])
        samples.append((np.repeat(cells, counts.ravel(), axis=0), design))
    found = pool(samples, ["a", "b"])
    np.testing.assert_allclose(found.value, truth, atol=1e-3)
    assert found.agreement.df == 5


def test_frames_are_read_as_by_reconstruct() -> None:
    coin = related("0.7")
    frame = pd.DataFrame({"drug": ["no"] * 56 + ["yes"] * 44})
    found = pool([(frame, design_of(coin))])
    np.testing.assert_allclose(found.value, pool([sample([56, 44], coin)]).value)
    assert list(found.to_frame(backend="pandas")["drug"]) == ["no", "yes"]


OTHER = Attribute("drug", ["no", "sometimes", "often"])


@pytest.mark.parametrize(
    ("samples", "arguments", "message"),
    [
        ([], {}, "list of pairs"),
        (None, {}, "list of pairs"),
        ([(records_of([1, 1]), None)], {}, "sample 1: design must be a Design"),
        (
            [sample([5, 5], truthful()), sample([3, 3, 3], truthful(), OTHER)],
            {},
            r"sample 2: 'drug' has the categories \['no', 'sometimes', 'often'\]",
        ),
        ([sample([5, 5], truthful())], {"attributes": ["drugs"]}, "did you mean 'drug'"),
        ([sample([5, 5], related("1/2"))], {}, "cannot identify the distribution"),
        ([sample([5, 5], truthful())], {"unknown_question": True}, "with unrelated"),
        (
            [sample([5, 5], unrelated("0.7", HALF))],
            {"unknown_question": True},
            "two samples with different theta",
        ),
        (
            [(np.zeros((0, 1), int), design_of(truthful()))],
            {},
            "sample 1: the array holds 0 records",
        ),
    ],
)
def test_bad_input_is_one_clear_error(
    samples: Any, arguments: dict[str, Any], message: str
) -> None:
    with pytest.raises(TacitError, match=message):
        pool(samples, **arguments)


def test_a_level_outside_0_to_1_is_refused() -> None:
    with pytest.raises(TacitError, match="between 0 and 1"):
        pool([sample([5, 5], truthful())]).interval(95)
