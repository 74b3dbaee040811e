"""Disclosure from reported records: ranges and bounds hold, and understated risk is detected.

`python -m tests.statistical.disclosure_study` runs the same on hundreds of populations.
"""

from __future__ import annotations

from functools import cache, reduce

import numpy as np
import pytest
from scipy.stats import binom

from tacit import Design, Group, Schema, reconstruct, related, uniform_perturbation
from tacit.core.arrays import Array
from tacit.models.units import UnitLayout, UnitReports
from tacit.privacy import Report, report
from tacit.privacy.disclosure import LEVEL, assess, table_misfit
from tacit.privacy.model_stack import TableStack
from tacit.records import PatternTable
from tests.statistical.disclosure_study import Outcome, attributes, outcomes, records
from tests.support.chance import FALSE_ALARM
from tests.support.families import MAKERS, TAMEST, attributes_of, fits
from tests.support.populations import copied, surveyed, three_way, truth

SEEDS = range(40, 45)
#: A range may be wrong in 1 of 20 populations, a bound in 1 of 100.
RANGE_MISSES, BOUND_MISSES = 0.05, 0.01
TEN = Schema(attributes_of((2,) * 10))


@cache
def studied() -> tuple[Outcome, ...]:
    return tuple(outcome for seed in SEEDS for outcome in outcomes(seed))


def allowed(rate: float, populations: int) -> int:
    """Populations that may be missed at this rate; more are missed once in a million."""
    return int(binom.isf(FALSE_ALARM, populations, rate))


def missed(found: list[Outcome], end: int) -> int:
    """Populations with a truth above an end: 2 of ranges, 3 the bound."""
    return len({o.seed for o in found if o.true.accuracy > o.accuracy[end] + 1e-9})


def test_the_upper_end_of_a_range_is_rarely_exceeded() -> None:
    for scopes in (attributes(studied()), records(studied())):
        assert missed(scopes, 2) <= allowed(RANGE_MISSES, len(SEEDS))


def test_the_bound_is_hardly_ever_exceeded() -> None:
    assert missed(list(studied()), 3) <= allowed(BOUND_MISSES, len(SEEDS))
    worst = {o.seed for o in studied() if o.true.worst_posterior > o.worst[3] + 1e-9}
    assert len(worst) <= allowed(BOUND_MISSES, len(SEEDS))


def test_groups_taken_as_independent_would_be_detected() -> None:
    """Negative control: what was reported before, even with every single table known."""
    sizes, populations = (2,) * 6, 20
    schema = Schema(attributes_of(sizes))
    design = Design(schema, [Group([name], related(0.8)) for name in schema.names])
    misses = 0
    for seed in range(populations):
        table = copied(sizes, np.random.default_rng(seed))
        margins = [table.sum(axis=tuple(set(range(6)) - {i})) for i in range(6)]
        apart: Array = reduce(np.multiply.outer, margins)
        said, true = truth(apart, design)[1], truth(table, design)[1]
        misses += true.accuracy > said.accuracy + 0.01
    assert misses > allowed(RANGE_MISSES, populations)


@pytest.mark.parametrize("sizes", [(2, 4, 3, 3, 5, 5), (2,) * 12])
def test_the_study_finds_a_coin_of_every_family_that_fits(sizes: tuple[int, ...]) -> None:
    """It draws until one can be reconstructed well, which never ends if none can."""
    own, rng = attributes_of(sizes), np.random.default_rng(1)
    for family in filter(lambda family: fits(family, sizes), MAKERS):
        drawn = (MAKERS[family](own, rng) for _ in range(200))
        assert any(coin.channel(own).condition <= TAMEST for coin in drawn), family


def two_kinds(q: float, questions: int) -> Array:
    """Half of the people tend to answer yes to everything, the others no."""
    yes: Array = reduce(np.multiply.outer, [np.array([q, 1 - q])] * questions)
    return (yes + np.flip(yes)) / 2


def ten_questions(n: int) -> tuple[Array, Design, PatternTable]:
    table = two_kinds(0.95, 10)
    design = Design(TEN, [Group([name], related(0.8)) for name in TEN.names])
    return table, design, surveyed(table, design, n, np.random.default_rng(12))


def test_ten_questions_that_go_together_are_not_reported_as_if_they_were_unrelated() -> None:
    """Unrelated, all ten would be guessed right in 11 of 100 cases; in truth it is 59."""
    table, design, reported = ten_questions(10_000)
    singles, record = truth(table, design)
    assert record.accuracy == pytest.approx(0.587, abs=0.001)
    assert 0.8**10 < 0.11
    found = report(design, reconstruct(reported, design))
    held = found.disclosure.record
    assert held.accuracy is not None
    assert held.span is not None
    assert held.bound is not None
    assert record.accuracy <= held.span[1] <= held.bound
    assert abs(held.accuracy - record.accuracy) < abs(held.accuracy - 0.8**10)
    assert "warning: What a whole reported record reveals is estimated" in str(found)[:80]
    for name, true in singles.items():
        one = found.disclosure.attributes[name]
        assert one.accuracy is not None
        assert one.span is not None
        assert found.attributes[name].alone.accuracy < 0.82
        assert true.accuracy <= one.span[1]


def alike(questions: int, n: int) -> tuple[Array, Design, PatternTable]:
    """Questions under coins of their own, answered much the same by each of two kinds of people."""
    schema = Schema(attributes_of((2,) * questions))
    design = Design(schema, [Group([name], related(0.8)) for name in schema.names])
    table = two_kinds(0.95, questions)
    return table, design, surveyed(table, design, n, np.random.default_rng(12))


def test_who_knows_other_answers_is_not_measured_as_if_answers_were_unrelated() -> None:
    """Unrelated, others would add nothing to the own report: .80. In truth it is .95."""
    table, design, reported = alike(11, 3_000)
    own = table.reshape(2, -1)
    reports = np.array([[0.8, 0.2], [0.2, 0.8]])
    true = sum(float((row[:, None] * own).max(axis=0).sum()) for row in reports)
    assert true == pytest.approx(0.95, abs=0.001)
    found = report(design, reconstruct(reported, design))
    assert not found.prior.ties_all
    for name, held in found.disclosure.attributes.items():
        known = found.knowing_others[name]
        assert known is not None
        assert known.accuracy >= true
        assert held.span is not None
        assert known.accuracy >= held.span[1] - 1e-9
    assert "unrelated" not in str(found)


def test_who_knows_other_answers_is_not_known_where_no_joint_table_fits() -> None:
    _, design, reported = alike(18, 300)
    found = report(design, reconstruct(reported, design))
    assert set(found.knowing_others.values()) == {None}
    table = found.tables()[0]
    assert table.rows[0][table.heads.index("others known")] == "not known"
    assert "is not known; it may be everything." in found.sentences[-1]
    assert found.to_dict()["attributes"]["a0"]["knowing_others"] is None
    assert "a number not known if other answers are known" in found.to_html()


@cache
def of_few_reports() -> Report:
    _, design, reported = ten_questions(80)
    return report(design, reconstruct(reported, design))


def test_too_few_reports_do_not_repeat_the_figures_of_single_reports() -> None:
    found = of_few_reports()
    assert found.disclosure.record.accuracy is None
    assert {held.accuracy for held in found.disclosure.attributes.values()} == {None}
    assert found.map_privacy.record is None
    assert str(found).startswith("warning: 80 reported records are too few to show how answers go")
    assert found.tables()[0].rows[-1][3] == "not known"
    assert found.to_dict()["attributes"]["a0"]["from_record"] is None


def test_the_warning_about_dependence_comes_first_in_text_page_and_json() -> None:
    found = of_few_reports()
    warning = "80 reported records are too few to show how answers go together"
    assert warning in str(found).split("\n", maxsplit=1)[0]
    page = found.to_html()
    assert -1 < page.index(warning) < page.index("of 100 people")
    assert warning in found.to_dict()["warnings"][0]


def test_dependence_among_three_answers_is_not_missed_where_no_joint_table_fits() -> None:
    """Classes cannot model it: the reports contradict them, and the range reaches to the bound."""
    sizes = (2,) * 6
    rng = np.random.default_rng(5)
    design = Design(
        Schema(attributes_of(sizes)),
        [Group([f"a{i}"], uniform_perturbation(0.7)) for i in range(6)],
    )
    table = three_way(sizes, rng)
    reported = surveyed(table, design, 20_000, rng)
    found = assess(design, reported, rng, max_table=8)
    whole = found.scopes[design.schema.names]
    assert not found.knowing_others  # no joint table was fitted
    singles, record = truth(table, design)
    for held, true in [(whole, record), (found.scopes["a2",], singles["a2"])]:
        low, _ = held.figures.interval("map_privacy")
        assert 1 - low >= true.accuracy
    assert not whole.known("map_privacy")


def test_a_right_model_is_rarely_rejected_and_a_wrong_one_always() -> None:
    """At most once in 100: that more than 12 of 200 are has a probability below 1e-6."""
    rng, schema = np.random.default_rng(6), Schema(attributes_of((2, 2, 2)))
    design = Design(schema, [Group([name], uniform_perturbation(0.7)) for name in schema.names])
    layout, rejected = UnitLayout(design), np.zeros(2, int)
    right, wrong = (rng.dirichlet(np.ones(8)).reshape(2, 2, 2, 1) for _ in range(2))
    for _ in range(200):
        reports = UnitReports(surveyed(right[..., 0], design, 2_000, rng), design)
        stacks = (TableStack(layout, table, np.ones(1)) for table in (right, wrong))
        rejected += [table_misfit(reports, stack) for stack in stacks]
    assert rejected[0] <= binom.isf(FALSE_ALARM, 200, LEVEL)
    assert rejected[1] == 200
