"""The estimate for assumed shares of people who do not comply."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from tacit import crosswise, reconstruct, related
from tacit.compliance import Careless, Cheaters, LyingCarriers, sensitivity
from tacit.errors import TacitError
from tests.support.compliance import design_of, records_of

RECORDS, DESIGN = records_of([560, 440]), design_of(related("0.7"))


def test_without_non_compliers_it_is_the_estimate_by_inversion() -> None:
    expected = reconstruct(RECORDS, DESIGN).table(["drug"])
    for model in (Cheaters(), LyingCarriers(), Careless()):
        found = sensitivity(RECORDS, DESIGN, model, [0])
        np.testing.assert_allclose(found.value[0], expected.value, atol=1e-9)
        np.testing.assert_allclose(found.stderr[0], expected.stderr, rtol=1e-6)


def test_the_curves_follow_their_closed_forms() -> None:
    """q = .44: (1-s)(.3 + .4 pi); .3 + pi (.4 - .7 s); (1-s)(.3 + .4 pi) + s/2."""
    s = np.array([0.0, 0.1, 0.2])
    q = 0.44
    expected = {
        Cheaters(): (q / (1 - s) - 0.3) / 0.4,
        LyingCarriers(): (q - 0.3) / (0.4 - 0.7 * s),
        Careless(): ((q - s / 2) / (1 - s) - 0.3) / 0.4,
    }
    for model, curve in expected.items():
        found = sensitivity(RECORDS, DESIGN, model, s)  # type: ignore[arg-type]
        np.testing.assert_allclose(found.value[:, 1], curve, atol=1e-8)


def test_the_bias_of_carriers_who_deny_equals_the_published_curve() -> None:
    """METHODS 11: Warner, 20 % carriers, 10 % of them deny: -6.0, -3.5, -2.7, -2.3 points.

    The curve undoes this bias: at share 0 the biased estimate, at .1 the truth.
    """
    for theta, bias in ((0.6, -6.0), (0.7, -3.5), (0.8, -2.7), (0.9, -2.3)):
        yes = 0.2 * 0.9 * theta + 0.8 * (1 - theta)
        counts = np.rint(np.array([1 - yes, yes]) * 1_000_000).astype(int)
        design = design_of(related(str(theta)))
        found = sensitivity(records_of(counts), design, LyingCarriers(), [0, 0.1])
        assert round(100 * (found.value[0, 1] - 0.2), 1) == bias
        np.testing.assert_allclose(found.value[1, 1], 0.2, atol=1e-5)


def test_the_curve_has_a_table_a_frame_and_a_figure() -> None:
    found = sensitivity(RECORDS, DESIGN, Cheaters())
    assert found.shares[0] == 0
    assert found.shares[-1] == 0.3
    frame = found.to_frame(backend="pandas")
    assert list(frame.columns) == ["share", "category", "estimate", "stderr", "lower", "upper"]
    assert len(frame) == 32
    assert ((frame.lower <= frame.estimate) & (frame.estimate <= frame.upper)).all()
    assert "by assumed share of cheaters" in str(found)
    assert "<table>" in found._repr_html_()
    (axes,) = found.plot().axes
    assert axes.get_xlabel() == "assumed share of cheaters, %"
    assert len(axes.lines) == 1


def test_a_share_at_which_nothing_can_be_known_has_the_widest_interval() -> None:
    """Carriers who deny so often that they report like the others: .6 (1 - s) = .4."""
    found = sensitivity(RECORDS, design_of(related("0.6")), LyingCarriers(), [1 / 3])
    lower, upper = found.estimates[0].interval()
    np.testing.assert_allclose([lower, upper], [[0, 0], [1, 1]], atol=1e-6)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ((RECORDS, DESIGN, "cheaters"), "model must be"),
        ((RECORDS, DESIGN, Cheaters(), [1.0]), "from 0 to below 1"),
        ((RECORDS, DESIGN, Cheaters(), []), "from 0 to below 1"),
        ((RECORDS, DESIGN, Cheaters(), ["a"]), "must be numbers"),
        ((RECORDS, design_of(crosswise("1/2")), Cheaters()), "cannot be reconstructed"),
    ],
)
def test_bad_input_is_one_clear_error(arguments: Any, message: str) -> None:
    with pytest.raises(TacitError, match=message):
        sensitivity(*arguments)
