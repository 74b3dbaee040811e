"""Reports of crosswise and triangular are not read the wrong way round."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from tacit import (
    Attribute,
    Design,
    Group,
    Schema,
    crosswise,
    reconstruct,
    related,
    triangular,
    truthful,
    uniform_perturbation,
)
from tacit.compliance import Careless
from tacit.core.channel import Coin
from tacit.core.conditions import DOES_NOT_APPLY
from tacit.errors import DataError
from tacit.records import count_reported, write_text
from tests.support.families import MAKERS, fits, random_coin

ANSWERS = Attribute("drug", ["no", "yes"])
#: Family -> the words of its reports for no and for yes.
WORDS = {
    crosswise("1/4"): ("different", "same"),
    triangular("1/4"): ("both no", "at least one yes"),
}


def _design(coin: Coin) -> Design:
    return Design(Schema([ANSWERS]), [Group(["drug"], coin)])


def _frame(no: str, yes: str, reports_of_yes: int, n: int = 1000) -> pd.DataFrame:
    return pd.DataFrame({"drug": [yes] * reports_of_yes + [no] * (n - reports_of_yes)})


@pytest.mark.parametrize("coin", WORDS, ids=str)
def test_reports_may_be_named_by_what_was_asked(coin: Coin, tmp_path: Path) -> None:
    design, words = _design(coin), _frame(*WORDS[coin], 700)
    plain = reconstruct(_frame("no", "yes", 700), design).table(["drug"]).value
    csv, parquet = tmp_path / "words.csv", tmp_path / "words.parquet"
    write_text(csv, words.to_csv(index=False))
    words.to_parquet(parquet)
    for source in (words, csv, parquet):
        assert np.array_equal(reconstruct(source, design).table(["drug"]).value, plain)


@pytest.mark.parametrize("coin", WORDS, ids=str)
def test_the_words_change_no_design(coin: Coin) -> None:
    design = _design(coin)
    assert design.reported == design.schema
    assert WORDS[coin][1] not in design.to_json()
    assert Design.from_json(design.to_json()) == design


def test_a_category_precedes_a_word_of_the_family() -> None:
    """Somebody whose first category is called "same" means that category."""
    odd = Schema([Attribute("drug", ["same", "different"])])
    design = Design(odd, [Group(["drug"], crosswise("1/4"))])
    counts = count_reported(_frame("same", "different", 300), design)
    assert counts.marginal(["drug"]).tolist() == [700, 300]


def test_other_families_do_not_know_these_words() -> None:
    with pytest.raises(DataError, match="'same'"):
        reconstruct(_frame("different", "same", 700), _design(related("3/4")))


def test_crosswise_reports_that_are_coded_the_natural_way_are_questioned() -> None:
    """A share of .099, with "different" coded as yes, is printed as .901: with a question."""
    right = reconstruct(_frame("no", "yes", 700), _design(crosswise("1/4"))).table(["drug"])
    wrong = reconstruct(_frame("no", "yes", 300), _design(crosswise("1/4"))).table(["drug"])
    assert right.value[1] == pytest.approx(0.1, abs=1e-12)
    assert right.warning == ""
    assert "CODING" not in str(right)
    assert "CODING: are the reports reversed?" in str(wrong)
    assert "is 0.1000, not 0.9000" in wrong.to_dict()["warning"]


def test_reversed_crosswise_reports_of_what_nobody_has_are_questioned() -> None:
    """Exchanged, they would give a share just below 0, which is common if the answer is rare."""
    wrong = reconstruct(_frame("no", "yes", 245), _design(crosswise("1/4"))).table(["drug"])
    assert wrong.fit is not None
    assert wrong.fit.pvalue > 0.05
    assert "is -0.0100, not 1.0100" in wrong.warning


def test_reversed_reports_are_questioned_in_every_estimate_of_the_question() -> None:
    schema = Schema([ANSWERS, Attribute("sex", ["m", "f"])])
    design = Design(schema, [Group(["drug"], crosswise("1/4")), Group(["sex"], truthful())])
    yes, women = _frame("no", "yes", 300)["drug"], ["m", "f"] * 500
    frame = pd.DataFrame({"drug": yes, "sex": women})
    event, between = {"drug": "yes"}, ({"sex": "f"}, {"sex": "m"})
    for weights in (None, np.linspace(1, 1.1, 1000)):
        found = reconstruct(frame, design, weights=weights)
        for estimate in (
            found.probability(event),
            found.probability(event, given={"sex": "f"}),
            found.table(["drug", "sex"]),
            found.table(["drug"], given=["sex"]),
            found.difference(event, between),
            found.contrast(lambda p: p[0], [event]),
        ):
            assert str(estimate).count("CODING") == 1
        assert found.table(["sex"]).warning == ""


@pytest.mark.parametrize("coin", WORDS, ids=str)
def test_a_question_on_which_another_depends_is_printed_and_questioned(coin: Coin) -> None:
    schema = Schema([ANSWERS, Attribute("often", [DOES_NOT_APPLY, "no", "yes"])])
    groups = [Group(["drug"], coin), Group(["often"], uniform_perturbation("3/5"))]
    design = Design(schema, groups, asked_if={"often": {"drug": "yes"}})
    cells = [[0, 0], [1, 0], [0, 1], [1, 1], [0, 2], [1, 2]]
    records = np.repeat(cells, [600, 60, 140, 20, 160, 20], axis=0)
    share = reconstruct(records.astype(np.uint8), design).probability({"drug": "yes"})
    assert "CODING" in str(share)


def test_triangular_reports_that_are_reversed_are_questioned() -> None:
    design = _design(triangular("1/4"))
    wrong = reconstruct(_frame("no", "yes", 150), design)
    assert "the share of yes is 0.8000, not -0.1333" in str(wrong.table(["drug"]))
    assert "CODING" in str(wrong)
    assert "CODING" not in str(reconstruct(_frame("no", "yes", 300), design).table(["drug"]))


def test_reversed_reports_of_careless_people_are_questioned() -> None:
    both = Schema([Attribute("drug", ["no", "yes"]), Attribute("moon", ["no", "yes"])])
    coin = crosswise("0.15")
    design = Design(both, [Group(["drug"], coin), Group(["moon"], coin)])
    records = np.repeat([[0, 0], [0, 1], [1, 0], [1, 1]], [186, 590, 254, 970], axis=0)
    model = Careless(anchor="moon", known=[1, 0])
    assert "CODING" not in str(model.fit([(records, design)]))
    assert "are the reports of drug, moon reversed?" in str(model.fit([(1 - records, design)]))


@pytest.mark.parametrize("family", [name for name in MAKERS if fits(name, (2,))])
def test_a_printed_design_says_what_reports_of_every_family_mean(family: str) -> None:
    rng = np.random.default_rng(7)
    coin = random_coin(family, (ANSWERS,), rng)
    design = _design(coin)
    (meaning,) = design.report_meanings
    assert meaning == f"reports of drug: {coin.report_meaning((ANSWERS,))}"
    assert meaning in str(design)
