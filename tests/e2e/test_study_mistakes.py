"""Mistakes in a study: the library and the command line give the same one clear error."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from tacit import Attribute, Design, Group, Schema, reconstruct, related
from tacit.cli.main import run
from tacit.compliance import Careless, Cheaters, LyingCarriers, pool
from tacit.core.label_codes import decode
from tacit.errors import TacitError
from tacit.records import Origin, count_reported
from tacit.records.count_file import StoredCounts
from tacit.regression import correlation, linear, logit
from tests.support.regions import REGIONS, regional

DRUG = Schema([Attribute("drug", ["no", "yes"])])
ONE, OTHER = (Design(DRUG, [Group(["drug"], related(theta))]) for theta in ("0.7", "0.8"))
DRUGS = np.repeat([[0], [1]], [70, 30], axis=0)
DATA = regional().assign(double=lambda f: 2 * f.year, everywhere="here", low=0.5, none=0, minus=-1)

REGRESS = ["regress", "design.json", "reported.csv", "--formula"]
ESTIMATE = ["estimate", "design.json", "reported.csv"]
SMOKES = {"smokes": "yes"}


def _logit(formula: str, **options: Any) -> Callable[[], object]:
    return lambda: logit(formula, DATA, REGIONS, **options)


#: What is wrong, how the library is called, the command, and what both say.
MISTAKES: dict[str, tuple[Callable[[], object], list[str], str]] = {
    "an unknown name in a formula": (
        _logit("smokes ~ yaer"),
        [*REGRESS, "smokes ~ yaer"],
        "unknown name 'yaer' in the formula; did you mean 'year'?",
    ),
    "an unknown outcome": (
        _logit("smoke ~ year"),
        [*REGRESS, "smoke ~ year"],
        "unknown outcome 'smoke' in the formula; did you mean 'smokes'?",
    ),
    "a transform of a disguised answer": (
        _logit("smokes ~ np.log(income)"),
        [*REGRESS, "smokes ~ np.log(income)"],
        "'income' is disguised, so 'np.log(income)' would be computed from reports",
    ),
    "a disguised answer given as a column": (
        lambda: reconstruct(DATA, REGIONS, columns=["income"]),
        [],
        "'income' is part of the design already; leave it out of columns",
    ),
    "a disguised outcome of no numbers in a linear regression": (
        lambda: linear("smokes ~ year", DATA, REGIONS),
        [*REGRESS, "smokes ~ year", "--linear"],
        "the outcome 'smokes' has categories that are not numbers; use logit",
    ),
    "a correlation of categories": (
        lambda: correlation("income", "year", DATA, REGIONS),
        [],
        "'income' has more than two categories that are not numbers",
    ),
    "a disguised answer in a matrix of covariates": (
        lambda: logit("smokes", DATA, REGIONS, covariates={"income": (DATA.income == "low") * 1}),
        [],
        "covariate 'income' is a disguised answer, and covariates= are used as they are",
    ),
    "a disguised answer as a weight": (
        lambda: reconstruct(DATA, REGIONS, weights="income"),
        [*ESTIMATE, "--weights", "income"],
        "'income' is a disguised answer; a sampling weight must not depend on one",
    ),
    "a weight of 0": (
        lambda: reconstruct(DATA, REGIONS, weights="none"),
        [*ESTIMATE, "--weights", "none"],
        "the sampling weight is 0 at record 0",
    ),
    "a negative weight in a regression": (
        _logit("smokes ~ year", weights="minus"),
        [*REGRESS, "smokes ~ year", "--weights", "minus"],
        "the sampling weight is negative at record 0",
    ),
    "a negative weight in a test": (
        lambda: reconstruct(DATA, REGIONS, weights="minus").independence(["smokes", "income"]),
        ["test", *ESTIMATE[1:], "--independence", "smokes,income", "--weights", "minus"],
        "the sampling weight is negative at record 0",
    ),
    "a stratum with one cluster": (
        lambda: reconstruct(DATA, REGIONS, strata="region", clusters="region"),
        [*ESTIMATE, "--strata", "region", "--clusters", "region"],
        "has one cluster, so the variance within it is unknown",
    ),
    "a stratum with one cluster in a regression": (
        _logit("smokes ~ year", strata="region", clusters="region"),
        [*REGRESS, "smokes ~ year", "--strata", "region", "--clusters", "region"],
        "has one cluster, so the variance within it is unknown",
    ),
    "collinear covariates": (
        _logit("smokes ~ year + double"),
        [*REGRESS, "smokes ~ year + double"],
        "the covariates are collinear: year, double; leave one of them out",
    ),
    "collinear covariates of an ordered model": (
        _logit("income ~ low", ordered=True),
        [*REGRESS, "income ~ low", "--ordered"],
        "covariate 'low' is constant",
    ),
    "an outcome with one category": (
        _logit("everywhere ~ smokes"),
        [*REGRESS, "everywhere ~ smokes"],
        "the outcome 'everywhere' has one category, 'here', in all records",
    ),
    "an outcome whose reports are all alike": (
        lambda: logit("smokes ~ year", DATA[DATA.smokes == "no"], REGIONS),
        ["regress", "design.json", "alike.csv", "--formula", "smokes ~ year"],
        "of the outcome 'smokes' are the same; a regression needs two or more categories",
    ),
    "a group with one category": (
        lambda: reconstruct(DATA, REGIONS, columns=["everywhere"]),
        [*ESTIMATE, "--table", "smokes", "--given", "everywhere"],
        "column 'everywhere' holds fewer than 2 categories",
    ),
    "groups of numbers that are not whole": (
        lambda: reconstruct(DATA.assign(low=DATA.year / 7), REGIONS, columns=["low"]),
        [],
        "column 'low' holds numbers that are not whole",
    ),
    "two groups that are the same": (
        lambda: reconstruct(DATA, REGIONS, columns=["region"]).difference(
            SMOKES, between=({"region": "north"}, {"region": "north"})
        ),
        ["compare", *ESTIMATE[1:], "--where", "smokes=yes", *["--between", "region=north"] * 2],
        "both groups are region = north; give two different conditions",
    ),
    "one sample that cannot identify cheaters": (
        lambda: Cheaters().fit([(DRUGS, ONE)]),
        ["compliance", "one.json", "one.csv", "--model", "cheaters"],
        "the share of cheaters",
    ),
    "two samples of one design that cannot identify lying carriers": (
        lambda: LyingCarriers().fit([(DRUGS, ONE), (DRUGS[10:], ONE)]),
        ["compliance", "one.json", "one.csv", "one.json", "few.csv", "--model", "lying-carriers"],
        "the share of carriers who deny",
    ),
    "careless answers without an anchor": (
        lambda: Careless().fit([(DRUGS, ONE)]),
        ["compliance", "one.json", "one.csv", "--model", "careless"],
        "the share of careless answers",
    ),
    "samples of different questions": (
        lambda: pool([(DRUGS, ONE), (DATA, REGIONS)], "drug"),
        ["compliance", "one.json", "one.csv", "design.json", "reported.csv", "--attribute", "drug"],
        "unknown attribute 'drug'",
    ),
    "counts of another design": (
        lambda: logit("drug ~ 1", Path("other.counts"), ONE),
        ["regress", "one.json", "other.counts", "--formula", "drug ~ 1"],
        "holds counts of another design",
    ),
}


@pytest.fixture(autouse=True)
def files(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    Path("design.json").write_text(REGIONS.to_json())
    Path("one.json").write_text(ONE.to_json())
    DATA.to_csv("reported.csv", index=False)
    DATA[DATA.smokes == "no"].to_csv("alike.csv", index=False)
    drugs = decode(DRUGS.astype(np.uint8), DRUG, "pandas")
    drugs.to_csv("one.csv", index=False)
    drugs.iloc[10:].to_csv("few.csv", index=False)
    StoredCounts(count_reported(DRUGS, OTHER), Origin(OTHER.fingerprint)).write(
        Path("other.counts")
    )


def _status_and_line(
    capsys: pytest.CaptureFixture[str], arguments: list[str]
) -> tuple[int, str, str]:
    capsys.readouterr()
    status = run(arguments)
    said = capsys.readouterr()
    (line,) = said.err.splitlines()
    return status, said.out, line


@pytest.mark.parametrize("mistake", MISTAKES)
def test_a_mistake_is_one_clear_error(mistake: str, capsys: pytest.CaptureFixture[str]) -> None:
    call, command, message = MISTAKES[mistake]
    with pytest.raises(TacitError) as raised:
        call()
    assert message in str(raised.value)
    assert "\n" not in str(raised.value)
    if command:
        status, out, line = _status_and_line(capsys, command)
        assert (status, out) == (2, "")
        assert line.startswith("error: ")
        assert message in line


@pytest.mark.parametrize(
    "command",
    [
        ["estimate", "other.json", "drawn.csv"],
        [
            "compare",
            "other.json",
            "drawn.csv",
            "--where",
            "drug=yes",
            *["--between", "drug=no"] * 2,
        ],
        ["test", "other.json", "drawn.csv", "--goodness-of-fit", "drug", "--expected", "0.5,0.5"],
        ["regress", "other.json", "drawn.csv", "--formula", "drug ~ 1"],
        ["compliance", "other.json", "drawn.csv"],
    ],
    ids=lambda command: command[0],
)
def test_a_file_of_another_design_is_refused_by_every_command(
    command: list[str], capsys: pytest.CaptureFixture[str]
) -> None:
    """The records name the design that made them."""
    Path("other.json").write_text(OTHER.to_json())
    assert run(["disguise", "one.json", "one.csv", "--out", "drawn.csv", "--seed", "1"]) == 0
    status, out, line = _status_and_line(capsys, command)
    assert (status, out) == (2, "")
    assert "drawn.csv" in line
    assert "another design" in line
    for read in (reconstruct, lambda *given: logit("drug ~ 1", *given)):
        with pytest.raises(TacitError, match="another design"):
            read("drawn.csv", OTHER)  # type: ignore[operator]


def test_a_sound_study_is_no_mistake(capsys: pytest.CaptureFixture[str]) -> None:
    """The cases above fail because of the mistake, not because of the files."""
    for command in (
        [*REGRESS, "smokes ~ year"],
        [*ESTIMATE, "--table", "smokes", "--given", "region"],
        ["compliance", "one.json", "one.csv"],
    ):
        assert run(command) == 0
