"""`tacit optimize` as a user runs it."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.csv
import pytest

from tacit import Attribute, Design, Group, Schema, disguise, related
from tacit.cli.main import run
from tacit.optimize import Front
from tacit.survey import survey_from_text


@pytest.fixture
def prior(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    path = Path("prior.json")
    path.write_text('{"never": 0.6, "former": 0.3, "current": 0.1}')
    return path


def test_a_front_is_printed_and_saved(prior: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["optimize", str(prior), "--delta", "0.8", "--points", "5", "--out", "f.json"]) == 0
    front = Front.from_json(Path("f.json").read_text())
    assert len(front) == 5
    shown = capsys.readouterr().out
    assert f"{front.mse[0]:.4e}" in shown
    assert shown.endswith("wrote f.json\n")


@pytest.mark.parametrize("method", ["exact", "square", "warner", "spea2"])
def test_a_picked_channel_is_a_design_to_disguise_with(prior: Path, method: str) -> None:
    chosen = ["--method", method, "--generations", "30", "--privacy", "0.3", "--out", "d.json"]
    assert run(["optimize", str(prior), "--delta", "0.8", *chosen]) == 0
    design = Design.from_json(Path("d.json").read_text())
    true = pa.table({"answer": ["never", "former", "current"] * 20})
    pyarrow.csv.write_csv(true, "true.csv")
    assert run(["disguise", "d.json", "true.csv", "--out", "reported.csv"]) == 0
    assert run(["estimate", "d.json", "reported.csv"]) == 0
    assert design.schema.names == ("answer",)


def test_json_is_the_front_or_the_choice(prior: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["optimize", str(prior), "--points", "3", "--json"]) == 0
    assert len(json.loads(capsys.readouterr().out)["points"]) == 3
    assert run(["optimize", str(prior), "--error", "1e-4", "--json"]) == 0
    choice = json.loads(capsys.readouterr().out)
    assert choice["mse"] <= 1e-4
    shares = [report["share"] for report in choice["reports"]]
    assert sum(shares) == pytest.approx(1)


@pytest.mark.parametrize("suffix", ["svg", "png", "pdf"])
def test_the_figure_is_drawn(prior: Path, suffix: str) -> None:
    figure = Path(f"front.{suffix}")
    assert run(["optimize", str(prior), "--points", "3", "--figure", str(figure)]) == 0
    marks = {"svg": b"<svg", "png": b"\x89PNG", "pdf": b"%PDF"}
    assert figure.read_bytes().startswith(marks[suffix])


def test_a_picked_channel_is_a_group_of_a_survey(prior: Path) -> None:
    chosen = ["--delta", "0.8", "--privacy", "0.3", "--attributes", "smokes", "--out"]
    assert run(["optimize", str(prior), *chosen, "groups.yaml"]) == 0
    assert run(["optimize", str(prior), *chosen, "design.json"]) == 0
    question = "{name: smokes, kind: choice, text: Smoking, categories: [never, former, current]}"
    survey = f"title: t\nquestions:\n- {question}\n" + Path("groups.yaml").read_text()
    made = survey_from_text(survey).design
    assert made == Design.from_json(Path("design.json").read_text())
    Path("survey.yaml").write_text(survey)
    assert run(["survey", "publish", "survey.yaml", "--out", "published.json"]) == 0


def test_a_figure_does_not_change_the_channel(
    prior: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    chosen = ["optimize", str(prior), "--privacy", "0.3", "--points", "4", "--json"]
    assert run(chosen) == 0
    alone = capsys.readouterr().out
    assert run([*chosen, "--figure", "f.svg"]) == 0
    assert capsys.readouterr().out == alone
    assert "Exact: 4 channels" in Path("f.svg").read_text()


def test_fewer_reports_may_be_had_for_a_little_error(
    prior: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    Path("eight.json").write_text("[0.01, 0.06, 0.16, 0.27, 0.27, 0.16, 0.06, 0.01]")
    found = []
    for tolerance in ("0", "0.01"):
        assert (
            run(["optimize", "eight.json", "--privacy", "0.5", "--tolerance", tolerance, "--json"])
            == 0
        )
        found.append(json.loads(capsys.readouterr().out))
    many, few = found
    assert len(few["reports"]) < len(many["reports"])
    assert few["mse"] <= 1.01 * few["lower_bound"] * (1 + 1e-3)


def test_a_search_goes_on_from_its_file(prior: Path) -> None:
    def search(generations: int, *more: str) -> str:
        options = ["--method", "spea2", "--generations", str(generations), "--out", "f.json"]
        assert run(["optimize", str(prior), "--delta", "0.8", *options, *more]) == 0
        return Path("f.json").read_text()

    whole = search(60)
    search(25, "--resume", "search.json")
    assert json.loads(Path("search.json").read_text())["generation"] == 25
    assert search(60, "--resume", "search.json") == whole
    assert search(60, "--resume", "search.json") == whole


@pytest.fixture
def pilot(prior: Path) -> list[str]:
    """The design and the reported records of a pilot of 2,000."""
    schema = Schema([Attribute("smokes", ["no", "yes"]), Attribute("age", ["young", "old"])])
    design = Design(schema, [Group([name], related(0.8)) for name in schema.names])
    rng = np.random.default_rng(3)
    true = np.column_stack([rng.random(2000) < 0.3, rng.random(2000) < 0.4])
    reported = disguise(true, design, rng)
    labels = [[a.categories[c] for c in reported[:, i]] for i, a in enumerate(schema)]
    columns = dict(zip(schema.names, labels, strict=True))
    Path("survey.json").write_text(design.to_json())
    pyarrow.csv.write_csv(pa.table(columns), "pilot.csv")
    return ["survey.json", "pilot.csv"]


def test_a_pilot_is_a_prior_with_doubts(
    pilot: list[str], capsys: pytest.CaptureFixture[str]
) -> None:
    chosen = ["--attributes", "smokes,age", "--privacy", "0.4", "--out", "joint.json"]
    assert run(["optimize", *pilot, *chosen]) == 0
    assert "if the pilot is off by chance (200 draws, 95 %)" in capsys.readouterr().out
    assert Design.from_json(Path("joint.json").read_text()).schema.names == ("smokes", "age")


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["prior.json", "--delta", "0.5"], "delta = 0.5 is below the largest prior, 0.6"),
        (["prior.json", "--epsilon", "0"], "epsilon must be above 0"),
        (["prior.json", "--privacy", "0.5"], "privacy 0.5 is impossible"),
        (["prior.json", "--privacy", "0.3", "--error", "1"], "not by both"),
        (["prior.json", "--figure", "f.gif"], "allowed: .svg, .png, .pdf"),
        (["prior.json", "pilot.csv"], "is a prior, so it goes without DATA"),
        (["prior.json", "--out", "prior.json"], "is the file that is read"),
        (["prior.json", "--out", "groups.yaml"], "pick it by --privacy or --error"),
        (["prior.json", "--resume", "search.json"], "only spea2 can be continued"),
        (["prior.json", "--method", "spea2", "--resume", "text.json"], "not a search file"),
        (["prior.json", "--tolerance", "2"], "tolerance must lie between 0"),
        (["list.json", "--attributes", "smokes"], "names no categories"),
        (["one.json"], "needs 2 or more categories"),
        (["zero.json"], "prior[1] is 0: a category that nobody has"),
        (["missing.json"], "no such file"),
        (["broken.json"], "not a prior file"),
        (["text.json"], "must be a JSON list or object"),
        (["short.json"], "prior must sum to 1, but sums to 0.9"),
        (["survey.json"], "give the reported records of the pilot as well"),
        (["survey.json", "pilot.csv"], "--attributes: name the attributes to disguise"),
    ],
)
def test_a_mistake_is_one_line(
    pilot: list[str],
    arguments: list[str],
    said: str,
    capsys: pytest.CaptureFixture[str],
) -> None:
    Path("broken.json").write_text("{")
    Path("text.json").write_text('"half"')
    Path("short.json").write_text("[0.5, 0.4]")
    Path("list.json").write_text("[0.5, 0.5]")
    Path("zero.json").write_text("[0.5, 0, 0.5]")
    Path("one.json").write_text('{"all": 1}')
    assert run(["optimize", *arguments]) == 2
    error = capsys.readouterr().err
    assert error.startswith("error: ")
    assert said in error
    assert error.count("\n") == 1
