from __future__ import annotations

import json
import math
import re
from html.parser import HTMLParser
from typing import Any

import numpy as np
import pytest

from tacit import Attribute, Design, Group, Schema
from tacit.core.channel import crosswise, frapp, matrix, related, truthful, unrelated
from tacit.errors import DataError, DesignError
from tacit.privacy import Limits, Rule, compare_schemes, figures, pse_curve, report
from tacit.privacy.report import NOT_KNOWN
from tacit.privacy.scopes import of_100, of_100_up

SMOKES = Schema([Attribute("smokes", ["No", "Yes"])])
PEOPLE = Schema(
    [
        Attribute("smokes <b>", ["no", "yes"]),
        Attribute("drinks & eats", ["no", "yes"]),
        Attribute("income", ["low", "mid", "high"]),
    ]
)
DESIGN = Design(
    PEOPLE,
    [
        Group(["smokes <b>", "drinks & eats"], related(0.7)),
        Group(["income"], unrelated(0.5, [0.2, 0.3, 0.5])),
    ],
)
TABLE = np.random.default_rng(1).dirichlet(np.ones(12)).reshape(2, 2, 3)
RULES = [Rule({"smokes <b>": "yes"}, "income", "low", 0.8)]


def one(coin: Any, schema: Schema = SMOKES) -> Design:
    return Design(schema, [Group(schema.names, coin)])


def test_a_sentence_counts_those_of_100_who_have_another_true_answer() -> None:
    found = report(one(related("3/4")), {"smokes": {"No": 0.65, "Yes": 0.35}})
    # Yes: 0.65 * 1/4 of 0.65 * 1/4 + 0.35 * 3/4, that is 38.2 of 100; No: 15.2 of 100.
    assert found.sentences == (
        "smokes: of 100 people who send “No”, 15 have another true answer, because chance "
        "decided what was sent; of 100 who send “Yes”, 38 do "
        "(if answers are as common as given).",
    )


@pytest.mark.parametrize(
    ("coin", "said"),
    [
        (truthful(), "every answer that is sent gives the true one away"),
        (related("999/1000"), "fewer than 1 has another true answer, because chance decided"),
        (related("99/100"), "“No”, 1 has another true answer, because chance decided what was"),
        (unrelated("1/2", [0, 1]), "“No”, none has another true answer; of 100 who send"),
        (related("3/4"), "(if both answers were equally common)."),
    ],
)
def test_sentences_stay_true_at_the_edges(coin: Any, said: str) -> None:
    assert said in report(one(coin)).sentences[0]


def test_an_attribute_of_many_categories_has_its_least_protected_ones_told() -> None:
    schema = Schema([Attribute("age", range(5))])
    told = report(one(frapp(3), schema), [0.5, 0.2, 0.1, 0.1, 0.1]).sentences[0]
    assert told.count("who send") == 3
    assert "“0”" in told
    assert told.endswith("the other 2 answers protect no less (if answers are as common as given).")


def test_people_are_rounded_so_that_nothing_sounds_safer() -> None:
    assert (of_100(0.3899), of_100(0.39 - 1e-13), of_100(0)) == (38, 39, 0)
    assert (of_100_up(0.3801), of_100_up(0.38 + 1e-13), of_100_up(1)) == (39, 38, 100)
    assert (of_100_up(1e-30), of_100_up(0)) == (1, 0)


def test_warnings_name_what_is_disclosed() -> None:
    told = " ".join(report(DESIGN, TABLE).warnings)
    assert "One coin for smokes <b>, drinks & eats" in told
    assert "a whole record is not: its epsilon is infinite" in told
    assert "Not disguised: smokes." in " ".join(report(one(truthful())).warnings)
    some = report(one(unrelated("1/2", [0, 1]))).warnings
    assert any("rule out some true answers" in said for said in some)
    assert any("give the truth away for certain" in said for said in some)
    wide = Schema([Attribute("a", range(3)), Attribute("b", range(2))])
    assert "differ in every one" in report(one(related(0.7), wide)).warnings[1]
    assert report(one(related(0.7))).warnings == ()


def test_a_group_that_reveals_whole_records_is_shown_though_each_answer_looks_safe() -> None:
    schema = Schema([Attribute(f"q{i}", ["no", "yes"]) for i in range(10)])
    unknown, said = report(one(unrelated(0.7, [0.5, 0.5]), schema)).warnings
    # 0.7 + 0.3 / 1024 against 0.85 ** 10.
    assert "q7 and 2 more: their true answers are guessed right all at once in up to 71" in said
    assert said.endswith("each by its own report, suggest 19.")
    apart = Design(schema, [Group([n], unrelated(0.7, [0.5, 0.5])) for n in schema.names])
    assert report(apart).warnings == (unknown,) == (NOT_KNOWN,)


def test_of_many_answers_that_others_reveal_the_most_revealed_are_named() -> None:
    schema = Schema([Attribute(f"q{i}", ["no", "yes"]) for i in range(11)])
    design = Design(schema, [Group([n], related(0.6)) for n in schema.names])
    same: Any = np.zeros((2,) * 11)
    same[(0,) * 11] = same[(1,) * 11] = 0.5
    said = report(design, same).warnings[-1]
    assert said.count("(alone 60)") == 8
    assert said.endswith("; less about 3 more.")


def test_a_record_tells_more_of_an_answer_where_answers_go_together() -> None:
    schema = Schema([Attribute("a", [0, 1]), Attribute("b", [0, 1])])
    design = Design(schema, [Group(["a"], related(0.6)), Group(["b"], related(0.9))])
    found = report(design, [[0.45, 0.05], [0.05, 0.45]])
    assert found.attributes["a"].alone.accuracy < found.attributes["a"].from_record.accuracy
    assert "The whole reported record says more about an answer" in found.warnings[0]
    assert "a 82 (alone 60)" in found.warnings[0]


def test_a_matrix_over_several_attributes_has_the_figures_of_its_group() -> None:
    schema = Schema([Attribute("a", [0, 1]), Attribute("b", [0, 1])])
    joint = matrix((np.full((4, 4), 1) + 4 * np.eye(4)) / 8)
    found = report(one(joint, schema), np.full((2, 2), 0.25))
    assert found.epsilon.attributes["a"] == found.epsilon.groups[0] == found.epsilon.record
    assert found.pse.attributes["a"] is not None
    assert found.pse.attributes["a"] < 0.5
    assert len(found.answers["a"]) == 2


def test_levels_hold_attributes_groups_and_record() -> None:
    found = report(DESIGN, TABLE)
    for levels in (found.pse, found.map_privacy, found.worst_posterior, found.information):
        assert list(levels.attributes) == list(PEOPLE.names)
        assert len(levels.groups) == 2
    assert found.pse.record == found.record.from_record.pse
    assert math.isinf(found.epsilon.record)


def test_crosswise_is_related() -> None:
    prior = [0.8, 0.2]
    first, second = report(one(crosswise(0.25)), prior), report(one(related(0.25)), prior)
    assert first.pse == second.pse


def test_json_is_exact_and_has_no_infinity() -> None:
    found = report(DESIGN, TABLE, rules=RULES, repeats=2)
    read = json.loads(found.to_json())
    assert read == found.to_dict()
    assert read["record"]["epsilon"] is None
    assert read["record"]["from_record"]["pse"] == found.pse.record
    assert read["design"] == DESIGN.fingerprint
    assert read["repeated"]["reports"] == 2
    assert [found["attribute"] for found in read["after_mining"]] == ["smokes <b>", "income"]


def test_the_text_and_the_notebook_lead_with_sentences() -> None:
    found = report(DESIGN, TABLE, rules=RULES, repeats=2)
    assert str(found).startswith(found.sentences[0])
    shown = found._repr_html_()
    assert "smokes &lt;b&gt;" in shown
    assert "<b>" not in shown
    assert shown.count("<table>") == 5
    assert shown.count("<tr>") == 3 * (1 + 3 + 1 + 1) + (1 + 2) + (1 + 3 + 1)
    assert found.repeated is not None
    assert found.repeated.caption() in str(found)
    frame = found.to_frame(backend="pyarrow").to_pydict()
    assert frame["scope"] == ["attribute"] * 3 + ["group"] * 2 + ["record"]
    assert frame["pse_from_record"][-1] == found.pse.record


class Page(HTMLParser):
    """Tags and attributes of a page."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.links: list[str] = []
        self.tags: list[str] = []
        self.feed(text)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append(tag)
        self.links += [f"{k}={v}" for k, v in attrs if k in ("src", "href", "xlink:href", "data")]


def test_the_page_loads_nothing_and_escapes_names() -> None:
    text = report(DESIGN, TABLE, rules=RULES, repeats=2).to_html()
    page = Page(text)
    assert [link for link in page.links if not link.split("=", 1)[1].startswith("#")] == []
    assert not {"script", "link", "img", "iframe", "b"} & set(page.tags)
    assert re.findall(r"url\((?!#)", text) == []
    assert "<svg" in text
    assert text.index("of 100 people") < text.index("<svg") < text.index("<table")
    assert "After a model is published" in text
    assert "Taking part more than once" in text


def test_the_figure_shows_every_attribute_and_the_record() -> None:
    (axes,) = report(DESIGN, TABLE).plot().axes
    labels = [label.get_text() for label in axes.get_yticklabels()]
    assert labels == [*PEOPLE.names, "whole record"]


def test_of_many_attributes_the_figure_shows_the_least_private_and_says_so() -> None:
    schema = Schema([Attribute(f"q{i}", ["no", "yes"]) for i in range(31)])
    design = Design(schema, [Group([f"q{i}"], related(0.6 + 0.01 * i)) for i in range(31)])
    (axes,) = report(design).plot().axes
    labels = [label.get_text() for label in axes.get_yticklabels()]
    assert labels == list(schema.names[1:])  # how much a whole record tells is not known
    assert axes.get_title() == "the 30 least private of 31"


@pytest.mark.slow
def test_a_report_is_the_same_every_time() -> None:
    assert report(DESIGN, TABLE).to_html() == report(DESIGN, TABLE).to_html()


@pytest.mark.parametrize(
    ("arguments", "error", "said"),
    [
        ({"rules": "A => B"}, DataError, "rules must be a list"),
        ({"repeats": 0}, DataError, "from 1 up"),
        ({"limits": Limits(level=1.0)}, DataError, "level"),
    ],
)
def test_other_arguments_that_do_not_fit(
    arguments: dict[str, Any], error: type[Exception], said: str
) -> None:
    with pytest.raises(error, match=said):
        report(DESIGN, TABLE, **arguments)


def test_a_design_is_needed() -> None:
    with pytest.raises(DesignError, match="design must be a Design"):
        report("survey.json")  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("matrix_", "prior", "said"),
    [
        ([[0.5, 0.5], [0.5, 0.5]], [0.5, 0.6], "the prior must sum to 1, but sums to 1.1"),
        ([[0.5, 0.4], [0.5, 0.5]], [0.5, 0.5], "column 1 of the channel matrix must sum to 1"),
        ([[0.5, 0.5], [0.5, 0.5]], [1.0], "one probability for each true category"),
        ([["a"]], [1.0], "must hold numbers"),
        ([[1.5, 0.5], [-0.5, 0.5]], [0.5, 0.5], "must hold probabilities"),
    ],
)
def test_figures_of_a_matrix_and_a_prior_that_do_not_fit(
    matrix_: Any, prior: Any, said: str
) -> None:
    with pytest.raises(DataError, match=said):
        figures(matrix_, prior)


def test_an_unknown_figure_has_no_interval() -> None:
    found = figures(np.eye(2), [0.5, 0.5])
    assert found.interval("pse") == (0, 0)
    with pytest.raises(DataError, match="did you mean 'pse'"):
        found.interval("psee")


def test_a_comparison_is_values_a_table_and_a_figure() -> None:
    found = compare_schemes(PEOPLE, TABLE, thetas=("1/4", 0.75), groups=(1, 2, 5))
    assert len(found.points) == 2 * 2 * 2
    assert found.to_frame(backend="pyarrow").num_rows == 8
    assert found.to_dict()["epsilon"][0] is None
    assert "related" in str(found)
    assert found._repr_html_().count("<tr>") == 6
    assert len(found.plot().axes) == 2
    assert [len(table.rows) for table in found.tables()] == [2, 2]
    assert json.loads(found.to_json())["prior"] == found.prior == "known"
    with pytest.raises(DataError, match="unknown figure"):
        found.curve("related", 1, "mse")
    with pytest.raises(DataError, match="'related' with 9 groups was not compared"):
        found.curve("related", 9, "pse")
    with pytest.raises(DataError, match="groups must be a whole number"):
        compare_schemes(PEOPLE, groups=(0,))


@pytest.mark.parametrize(
    ("thetas", "wa", "wy"), [([0.5], 1.2, 0.5), ([0.5], 0.5, -1), ([2], 0.5, 0.5)]
)
def test_a_curve_needs_probabilities(thetas: list[float], wa: float, wy: float) -> None:
    with pytest.raises(DataError, match="between 0 and 1"):
        pse_curve(thetas, wa, wy)
