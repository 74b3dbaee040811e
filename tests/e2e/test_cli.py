"""The command `tacit`, as a user runs it."""

from __future__ import annotations

import csv
import json
import os
import re
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.csv as pa_csv
import pyarrow.parquet as pq
import pytest
import typer

import tacit
from tacit import Attribute, Design, Group, Schema, disguise, reconstruct
from tacit.cli import command_line, show
from tacit.cli.main import outline
from tacit.core.channel import matrix, related, unrelated
from tacit.datasets import adult_survey
from tacit.errors import DataError
from tacit.output import rounding
from tacit.reconstruction import em
from tests.support.commands import Ran
from tests.support.origins import unknown_origin

TACIT = Path(sys.executable).with_name("tacit")
VERSION = f"tacit {tacit.__version__} (distribution tacit-survey)\n"
SCHEMA = Schema([Attribute("smokes", ["no", "yes"]), Attribute("income", ["low", "mid", "high"])])
DESIGN = Design(SCHEMA, [Group(["smokes"], related(0.75)), Group(["income"], related("5/6"))])


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder with a design, true records as CSV and Parquet, and nothing else."""
    monkeypatch.chdir(tmp_path)
    rng = np.random.default_rng(1)
    people = pa.table(
        {
            "id": np.arange(2000),
            "smokes": rng.choice(["no", "yes"], 2000, p=[0.7, 0.3]),
            "income": rng.choice(["low", "mid", "high"], 2000, p=[0.5, 0.3, 0.2]),
        }
    )
    Path("design.json").write_text(DESIGN.to_json())
    pq.write_table(people, "true.parquet")
    pa_csv.write_csv(people, "true.csv")
    return tmp_path


def installed(*arguments: str, command: Sequence[str] = (str(TACIT),)) -> Ran:
    """Runs the installed command in a process of its own."""
    done = subprocess.run([*command, *arguments], capture_output=True, text=True, check=False)
    return Ran(done.returncode, done.stdout, done.stderr)


def edited(change: Callable[[dict[str, Any]], object], name: str = "bad.json") -> str:
    """A design file with a change."""
    content = DESIGN.to_dict()
    change(content)
    Path(name).write_text(json.dumps(content))
    return name


def coin(family: str, **parameters: Any) -> Callable[[dict[str, Any]], object]:
    """The change that gives the first group another coin."""
    return lambda design: design["groups"][0].update(coin={"family": family, **parameters})


# The installed command ------------------------------------------------------------------------


def test_the_installed_command_tells_its_version() -> None:
    assert installed("--version").out == VERSION


def test_the_package_runs_as_a_module_too() -> None:
    ran = installed("--version", command=(sys.executable, "-m", "tacit"))
    assert (ran.status, ran.out) == (0, VERSION)


def test_from_true_records_to_an_estimate_with_the_installed_command(folder: Path) -> None:
    assert installed("disguise", "design.json", "true.csv", "--out", "reported.csv").status == 0
    ran = installed("estimate", "design.json", "reported.csv", "--table", "smokes,income", "--json")
    assert (ran.status, ran.err) == (0, "")
    table = json.loads(ran.out)["estimates"][0]["table"]
    assert table["income"] == ["low", "mid", "high"] * 2
    assert sum(table["estimate"]) == pytest.approx(1, abs=1e-9)


def test_the_installed_command_says_an_error_in_one_line_and_leaves_no_file(folder: Path) -> None:
    Path("true.csv").write_text("smokes,income\nno,low\nno,rich\n")
    before = sorted(os.listdir())
    ran = installed("disguise", "design.json", "true.csv", "--out", "reported.csv")
    assert ran.status == 2
    assert ran.out == ""
    assert ran.err.startswith("error: true.csv: unknown category 'rich' of attribute 'income'")
    assert ran.err.count("\n") == 1
    assert sorted(os.listdir()) == before


@pytest.mark.parametrize(("sent", "status"), [(signal.SIGINT, 130), (signal.SIGTERM, 143)])
def test_a_command_that_is_stopped_leaves_no_file(
    folder: Path, sent: signal.Signals, status: int
) -> None:
    many = pa.table(
        {
            name: pa.array([label]).take(pa.array(np.zeros(4_000_000, np.int8)))
            for name, label in (("smokes", "no"), ("income", "mid"))
        }
    )
    pq.write_table(many, "many.parquet")
    before = sorted(os.listdir())
    command = [str(TACIT), "disguise", "design.json", "many.parquet", "--out", "out.csv.gz"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE) as process:
        while sorted(os.listdir()) == before and process.poll() is None:
            time.sleep(0.01)
        process.send_signal(sent)
        _, err = process.communicate()
    assert process.returncode == status
    assert b"Traceback" not in err
    assert sorted(os.listdir()) == before


# demo -------------------------------------------------------------------------------------------


def test_the_demo_shows_what_reports_hide_fits_the_screen_and_repeats_with_its_seed(
    tacit_: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    arguments = ["demo", "--records", "2000", "--seed"]
    monkeypatch.setenv("COLUMNS", "80")
    first, again = installed(*arguments, "3"), tacit_(*arguments, "3")
    monkeypatch.setenv("COLUMNS", "120")
    other = tacit_(*arguments, "4")
    assert (first.status, first.err) == (0, "")
    for part in ("2,000 people", "epsilon 1.10", "models      for income", "of 34 intervals hold"):
        assert part in first.out
    assert again.out.rpartition("result")[0] == first.out.rpartition("result")[0]
    assert shares_in(first.out) != shares_in(other.out)
    for ran, width in ((first, 80), (other, 120)):
        lines = ran.out.splitlines()
        assert max(map(len, lines)) <= width
        assert len(lines) <= 78
        assert any(line.startswith("formerly  >50K") for line in lines)


def shares_in(text: str) -> list[str]:
    """Every number with decimals before the last line, which tells the time taken."""
    return re.findall(r"\d+\.\d+", text.rpartition("result")[0])


# design ---------------------------------------------------------------------------------------


def test_design_check_shows_privacy_and_condition(tacit_: Any) -> None:
    ran = tacit_("design", "check", "design.json")
    assert ran.status == 0
    assert DESIGN.fingerprint in ran.out
    words = [line.split() for line in ran.out.splitlines()]
    assert ["1", "smokes", "1.10", "2", "yes"] in words
    assert ["related(theta=3/4)"] in words
    assert ["income", "2", "2.31", "1.333", "low,", "mid,", "high"] in words
    assert "all its answers together: epsilon 3.41." in ran.out


def test_design_check_rounds_epsilon_up() -> None:
    assert rounding.epsilon(1.0986122886681098) == "1.10"
    assert rounding.epsilon(0.69314718056) == "0.70"
    assert rounding.epsilon(0.0) == "0.00"
    assert rounding.epsilon(float("inf")) == "infinite"


def test_design_check_says_that_one_related_group_discloses_relations(tacit_: Any) -> None:
    design = Design(SCHEMA, [Group(["smokes", "income"], related(0.7))])
    Path("one.json").write_text(design.to_json())
    ran = tacit_("design", "check", "one.json")
    assert "epsilon infinite" in ran.out
    assert "discloses the relation between the answers" in ran.out
    figures = json.loads(tacit_("design", "check", "one.json", "--json").out)
    assert figures["record"]["epsilon"] is None
    assert figures["attributes"][0]["epsilon"] == pytest.approx(np.log(7 / 3), rel=1e-12)


def test_design_check_tells_other_certain_reports_apart(tacit_: Any) -> None:
    truthful = edited(coin("truthful"))
    assert "group 1 is not disguised" in tacit_("design", "check", truthful).out
    certain = edited(coin("matrix", matrix=[["1/2", 0], ["1/2", 1]]))
    assert "rule out some true answers" in tacit_("design", "check", certain).out


def test_design_check_prints_json(tacit_: Any) -> None:
    found = json.loads(tacit_("design", "check", "design.json", "--json").out)
    assert found["tacit"] == "design-check"
    assert found["fingerprint"] == DESIGN.fingerprint
    assert [group["reconstructable"] for group in found["groups"]] == [True, True]
    assert found["groups"][1]["coin"] == {"family": "related", "theta": "5/6"}
    assert found["record"]["epsilon"] == DESIGN.channel(SCHEMA.names).epsilon


def test_design_check_of_a_joint_matrix_shows_the_figures_of_its_group(tacit_: Any) -> None:
    joint = matrix([[0.5 if i == j else 0.1 for j in range(6)] for i in range(6)])
    Path("joint.json").write_text(Design(SCHEMA, [Group(["smokes", "income"], joint)]).to_json())
    found = json.loads(tacit_("design", "check", "joint.json", "--json").out)
    assert found["attributes"][0]["epsilon"] == found["groups"][0]["epsilon"]


def test_design_new_starts_a_design_that_fits_the_data(tacit_: Any) -> None:
    people, _ = adult_survey()
    pa_csv.write_csv(people.slice(0, 3000), "people.csv")
    ran = tacit_("design", "new", "people.csv", "--bins", "3", "--theta", "5/6", "--out", "d.json")
    assert ran.status == 0
    assert ran.out == "wrote d.json: 5 groups, 5 attributes, each related(theta=5/6)\n"
    assert tacit_("disguise", "d.json", "people.csv", "--out", "reported.csv").status == 0
    assert tacit_("estimate", "d.json", "reported.csv").status == 0


def test_design_new_takes_the_columns_asked_for(tacit_: Any) -> None:
    assert tacit_("design", "new", "true.csv", "--out", "d.json").status == 2
    ran = tacit_("design", "new", "true.csv", "--columns", "smokes, income", "--out", "d.json")
    assert ran.status == 0
    ran = tacit_("design", "new", "true.csv", "--columns", "smoke", "--out", "e.json")
    assert (ran.status, ran.err) == (2, "error: unknown column 'smoke'; did you mean 'smokes'?\n")
    assert not Path("e.json").exists()


# disguise -------------------------------------------------------------------------------------


@pytest.mark.parametrize("source", ["true.csv", "true.parquet"])
@pytest.mark.parametrize("out", ["reported.csv", "reported.csv.gz", "reported.parquet"])
def test_every_kind_of_file_gives_the_same_reports(tacit_: Any, source: str, out: str) -> None:
    ran = tacit_("disguise", "design.json", source, "--out", out, "--seed", "5")
    assert ran.status == 0
    assert ran.out == f"wrote {out}: 2,000 reported records\n"
    expected = disguise(pq.read_table("true.parquet"), DESIGN, np.random.default_rng(5))
    read = pq.read_table if out.endswith("parquet") else pa_csv.read_csv
    assert read(out).to_pydict() == expected.to_pydict()


def test_a_seed_repeats_the_draws_and_is_for_simulation_only(tacit_: Any) -> None:
    for out, seed in (("a.csv", "1"), ("b.csv", "1"), ("c.csv", "2")):
        ran = tacit_("disguise", "design.json", "true.csv", "--out", out, "--seed", seed)
        assert "simulation only" in ran.err
    a, b, c = (Path(name).read_bytes() for name in ("a.csv", "b.csv", "c.csv"))
    assert a == b != c


def test_without_a_seed_the_draws_are_never_the_same(tacit_: Any) -> None:
    for out in ("a.csv", "b.csv"):
        assert tacit_("disguise", "design.json", "true.csv", "--out", out).err == ""
    assert Path("a.csv").read_bytes() != Path("b.csv").read_bytes()


def test_the_true_records_are_not_overwritten(tacit_: Any) -> None:
    before = Path("true.csv").read_bytes()
    ran = tacit_("disguise", "design.json", "true.csv", "--out", "true.csv")
    assert (ran.status, Path("true.csv").read_bytes()) == (2, before)


@pytest.mark.parametrize("out", ["true.csv", "./true.csv", "link.json"])
def test_the_true_records_are_not_overwritten_by_a_new_design(tacit_: Any, out: str) -> None:
    Path("link.json").symlink_to("true.csv")
    before = Path("true.csv").read_bytes()
    ran = tacit_("design", "new", "true.csv", "--columns", "smokes", "--out", out)
    _is_one_error(ran, "is the file that is read")
    assert Path("true.csv").read_bytes() == before


def test_ctrl_c_is_one_line_and_leaves_no_file(
    tacit_: Any, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def interrupted(*_: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr("tacit.records.disguise.Disguiser.draw", interrupted)
    before = sorted(os.listdir())
    ran = tacit_("disguise", "design.json", "true.csv", "--out", "reported.csv")
    assert (ran.status, ran.out, ran.err) == (130, "", "interrupted\n")
    assert sorted(os.listdir()) == before


# estimate -------------------------------------------------------------------------------------


@pytest.fixture
def reported(folder: Path) -> str:
    """Reported records of the design, from the folder's true ones."""
    table = disguise(pq.read_table("true.parquet"), DESIGN, np.random.default_rng(6))
    pq.write_table(table, "reported.parquet")
    return "reported.parquet"


def test_every_attribute_is_estimated_if_no_table_is_named(tacit_: Any, reported: str) -> None:
    ran = tacit_("estimate", "design.json", reported)
    assert (ran.status, ran.err) == (0, unknown_origin(reported))
    assert "P(smokes) from 2,000 reported records, by inversion" in ran.out
    assert "95 % interval" in ran.out
    words = [line.split()[0] for line in ran.out.splitlines() if line]
    assert [word for word in words if word in ("no", "yes", "low", "mid", "high")] == [
        *("no", "yes"),
        *("low", "mid", "high"),
    ]


def test_estimates_are_those_of_the_library(tacit_: Any, reported: str) -> None:
    ran = tacit_(
        *("estimate", "design.json", reported, "--table", "income,smokes", "--method", "em"),
        *("--level", "0.9", "--json"),
    )
    found = json.loads(ran.out)
    expected = reconstruct(reported, DESIGN).table(["income", "smokes"], em)
    assert found["design"] == DESIGN.fingerprint
    (estimate,) = found["estimates"]
    assert estimate["table"] == expected.columns(0.9)
    assert estimate["method"] == "em"
    assert estimate["convergence"]["converged"] is True


def test_the_method_and_its_convergence_are_said(tacit_: Any, reported: str) -> None:
    ran = tacit_("estimate", "design.json", reported, "--method", "em", "--level", "0.999")
    assert "by em (converged after " in ran.out
    assert "99.9 % interval" in ran.out
    ran = tacit_("estimate", "design.json", reported, "--method", "simplex")
    assert "by simplex" in ran.out


def test_the_probability_of_an_event(tacit_: Any, reported: str) -> None:
    ran = tacit_(
        "estimate",
        "design.json",
        reported,
        "--where",
        "smokes=yes, income=mid,income=high",
        "--json",
    )
    (estimate,) = json.loads(ran.out)["estimates"]
    expected = reconstruct(reported, DESIGN).probability(
        {"smokes": "yes", "income": ["mid", "high"]}
    )
    assert estimate["name"] == "P(smokes = yes, income = mid or high)"
    assert estimate["table"]["estimate"] == [float(expected)]


@pytest.mark.parametrize("out", ["tables.csv", "tables.parquet"])
def test_tables_are_written_below_each_other(tacit_: Any, reported: str, out: str) -> None:
    ran = tacit_(
        *("estimate", "design.json", reported, "--out", out, "--table", "smokes"),
        *("--table", "income", "--where", "income=low"),
    )
    assert ran.status == 0
    read = pq.read_table(out) if out.endswith("parquet") else pa_csv.read_csv(out)
    assert read.column_names == [
        *("quantity", "smokes", "income", "estimate", "stderr", "lower", "upper")
    ]
    rows = read.to_pylist()
    assert [row["quantity"] for row in rows] == [
        *["P(smokes)"] * 2,
        *["P(income)"] * 3,
        "P(income = low)",
    ]
    assert [row["income"] or None for row in rows] == [None, None, "low", "mid", "high", None]


def _asked_of(*names: str) -> str:
    """Files of a design of yes/no attributes and of its reported records; the table of them."""
    schema = Schema([Attribute(name, ["no", "yes"]) for name in names])
    design = Design(schema, [Group([name], related("3/4")) for name in names])
    Path("odd.json").write_text(design.to_json())
    pq.write_table(pa.table({name: ["no", "yes", "yes"] for name in names}), "odd.parquet")
    return ",".join(names)


@pytest.mark.parametrize("out", ["tables.csv", "tables.parquet"])
def test_attributes_named_like_the_columns_of_a_table_are_written(tacit_: Any, out: str) -> None:
    asked = _asked_of("estimate", "estimate_", "quantity", "lower")
    ran = tacit_(
        *("estimate", "odd.json", "odd.parquet", "--out", out),
        *("--table", asked, "--table", "lower", "--where", "quantity=yes"),
    )
    assert (ran.status, ran.err) == (0, unknown_origin("odd.parquet", design="odd.json"))
    read = pq.read_table(out) if out.endswith("parquet") else pa_csv.read_csv(out)
    assert read.column_names == [
        *("quantity", "estimate__", "estimate_", "quantity_", "lower_"),
        *("estimate", "stderr", "lower", "upper"),
    ]
    assert read["lower_"].to_pylist()[:18] == ["no", "yes"] * 9
    assert read["quantity"].to_pylist()[16:] == ["P(lower)"] * 2 + ["P(quantity = yes)"]


def test_names_with_equals_signs_and_outer_spaces_are_reached(tacit_: Any) -> None:
    _asked_of("a", "a=b", " c ", "d")
    for where, said in {
        "a=b=yes": "P(a=b = yes)",
        "a=yes, a=b = no": "P(a = yes, a=b = no)",
        '" c =yes" , d = no': "P( c  = yes, d = no)",
    }.items():
        assert said in tacit_("estimate", "odd.json", "odd.parquet", "--where", where).out
    ran = tacit_("estimate", "odd.json", "odd.parquet", "--table", '" c ", d ,a=b')
    assert "P( c , d, a=b)" in ran.out
    new = ("design", "new", "odd.parquet", "--columns", '" c ", d', "--out", "new.json")
    assert "2 attributes" in tacit_(*new).out


def test_names_and_labels_with_commas_are_quoted(tacit_: Any) -> None:
    schema = Schema([Attribute("a, b", ["x, y", "[red]z"]), Attribute("c", [False, True])])
    design = Design(schema, [Group([name], related("3/4")) for name in schema.names])
    Path("odd.json").write_text(design.to_json())
    with Path("odd.csv").open("w", newline="") as stream:
        csv.writer(stream).writerows([["a, b", "c"], ["x, y", True], ["[red]z", False]])
    assert tacit_("disguise", "odd.json", "odd.csv", "--out", "r.csv", "--seed", "1").status == 0
    ran = tacit_("estimate", "odd.json", "r.csv", "--table", '"a, b",c')
    assert "[red]z  True" in ran.out
    ran = tacit_("estimate", "odd.json", "r.csv", "--where", '"a, b=x, y",c=True')
    assert "P(a, b = x, y, c = True)" in ran.out


def test_a_matrix_with_reports_of_its_own_goes_through(tacit_: Any) -> None:
    coins = matrix([[0.6, 0.1], [0.1, 0.6], [0.3, 0.3]], reported=["left", "right", "pass"])
    personal = {"income": [0.25, 0.25, 0.5]}
    groups = [Group(["smokes"], coins), Group(["income"], unrelated(0.5, personal))]
    Path("own.json").write_text(Design(SCHEMA, groups).to_json())
    assert tacit_("disguise", "own.json", "true.csv", "--out", "r.csv", "--seed", "1").status == 0
    assert set(pa_csv.read_csv("r.csv")["smokes"].to_pylist()) == {"left", "right", "pass"}
    ran = tacit_("estimate", "own.json", "r.csv", "--table", "smokes,income")
    assert ran.status == 0
    assert "yes     high" in ran.out


def test_a_bar_is_shown_to_a_person_who_waits_and_never_in_json(
    tacit_: Any, reported: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("FORCE_COLOR", "1")
    monkeypatch.setattr(show, "PATIENCE", -1.0)
    ran = tacit_("estimate", "design.json", reported, "--json")
    assert "counting" in ran.err
    assert json.loads(ran.out)["tacit"] == "estimates"


# Output that nobody takes ---------------------------------------------------------------------


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="needs a device that is full")
@pytest.mark.parametrize("options", [[], ["--json"]])
def test_output_that_cannot_be_written_is_one_error(reported: str, options: list[str]) -> None:
    command = [str(TACIT), "estimate", "design.json", reported, *options]
    with open("/dev/full", "w") as full:
        done = subprocess.run(command, stdout=full, stderr=subprocess.PIPE, text=True, check=False)
    _is_one_error(Ran(done.returncode, "", done.stderr), "the output cannot be written: No space")


@pytest.mark.parametrize("options", [[], ["--json"]])
def test_a_reader_that_leaves_is_no_error(reported: str, options: list[str]) -> None:
    command = [str(TACIT), "estimate", "design.json", reported, *options]
    reader, writer = os.pipe()
    os.close(reader)
    done = subprocess.run(command, stdout=writer, stderr=subprocess.PIPE, check=False)
    os.close(writer)
    assert (done.returncode, done.stderr) == (-signal.SIGPIPE, b"")


# Bad input ------------------------------------------------------------------------------------


def _two_groups(design: dict[str, Any]) -> None:
    design["groups"][1]["attributes"].append("smokes")


BAD_DESIGNS: dict[str, tuple[Callable[[dict[str, Any]], object], str]] = {
    "attribute in two groups": (_two_groups, "attribute 'smokes' appears twice, in groups 1 and 2"),
    "attribute in no group": (lambda d: d["groups"].pop(), "attribute 'income' is in no group"),
    "unknown attribute in a group": (
        lambda d: d["groups"][0].update(attributes=["smoke"]),
        "unknown attribute 'smoke' in group 1; did you mean 'smokes'?",
    ),
    "theta above 1": (coin("related", theta=1.2), "theta must lie between 0 and 1, got 1.2"),
    "theta below 0": (coin("related", theta="-1/6"), "theta must lie between 0 and 1"),
    "unknown family": (coin("relatd", theta=0.7), "unknown family 'relatd'"),
    "matrix columns": (
        coin("matrix", matrix=[[0.9, 0.2], [0.2, 0.8]]),
        "matrix: column 0 must sum to 1",
    ),
    "newer version": (lambda d: d.update(version=2), "has version 2"),
    "singular channel": (
        coin("related", theta=0.5),
        "group [smokes] related(theta=1/2) cannot be reconstructed: at theta = 1/2",
    ),
}


def _is_one_error(ran: Ran, said: str) -> None:
    assert ran.status == 2
    assert ran.err.startswith("error: ")
    assert said in ran.err
    assert ran.err.count("\n") == 1


# A singular design disguises well: the true distribution cannot be estimated either.
@pytest.mark.parametrize(
    ("case", "command"),
    [
        (case, command)
        for case in BAD_DESIGNS
        for command in ("check", "estimate", "disguise")
        if (case, command) != ("singular channel", "disguise")
    ],
)
def test_a_bad_design_is_one_error(tacit_: Any, reported: str, case: str, command: str) -> None:
    change, said = BAD_DESIGNS[case]
    bad = edited(change)
    before = sorted(os.listdir())
    ran = {
        "check": lambda: tacit_("design", "check", bad),
        "estimate": lambda: tacit_("estimate", bad, reported, "--out", "out.csv"),
        "disguise": lambda: tacit_("disguise", bad, "true.csv", "--out", "out.csv"),
    }[command]()
    _is_one_error(ran, said)
    assert sorted(os.listdir()) == before


def _truncated(path: str) -> None:
    content = Path("true.parquet").read_bytes()
    Path(path).write_bytes(content[: len(content) // 2])


def _csv(content: str) -> Callable[[str], object]:
    return lambda path: Path(path).write_text(content)


def _parquet(**columns: Any) -> Callable[[str], object]:
    return lambda path: pq.write_table(pa.table(columns), path)


BAD_DATA: dict[str, tuple[str, Callable[[str], object], str]] = {
    "unknown category": (
        "d.csv",
        _csv("smokes,income\nyess,low\n"),
        "unknown category 'yess' of attribute 'smokes' at record 0 (counting from 0); "
        "did you mean 'yes'?",
    ),
    "dates": (
        "d.parquet",
        _parquet(smokes=pa.array([0], pa.date32()), income=["low"]),
        "attribute 'smokes': its column is of type",
    ),
    "numbers for labels": (
        "d.parquet",
        _parquet(smokes=[0.5], income=["low"]),
        "unknown category 0.5 of attribute 'smokes'",
    ),
    "empty file": ("d.csv", _csv(""), "d.csv: the file is empty"),
    "empty Parquet file": ("d.parquet", _csv(""), "d.parquet: the file is empty"),
    "header only": ("d.csv", _csv("smokes,income\n"), "holds 0 records"),
    "ragged lines": ("d.csv", _csv("smokes,income\nno,low,9\n"), "line 2 has 3 cells"),
    "truncated Parquet file": ("d.parquet", _truncated, "the Parquet file is truncated"),
    "not a Parquet file": ("d.parquet", _csv("smokes"), "not a Parquet file"),
    "unfitting design": (
        "d.csv",
        _csv("smoke,income\nno,low\n"),
        "no column for attribute 'smokes': unknown column 'smokes'; did you mean 'smoke'?",
    ),
    "no such file": ("d.csv", lambda _: None, "d.csv: no such file"),
    "unknown suffix": ("d.txt", _csv("x"), "unknown suffix '.txt'"),
}


@pytest.mark.parametrize("case", BAD_DATA)
@pytest.mark.parametrize("command", ["estimate", "disguise"])
@pytest.mark.parametrize("out", ["out.csv", "out.parquet"])
def test_bad_data_are_one_error(tacit_: Any, case: str, command: str, out: str) -> None:
    name, make, said = BAD_DATA[case]
    make(name)
    before = sorted(os.listdir())
    ran = tacit_(command, "design.json", name, "--out", out)
    _is_one_error(ran, said)
    assert ran.out == ""
    assert sorted(os.listdir()) == before


@pytest.mark.parametrize(
    ("options", "said"),
    [
        (["--table", "smoke"], "unknown attribute 'smoke'; did you mean 'smokes'?"),
        (["--table", "smokes,smokes"], "'smokes' is asked for twice"),
        (["--table", ""], "no attribute is asked for"),
        (["--where", "smokes=yess"], "unknown category 'yess' of attribute 'smokes'; did you"),
        (["--where", "incom=low"], "unknown attribute 'incom'; did you mean 'income'?"),
        (["--where", "smokes"], "'smokes' is not of the form attribute=category"),
        (["--where", ""], "names no attribute"),
        (["--where", "smoke=a=b"], "unknown attribute 'smoke'; did you mean 'smokes'?"),
        (["--table", "smokes\nincome"], "is not a list of names"),
        (["--where", "smokes=yes", "--method", "em"], "--where is estimated by inversion"),
        (
            ["--method", "magic"],
            "unknown method 'magic'; known: 'inversion', 'restricted', 'simplex'",
        ),
        (["--level", "1.5"], "the confidence level must lie between 0 and 1, got 1.5"),
        (["--level", "nan"], "the confidence level must lie between 0 and 1"),
        (["--level", "high"], "'--level'"),
        (["--out", "none/out.csv"], "the folder none does not exist"),
        (["--out", "out.xlsx"], "unknown suffix '.xlsx'"),
        (["--tabel", "smokes"], "--tabel"),
    ],
)
def test_bad_options_of_estimate_are_one_error(
    tacit_: Any, reported: str, options: list[str], said: str
) -> None:
    before = sorted(os.listdir())
    ran = tacit_("estimate", "design.json", reported, *options)
    _is_one_error(ran, said)
    assert ran.out == ""
    assert sorted(os.listdir()) == before


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["frobnicate"], "frobnicate"),
        (["design", "chek", "x"], "chek"),
        (["disguise", "design.json"], "DATA"),
        (["disguise", "design.json", "true.csv"], "--out"),
        (["disguise", "design.json", "true.csv", "--out", "o.csv", "--seed", "-1"], "--seed"),
        (["demo", "--records", "9"], "--records"),
        (["demo", "--records", "99999"], "--records"),
        (["design", "new", "true.csv", "--out", "d.json", "--theta", "2"], "theta must lie"),
        (["design", "new", "true.csv", "--out", "d.json", "--bins", "1"], "--bins"),
        (
            ["design", "new", "true.csv", "--columns", "smokes", "--out", "x", "--theta", "0.5"],
            "related(theta=1/2) cannot be reconstructed",
        ),
    ],
)
def test_bad_usage_is_one_error(tacit_: Any, arguments: list[str], said: str) -> None:
    before = sorted(os.listdir())
    _is_one_error(tacit_(*arguments), said)
    assert sorted(os.listdir()) == before


def test_a_bad_design_file_is_one_error(tacit_: Any) -> None:
    Path("broken.json").write_text('{\n"tacit":\n')
    _is_one_error(tacit_("design", "check", "broken.json"), "broken.json: not a design file")
    _is_one_error(tacit_("design", "check", "none.json"), "none.json: no such file")
    _is_one_error(tacit_("design", "check", "."), "is a directory")


def test_an_error_of_many_lines_is_said_in_one(
    tacit_: Any, reported: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    def failing(*_: object) -> None:
        raise DataError("first\n  second")

    monkeypatch.setattr("tacit.records.engines.count_records", failing)
    _is_one_error(tacit_("estimate", "design.json", reported), "first second")


# Help -----------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "command",
    [
        *([], ["demo"], ["design"], ["design", "check"], ["design", "new"], ["disguise"]),
        *(["estimate"], ["mine"], ["mine", "nb"], ["mine", "tree"], ["evaluate"], ["predict"]),
        *(["serve"], ["survey", "preview"]),
    ],
)
def test_every_help_has_an_example(tacit_: Any, command: list[str]) -> None:
    ran = tacit_(*command, "--help")
    assert ran.status == 0
    assert f"Example: tacit {' '.join(command)}".strip() in ran.out
    assert ran.err == ""


def test_the_help_has_the_first_line_of_every_command() -> None:
    """The help loads no command."""
    loaded, listed = (typer.main.get_command(app) for app in (command_line(), outline()))
    assert set(listed.commands) == set(loaded.commands)
    for name, command in loaded.commands.items():
        first_line = command.help.partition("\n\n")[0]
        assert " ".join(first_line.split()) == listed.commands[name].help


def test_the_help_of_an_option_is_short_and_has_no_formulas() -> None:
    groups = [typer.main.get_command(command_line())]
    while groups:
        for name, command in groups.pop().commands.items():
            groups += [command] if hasattr(command, "commands") else []
            for option in command.params:
                text = getattr(option, "help", None) or ""
                assert len(text) < 300, (name, option.name)
                assert "\n\n" not in text, (name, option.name)


@pytest.mark.parametrize("command", [[], ["design"]])
def test_a_command_without_its_verb_shows_the_help(tacit_: Any, command: list[str]) -> None:
    ran = tacit_(*command)
    assert (ran.status, ran.err) == (0, "")
    assert "Usage: tacit" in ran.out
