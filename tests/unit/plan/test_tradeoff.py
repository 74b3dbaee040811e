"""Privacy against precision on one curve."""

from __future__ import annotations

import json
import math
from typing import Any

import pytest

from tacit import Attribute, Design, Group, Schema
from tacit.core.channel import crosswise, forced, related, unrelated
from tacit.errors import TacitError
from tacit.plan import plan, tradeoff


@pytest.mark.slow
def test_every_kind_of_candidate_has_points() -> None:
    design = Design(Schema([Attribute("a", ["no", "yes"])]), [Group(["a"], related("0.8"))])
    candidates = {
        "warner": "related",
        "best": "optimal",
        "own": lambda theta: forced(theta, ["1/5", "4/5"]),
        "coin": unrelated("1/2", ["1/2", "1/2"]),
        "design": design,
    }
    found = tradeoff(candidates, n=1000, bounds=[0.5, 1.0])
    counts = [sum(p.candidate == name for p in found.points) for name in candidates]
    assert counts == [2, 2, 2, 1, 1]
    assert all(p.epsilon <= 1.0 for p in found.points[:6])
    assert found.points[-1].width == plan(design, n=1000).width
    assert len(found.to_frame(backend="pandas")) == 8
    assert found.plot().axes[0].get_xlabel().startswith("epsilon of an answer")


def test_less_privacy_is_more_precise_or_cheaper() -> None:
    epsilons = [0.5, 1.0, 2.0, 3.0]
    widths = [p.width for p in tradeoff(["related"], n=1000, bounds=epsilons).points]
    assert widths == sorted(widths, reverse=True)
    points = tradeoff(["related"], width=0.05, bounds=epsilons).points
    needed = [p.respondents for p in points]
    assert needed == sorted(needed, reverse=True)
    assert all(p.width <= 0.05 for p in points)


@pytest.mark.slow
def test_no_family_is_more_precise_than_the_optimal_channel() -> None:
    shares = [0.5, 0.3, 0.15, 0.05]
    found = tradeoff(["optimal", "related", "unrelated"], n=2000, prevalence=shares, bounds=[1.5])
    best, *others = [p.width for p in found.points]
    assert all(best < other for other in others)


@pytest.mark.slow
def test_optimal_channels_win_under_a_bound_on_the_worst_posterior() -> None:
    found = tradeoff(
        ["optimal", "related"],
        n=2000,
        prevalence=[0.5, 0.3, 0.15, 0.05],
        figure="worst_posterior",
        bounds=[0.8],
    )
    best, other = found.points
    assert best.worst_posterior <= 0.8 + 1e-9
    assert other.worst_posterior <= 0.8 + 1e-9
    assert best.width < 0.9 * other.width
    assert found.plot().axes[0].get_xlabel().startswith("worst posterior of an answer")
    assert len(tradeoff(["related"], n=100, figure="worst_posterior").points) == 5


@pytest.mark.slow
def test_groupings_change_the_privacy_of_a_record_and_pairs_not_single_answers() -> None:
    found = tradeoff(
        ["related", "unrelated", "crosswise"], n=1000, questions=4, groups=[1, 2, 4], bounds=[1.0]
    )
    points = {(p.candidate, p.groups): p for p in found.points}
    assert set(points) == {(f, g) for f in ("related", "unrelated") for g in (1, 2, 4)} | {
        ("crosswise", 4)
    }
    assert math.isinf(points["related", 1].record_epsilon)
    assert points["related", 4].record_epsilon == pytest.approx(4, abs=0.01)
    one, two, four = (points["unrelated", g] for g in (1, 2, 4))
    assert one.record_epsilon < two.record_epsilon < four.record_epsilon
    assert one.width == four.width
    assert (one.pair_width or 0) < (four.pair_width or 0)
    assert "how answers of a group go together" in found.warnings[0]
    assert found.plot().axes[0].get_xlabel().startswith("epsilon of a record")


def test_json_and_tables_have_every_point() -> None:
    found = tradeoff([related("0.7"), related], n=500, questions=2, bounds=[1.0])
    plain = found.to_dict()
    assert json.loads(json.dumps(plain, allow_nan=False)) == plain
    assert len(plain["points"]) == 4
    assert plain["points"][0]["record_epsilon"] is None
    assert str(found).count("infinite") == 2
    assert found._repr_html_().startswith("<table")


@pytest.mark.parametrize(
    ("candidates", "given", "message"),
    [
        (["related"], {}, "give n or width"),
        (["related"], {"n": 10, "width": 0.1}, "give n or width"),
        ("related", {"n": 10}, "must be a list"),
        ([], {"n": 10}, "must be a list"),
        (["related"], {"n": 10, "questions": 0}, "whole number from 1"),
        (["related"], {"n": 10, "groups": [2]}, "numbers from 1 to 1"),
        (["related"], {"n": 10, "figure": "epsilom"}, "did you mean 'epsilon'"),
        ([crosswise("1/4")], {"n": 10, "questions": 2, "groups": [1]}, "crosswise needs"),
        ([lambda t: forced(t, [0, 1])], {"n": 10}, "no candidate keeps"),
    ],
)
def test_wrong_comparisons_are_refused(candidates: Any, given: Any, message: str) -> None:
    with pytest.raises(TacitError, match=message):
        tradeoff(candidates, **given)
