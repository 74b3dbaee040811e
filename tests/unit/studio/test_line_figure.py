"""Figures: every point is inside the axes, and numbers stand beside them."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from tacit.studio.line_figure import HEIGHT, LEFT, RIGHT, TOP, line_figure

NUMBERS = st.floats(1e-6, 1e9)


@given(
    st.lists(st.tuples(st.floats(-1e6, 1e6), NUMBERS), min_size=1, max_size=8),
    st.booleans(),
)
def test_every_point_is_inside_the_axes(
    points: list[tuple[float, float]], logarithmic: bool
) -> None:
    made = line_figure({"a": points}, "x", "y", logarithmic)
    assert made is not None
    ((_, places),) = made.lines
    for x, y in places:
        assert LEFT <= x <= RIGHT
        assert TOP <= y <= TOP + HEIGHT
    for axis in (made.across, made.up):
        assert len(axis.ticks) >= 2
        assert all(axis.low <= value <= axis.high for value, _ in axis.ticks)


def test_round_numbers_stand_beside_the_axes() -> None:
    made = line_figure({"a": ((0, 3), (10, 48))}, "x", "y")
    assert made is not None
    assert [text for _, text in made.up.ticks] == ["0", "10", "20", "30", "40", "50"]
    log = line_figure({"a": ((0, 120), (10, 4000))}, "x", "y", logarithmic=True)
    assert log is not None
    assert [text for _, text in log.up.ticks] == ["100", "200", "500", "1,000", "2,000", "5,000"]


def test_no_points_are_no_figure() -> None:
    assert line_figure({"a": ()}, "x", "y") is None
