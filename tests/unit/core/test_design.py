"""Group and Design: the partition, the errors, the file, the channel of any attributes."""

from __future__ import annotations

import contextlib
import copy
import json
import math
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pytest

from tacit import Attribute, Design, Group, Schema, TacitError
from tacit.core.channel import (
    crosswise,
    forced,
    frapp,
    matrix,
    related,
    truthful,
    uniform_perturbation,
    unrelated,
)
from tacit.errors import DesignError, FileError, SchemaError
from tests.support.families import CASES, attributes_of

SCHEMA = Schema([Attribute("smokes", ["no", "yes"]), Attribute("income", ["low", "mid", "high"])])
DESIGN = Design(SCHEMA, [Group(["smokes"], related(0.7)), Group(["income"], frapp(5))])
REST = Group(["income"], truthful())
TALL = [[0.5, 0.1, 0.1, 0.1], [0.1, 0.5, 0.1, 0.1], [0.1, 0.1, 0.5, 0.1], [0.1, 0.1, 0.1, 0.5]]
TALL += [[0.2] * 4]


def smokes(coin: Any) -> Design:
    return Design(SCHEMA, [Group(["smokes"], coin), REST])


@pytest.mark.parametrize(
    ("make", "said"),
    [
        (lambda: Group("smokes", related(0.7)), "a group needs a list of attribute names"),
        (lambda: Group([], related(0.7)), "a group needs a list of attribute names"),
        (lambda: Group(["smokes"], 0.7), r"needs a coin such as related\(theta=0.7\), got 0.7"),
        (
            lambda: Design(SCHEMA, [Group(["smokes", "income"], related(0.7)), REST]),
            "'income' appears twice, in groups 1 and 2",
        ),
        (
            lambda: Design(SCHEMA, [Group(["smokes", "smokes"], related(0.7)), REST]),
            "'smokes' appears twice, in one group",
        ),
        (lambda: Design(SCHEMA, [REST]), r"'smokes' is in no group; .* truthful\(\)"),
        (
            lambda: Design(SCHEMA, [Group(["smoke"], related(0.7)), REST]),
            "unknown attribute 'smoke' in group 1; did you mean 'smokes'",
        ),
        (lambda: related(1.2), r"related: theta must lie between 0 and 1, got 1.2"),
        (lambda: crosswise(-0.1), "crosswise: p must lie between 0 and 1"),
        (lambda: uniform_perturbation("two"), "q must be a number .* '1/6', got 'two'"),
        (lambda: related(True), "theta must be a number"),
        (lambda: related(float("nan")), "theta must be a number"),
        (lambda: frapp(-1), "lambda must not be negative, got -1"),
        (lambda: matrix([[0.5, 0.5], [0.5, 0.4]]), "column 1 must sum to 1, but sums to 0.9"),
        (lambda: matrix([["1/3", 0], ["1/3", 1]]), "column 0 must sum to 1"),
        (lambda: matrix([[1.5, 0], [-0.5, 1]]), r"column 0\[0\] must lie between 0 and 1"),
        (lambda: matrix([[1, 0]]), "1 reported categories cannot tell 2 true ones apart"),
        (lambda: matrix([[1, 1], [0, 0]]), "row 1 is all zero"),
        (lambda: matrix([[1, 0], [0]]), "all rows must have the same number"),
        (lambda: matrix(7), "must be a list of rows"),
        (lambda: matrix([[1, 0], [0, 1]], reported=["x"]), "2 rows need as many labels, got 1"),
        (lambda: smokes(matrix(np.eye(3))), r"group \[smokes\]: matrix: has 3 columns"),
        (
            lambda: Design(
                SCHEMA, [Group(["income"], crosswise(0.25)), Group(["smokes"], truthful())]
            ),
            r"group \[income\]: crosswise needs .* two categories, got 'income' with 3",
        ),
        (lambda: smokes(unrelated(0.5, [0.2, 0.3, 0.5])), "personal has shape 3, but the group"),
        (lambda: smokes(unrelated(0.5, {"smoke": [0.5, 0.5]})), "did you mean 'smokes'"),
        (lambda: smokes(forced(0.5, {"smokes": [1]})), "needs 2 probabilities for 'smokes', got 1"),
        (lambda: forced(0.5, [0.5, 0.6]), "forced must sum to 1, but sums to 1.1"),
        (lambda: unrelated(0.5, 0.5), "must be a list of probabilities"),
    ],
)  # fmt: skip
def test_what_makes_no_design_is_an_error_that_says_why(
    make: Callable[[], object], said: str
) -> None:
    with pytest.raises(DesignError, match=said):
        make()


def test_an_empty_mapping_of_distributions_is_an_error() -> None:
    with pytest.raises(DesignError):
        smokes(unrelated(0.5, {}))


@pytest.mark.parametrize("turned", [False, True])
def test_a_merged_report_may_not_take_the_name_of_another_attribute(turned: bool) -> None:
    schema = Schema([Attribute(name, ["n", "y"]) for name in ("a", "b", "a+b")])
    groups = [Group(["a", "b"], matrix(TALL)), Group(["a+b"], truthful())]
    with pytest.raises(TacitError, match=r"a\+b"):
        Design(schema, groups[::-1] if turned else groups)


def test_a_float_stands_for_the_decimal_it_prints_as() -> None:
    assert related(0.7) == related("7/10") == related("0.7")
    assert related(1 / 3) != related("1/3")
    assert matrix([[0.1, 0.3], [0.9, 0.7]]) == matrix([["1/10", "3/10"], ["9/10", "7/10"]])
    thirds = forced(0.5, [1 / 3, 1 / 3, 1 / 3])
    assert sum(thirds.forced) == 1


def test_asking_for_attributes_twice_none_or_unknown_is_an_error() -> None:
    for names, said in [
        (["smokes", "smokes"], "'smokes' is asked for twice"),
        ([], "no attribute is asked for"),
        ("smokes", "must be a list of names"),
        (["incom"], "did you mean 'income'"),
    ]:
        with pytest.raises(SchemaError, match=said):
            DESIGN.channel(names)
        with pytest.raises(SchemaError, match=said):
            DESIGN.jointly_reported(names)


def test_the_closure_adds_what_a_joint_matrix_ties_together() -> None:
    schema = Schema(attributes_of((2, 3, 2)))
    joint = matrix(np.eye(4) * 0.6 + 0.1)
    design = Design(schema, [Group(["a2", "a0"], joint), Group(["a1"], related(0.8))])
    assert design.jointly_reported(["a1"]) == ("a1",)
    assert design.jointly_reported(["a1", "a0"]) == ("a1", "a0", "a2")
    assert Design(schema, [Group(schema.names, related(0.8))]).jointly_reported(["a1"]) == ("a1",)


def test_reported_records_have_the_true_schema_unless_a_matrix_says_otherwise() -> None:
    assert DESIGN.reported == SCHEMA
    schema = Schema(attributes_of((2, 3, 2)))
    design = Design(schema, [Group(["a2", "a0"], matrix(TALL)), Group(["a1"], truthful())])
    assert design.reported.names == ("a2+a0", "a1")
    assert design.reported["a2+a0"].categories == ("r1", "r2", "r3", "r4", "r5")
    named = smokes(matrix([[0.9, 0.2], [0.1, 0.8]], reported=["left", "right"]))
    assert named.reported["smokes"].categories == ("left", "right")


def test_epsilons_of_groups_add_up_and_conditions_multiply() -> None:
    both, parts = DESIGN.channel(SCHEMA.names), [DESIGN.channel([n]) for n in SCHEMA.names]
    assert both.epsilon == pytest.approx(sum(part.epsilon for part in parts), rel=1e-15)
    assert both.condition == pytest.approx(np.linalg.cond(both.matrix))
    assert Design(SCHEMA, [Group(SCHEMA.names, related(0.7))]).channel(SCHEMA.names).epsilon == (
        float("inf")
    )


def test_the_epsilon_of_a_design_is_that_of_a_whole_record() -> None:
    assert DESIGN.epsilon == DESIGN.channel(SCHEMA.names).epsilon
    assert DESIGN.epsilon == pytest.approx(math.log(7 / 3) + math.log(5), rel=1e-15)
    assert smokes(related(0.7)).epsilon == math.inf  # income is not disguised


def test_a_coin_has_the_epsilon_of_one_yes_no_answer_unless_its_parameters_say_more() -> None:
    assert related(0.75).epsilon == related("3/4").epsilon == pytest.approx(math.log(3))
    assert uniform_perturbation(0.5).epsilon == pytest.approx(math.log(3))
    assert frapp(5).epsilon == frapp("1/5").epsilon == pytest.approx(math.log(5))
    assert forced(0.5, [0.25, 0.25, 0.5]).epsilon == pytest.approx(math.log(5))
    assert unrelated(0.5, {"a": [0.5, 0.5], "b": [0.25, 0.75]}).epsilon == pytest.approx(
        math.log(9)
    )
    assert matrix(TALL).epsilon == pytest.approx(math.log(5))
    assert truthful().epsilon == math.inf


def test_a_design_prints_as_a_table_of_attributes_groups_coins_and_epsilon() -> None:
    heads, *rows = repr(DESIGN).splitlines()[1:4]
    assert heads.split() == ["attribute", "categories", "group", "coin", "epsilon"]
    assert rows[0].split() == ["smokes", "no,", "yes", "1", "related(theta=7/10)", "0.85"]
    assert rows[1].split() == ["income", "low,", "mid,", "high", "2", "frapp(lambda=5)", "1.61"]
    assert "2 attributes in 2 groups; epsilon of a record: 2.46" in str(DESIGN)
    assert repr(DESIGN) == str(DESIGN)
    assert "<td>0.85</td>" in DESIGN._repr_html_()


def test_a_group_and_its_coin_print_as_one_line() -> None:
    assert str(DESIGN.groups[0]) == "[smokes] related(theta=7/10)"
    assert str(Group(["a"], matrix(np.eye(30)))).endswith("...)")


@pytest.mark.parametrize(
    ("change", "error", "said"),
    [
        (lambda text: text[:-20], FileError, "not a design file: not JSON in line"),
        (lambda text: "[]", FileError, "not a design file"),
        (lambda text: text.replace('"version": 1', '"version": 2'), FileError, "upgrade tacit"),
        (
            lambda text: text.replace('"version": 1', '"version": "1"'),
            FileError,
            "positive integer",
        ),
        (lambda text: text.replace('"groups"', '"group"'), FileError, "did you mean 'groups'"),
        (lambda text: text.replace('"related"', '"relatd"'), DesignError, "did you mean 'related'"),
        (lambda text: text.replace('"theta"', '"thta"'), DesignError, "did you mean 'theta'"),
        (lambda text: text.replace('"7/10"', '"17/10"'), DesignError, "between 0 and 1"),
        (lambda text: text.replace('"no",', ""), SchemaError, "2 or more categories"),
    ],
)
def test_a_damaged_design_file_is_an_error_that_names_the_place(
    change: Callable[[str], str], error: type[TacitError], said: str
) -> None:
    with pytest.raises(error, match=said):
        Design.from_json(change(DESIGN.to_json()))


def paths(value: Any, before: tuple[Any, ...] = ()) -> Iterator[tuple[Any, ...]]:
    yield before
    places = range(len(value)) if isinstance(value, list) else value
    for place in places if isinstance(value, dict | list) else ():
        yield from paths(value[place], (*before, place))


ODD: list[Any] = [None, [], {}, "x", "", -1, 2, 0.5, True, [[]], {"x": 1}, "1/2"]


@pytest.mark.parametrize("case", [c for c in CASES if len(c.attributes) == 1], ids=str)
def test_any_odd_value_in_a_design_file_is_read_or_is_one_error(case: Any) -> None:
    whole = case.design.to_dict()
    for path in (p for p in paths(whole) if p):
        for odd in ODD:
            damaged = copy.deepcopy(whole)
            inner = damaged
            for key in path[:-1]:
                inner = inner[key]
            inner[path[-1]] = odd
            with contextlib.suppress(TacitError):
                Design.from_json(json.dumps(damaged))


def test_groups_of_another_kind_are_an_error_that_says_what_is_needed() -> None:
    schema = Schema([Attribute("a", ["no", "yes"])])
    with pytest.raises(DesignError, match="list of Groups"):
        Design(schema, [(["a"], related(0.7))])  # type: ignore[list-item]
    with pytest.raises(FileError, match=r"not a design file.*must be str"):
        Design.from_json(None)  # type: ignore[arg-type]
