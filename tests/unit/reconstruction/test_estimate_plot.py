"""Figures of estimates, regressions and compliance: they show the numbers of the tables."""

from __future__ import annotations

import io
import math
import pickle
from typing import Any

import numpy as np
import pytest
from matplotlib.figure import Figure

from tacit import Attribute, Design, Group, Schema, forced, reconstruct, related
from tacit.compliance import Cheaters, pool, sensitivity
from tacit.reconstruction import Reconstruction, em
from tacit.regression import logit
from tests.support.regions import REGIONS, regional

ONE = Schema([Attribute("drug", ["no", "yes"])])


@pytest.fixture(scope="module")
def rec() -> Reconstruction:
    return reconstruct(regional(), REGIONS, columns=["region"])


def sample(coin: Any, no: int, yes: int) -> Any:
    return np.repeat([[0], [1]], [no, yes], axis=0), Design(ONE, [Group(["drug"], coin)])


def marks(figure: Figure, panel: int = 0) -> list[float]:
    """The estimates that are drawn, from top to bottom."""
    found = [line.get_xydata() for line in figure.axes[panel].lines if line.get_marker() == "o"]
    points = np.concatenate(found)
    return list(points[np.argsort(points[:, 1])][:, 0])


def labels(figure: Figure, panel: int = 0) -> list[str]:
    return [text.get_text() for text in figure.axes[panel].get_yticklabels()]


def bars(figure: Figure) -> list[float]:
    return [patch.get_width() for patch in figure.axes[0].patches]


def rendered(figure: Figure) -> int:
    stream = io.BytesIO()
    figure.savefig(stream, format="png", dpi=30)
    return len(stream.getvalue())


def test_reported_shares_are_those_of_the_reports(rec: Reconstruction) -> None:
    """Counted independently, from the frame."""
    data = regional()
    table = rec.table(["income", "smokes"])
    assert table.reported is not None
    for i, income in enumerate(["low", "mid", "high"]):
        own = ((data.income == income) & (data.smokes == "yes")).mean()
        assert table.reported[i, 1] == pytest.approx(own, abs=1e-12)
    within = rec.table(["smokes"], given=["region"], method=em).reported
    assert within is not None
    north = data[data.region == "north"]
    assert within[1, 1] == pytest.approx((north.smokes == "yes").mean(), abs=1e-12)
    event = rec.probability({"smokes": "yes"}, given={"region": "north"}).reported
    assert event == pytest.approx(within[1, 1], abs=1e-12)
    alone = rec.probability({"smokes": "yes", "income": ["low", "mid"]}).reported
    met = (data.smokes == "yes") & (data.income != "high")
    assert alone == pytest.approx(met.mean(), abs=1e-12)


def test_reports_of_other_categories_have_no_reported_shares(rec: Reconstruction) -> None:
    assert rec.table(["drinks"]).reported is None
    assert rec.probability({"drinks": "yes"}).reported is None
    between = {"region": "north"}, {"region": "east"}
    assert rec.difference({"smokes": "yes"}, between=between).reported is None
    assert rec.expectation([1.0, 3.0], ["smokes"]).reported is None


def test_a_table_is_drawn_as_it_is(rec: Reconstruction) -> None:
    table = rec.table(["smokes", "region"])
    figure = table.plot()
    assert marks(figure) == pytest.approx((100 * table.value.ravel()).tolist())
    assert labels(figure)[:2] == ["no, east", "no, north"]
    assert table.reported is not None
    assert bars(figure) == pytest.approx((100 * table.reported.ravel()).tolist())
    (lines,) = figure.axes[0].collections
    drawn = np.array([segment[:, 0] for segment in lines.get_segments()])
    np.testing.assert_allclose(drawn.T, [100 * end.ravel() for end in table.interval()])
    assert rendered(figure) > 1000


def test_a_reconstruction_has_a_panel_per_attribute(rec: Reconstruction) -> None:
    figure = rec.plot()
    assert [axes.get_title("left") for axes in figure.axes] == [
        *("P(smokes)", "P(income)", "P(drinks)", "P(region)"),
    ]
    assert len(rec.plot(["income"]).axes) == 1
    assert rendered(figure) > 1000


def test_a_comparison_shows_where_there_is_no_difference(rec: Reconstruction) -> None:
    between = {"region": "north"}, {"region": "east"}
    for kind, place in (("difference", 0), ("ratio", 1), ("odds_ratio", 1)):
        found = getattr(rec, kind)({"smokes": "yes"}, between=between)
        figure = found.plot()
        assert marks(figure) == [pytest.approx(float(found))]
        verticals = [
            line.get_xdata() for line in figure.axes[0].lines if line.get_marker() == "None"
        ]
        assert [place, place] in [list(each) for each in verticals]
        assert rendered(figure) > 1000


def test_infinite_and_unknown_limits_and_contradictions_are_drawn() -> None:
    few = Design(
        Schema([Attribute("a", ["no", "yes"]), Attribute("b", ["no", "yes"])]),
        [Group(["a"], related("0.7")), Group(["b"], related("0.7"))],
    )
    codes = np.repeat([[0, 0], [0, 1], [1, 0], [1, 1]], [30, 20, 20, 15], axis=0)
    ratio = reconstruct(codes, few).ratio({"a": "yes"}, between=({"b": "yes"}, {"b": "no"}))
    assert math.isinf(float(ratio.interval().upper))
    assert rendered(ratio.plot()) > 1000
    bad = reconstruct(*sample(related("0.7"), 950, 50)).table(["drug"])
    figure = bad.plot()
    assert figure.get_supxlabel() == "MISFIT: these reports contradict the design"
    assert all(math.isnan(mark) for mark in marks(figure))  # far outside of 0 to 1
    assert rendered(figure) > 1000


@pytest.mark.slow
def test_a_wide_table_is_cut_with_a_note() -> None:
    many = Attribute("many", [f"${i}$ of a category with a long name" for i in range(60)])
    design = Design(Schema([many]), [Group(["many"], related("0.9"))])
    figure = reconstruct(np.arange(600)[:, None] % 60, design).table(["many"]).plot()
    assert len(marks(figure)) == 40
    assert figure.axes[0].get_title("left") == "P(many); 20 more cells"
    assert rendered(figure) > 1000


def test_coefficients_are_drawn_without_constants() -> None:
    fit = logit("smokes ~ region + urban", regional(), REGIONS)
    figure = fit.plot(alpha=0.1)
    assert labels(figure) == list(fit.names[1:])
    assert marks(figure) == pytest.approx(fit.values[1:].tolist())
    assert "90 % interval" in figure.axes[0].get_xlabel()
    rings = [line for line in figure.axes[0].lines if line.get_markerfacecolor() == "white"]
    covered = ((fit.conf_int(0.1)[1:] * [[1, -1]]) <= 0).all(axis=1)
    assert sum(len(line.get_xdata()) for line in rings) == covered.sum()
    ordered = logit("income ~ region", regional(), REGIONS, ordered=True)
    assert labels(ordered.plot()) == ["region[T.north]", "region[T.south]"]
    several = logit("income ~ 1", regional(), REGIONS)
    assert labels(several.plot()) == ["mid: Intercept", "high: Intercept"]
    assert len(marks(fit.marginal_effects().plot())) == len(fit.marginal_effects().names)
    assert rendered(figure) > 1000


def test_compliance_is_drawn() -> None:
    halves = [
        sample(forced("2/3", ["3/4", "1/4"]), 955, 245),
        sample(forced("2/3", ["1/4", "3/4"]), 785, 415),
    ]
    found = Cheaters(safe="no").fit(halves)
    figure = found.plot()
    assert len(figure.axes) == 4
    assert marks(figure, 3) == [pytest.approx(100 * float(found.share))]
    assert marks(pool(halves).plot()) == pytest.approx((100 * pool(halves).value).tolist())
    curve = sensitivity(*halves[0], Cheaters(safe="no"), [0, 0.1]).plot()
    assert rendered(figure) > 1000
    assert rendered(curve) > 1000


def test_estimates_with_figures_can_be_pickled(rec: Reconstruction) -> None:
    for each in (rec.table(["smokes"], given=["region"]), rec.probability({"smokes": "yes"})):
        again = pickle.loads(pickle.dumps(each))
        np.testing.assert_allclose(again.reported, each.reported)
