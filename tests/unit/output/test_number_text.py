"""Numbers in text keep at least two significant digits, wherever a result is shown."""

from __future__ import annotations

import re

import numpy as np
import pytest

from tacit.output.number_text import decimals, span
from tacit.output.table import Table, cell_text
from tacit.quantitative import additive, mean, scramble, variance
from tacit.regression import linear, logit
from tests.support.regressions import DESIGNS, people, reported

ONE = DESIGNS["one group"]
#: A number whose digits are all 0, though it is not the number 0 itself.
HIDDEN = re.compile(r"(?<![\d.])-?0\.0+(?![\d.])(?!e)")


@pytest.mark.parametrize("value", [1.2345e-3, -4.56e-4, 7.89e-5, 1.2345e-9, 1e-300, 0.0123, 1234.5])
def test_a_number_that_is_not_0_shows_two_digits_or_more(value: float) -> None:
    for text in (decimals(value), cell_text(value)):
        assert float(text) == pytest.approx(value, rel=0.05)
    low, high = span(value, 2 * value).split(" .. ")
    assert float(low) == pytest.approx(value, rel=0.05)
    assert float(high) == pytest.approx(2 * value, rel=0.05)


def test_numbers_that_four_decimals_show_well_keep_them() -> None:
    assert [decimals(v) for v in (0.0, -0.0, 0.0025, 0.5, -1.25, 12345.678)] == [
        "0.0000",
        "0.0000",
        "0.0025",
        "0.5000",
        "-1.2500",
        "12345.6780",
    ]


def test_coefficients_of_large_numbers_are_not_shown_as_0() -> None:
    """Income in cents: the coefficient is about 1e-7 with an error of about 1e-8."""
    data = reported(people(2_000), ONE)
    data["cents"] = 1e7 * data["age"]
    fit = logit("smokes ~ cents", data, ONE)
    assert abs(fit.params["cents"]) < 1e-6
    assert abs(fit.tvalues["cents"]) > 5
    results = [fit, fit.marginal_effects(), linear("age ~ cents + smokes", data, ONE)]
    for result in results:
        shown = (str(result), result.to_markdown(), result.to_latex(), result._repr_html_())
        for text in (*shown, result.to_table().csv(), repr(result.params)):
            row = next(line for line in re.split(r"\n|</tr>", text) if "cents" in line)
            assert not HIDDEN.search(row), row
            assert re.search(r"\d\.\d\de-0[789]", row), row


def test_small_moments_and_figures_of_a_fit_are_not_shown_as_0() -> None:
    rng = np.random.default_rng(4)
    cards = additive(["0", "0.00001"])
    reports = scramble(rng.gamma(4.0, 2.5e-6, 4_000), cards, rng)
    texts = [str(mean(reports, cards)), str(variance(reports, cards))]
    data = people(300)
    data["tiny"] = 1e-6 * data["wage"]
    texts += [linear("tiny ~ age", data, ONE).notes()[0]]
    small = Table(("answer", "share"), [("yes", 1.5e-6)])
    texts += [small.text(), small.markdown(), small.latex(), small.html()]
    for text in texts:
        assert not HIDDEN.search(text), text
