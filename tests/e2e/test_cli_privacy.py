"""`tacit privacy`, as a user runs it."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.csv as pa_csv
import pyarrow.parquet as pa_parquet
import pytest

from tacit import Attribute, Design, Group, Schema, disguise, reconstruct, related, unrelated
from tacit.cli.main import run
from tacit.cli.models import read_model
from tacit.output.plot_style import svg
from tacit.privacy import Limits, Rule, compare_schemes, report
from tacit.privacy.report import NOT_KNOWN
from tacit.survey import example, publish, survey_from_text

SCHEMA = Schema([Attribute("smokes", ["no", "yes"]), Attribute("income", ["low", "mid", "high"])])
DESIGN = Design(SCHEMA, [Group(["smokes"], related(0.75)), Group(["income"], related("5/6"))])
PRIOR = {"smokes": {"no": 0.7, "yes": 0.3}, "income": [0.5, 0.3, 0.2]}
IF = {"conditions": {"smokes": "yes"}}
RULES = [IF | {"attribute": "income", "category": "low", "confidence": 0.8}]


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A design, priors, rules and reported records."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("COLUMNS", "200")
    Path("design.json").write_text(DESIGN.to_json())
    Path("prior.json").write_text(json.dumps(PRIOR))
    Path("rules.json").write_text(json.dumps(RULES))
    rng = np.random.default_rng(1)
    people = pa.table(
        {
            "smokes": rng.choice(["no", "yes"], 2000, p=[0.7, 0.3]),
            "income": rng.choice(["low", "mid", "high"], 2000, p=[0.5, 0.3, 0.2]),
        }
    )
    pa_csv.write_csv(disguise(people, DESIGN, rng), "reported.csv")
    return tmp_path


@pytest.fixture
def privacy(capsys: pytest.CaptureFixture[str]) -> Callable[..., tuple[int, str, str]]:
    def call(*arguments: str) -> tuple[int, str, str]:
        capsys.readouterr()
        return (run(["privacy", *arguments]), *capsys.readouterr())

    return call


def test_what_is_not_known_comes_first_and_sentences_before_figures(privacy: Any) -> None:
    status, out, _ = privacy("design.json", "--prior", "prior.json")
    found = report(DESIGN, PRIOR)
    assert status == 0
    assert out.startswith(f"warning: {NOT_KNOWN}\n\n{found.sentences[0]}")
    assert out.index(found.basis()) < out.index("epsilon")


@pytest.mark.parametrize("rules", [[], ["--rules", "rules.json"]])
@pytest.mark.parametrize("prior", ["--prior", "--reported"])
def test_no_name_or_figure_is_broken_into_letters_on_a_terminal_of_80_columns(
    privacy: Any, monkeypatch: pytest.MonkeyPatch, rules: list[str], prior: str
) -> None:
    monkeypatch.setenv("COLUMNS", "80")
    schema = Schema([Attribute(f"question{i}", ["no", "yes"]) for i in range(4)])
    design = Design(schema, [Group(schema.names, unrelated("1/2", [0.5, 0.5]))])
    Path("design.json").write_text(design.to_json())
    shares = {name: [0.7, 0.3] for name in schema.names}
    Path("prior.json").write_text(json.dumps(shares))
    rule = {"conditions": {"question0": "yes"}, "attribute": "question1", "category": "no"}
    Path("rules.json").write_text(json.dumps([rule | {"confidence": 0.9}]))
    rng = np.random.default_rng(1)
    people = {name: rng.choice(["no", "yes"], 2000) for name in schema.names}
    pa_csv.write_csv(pa.table(people), "reported.csv")
    known = prior[2:] + (".json" if prior == "--prior" else ".csv")
    status, out, err = privacy("design.json", prior, known, "--repeat", "2", *rules)
    assert status == 0, err
    assert "…" not in out
    tables = [line for line in out.splitlines() if line.startswith("question0 ")]
    assert len(tables) == 4 + len(rules) // 2
    assert ("? not known" in " ".join(out.split())) == (prior == "--prior")


def test_a_published_survey_is_shown_by_its_title_questions_and_labels(privacy: Any) -> None:
    publish(survey_from_text(example()), "published.json")
    status, out, _ = privacy("published.json", "--html", "page.html")
    assert status == 0
    assert out.startswith("Health at work\n\nwarning: ")
    shown = " ".join(out.split())
    assert "Have you been harassed at work this year? Of 100 people who send “No”, 21 have" in shown
    page = Path("page.html").read_text()
    told = page[page.index("<ul") : page.index("</ul>")]
    assert "Have you been harassed at work this year?" in told
    assert "harassed:" not in told


def test_json_is_that_of_the_report(privacy: Any) -> None:
    arguments = ("--prior", "prior.json", "--rules", "rules.json", "--repeat", "3", "--json")
    status, out, _ = privacy("design.json", *arguments)
    rules = [Rule({"smokes": "yes"}, "income", "low", 0.8)]
    assert status == 0
    assert json.loads(out) == report(DESIGN, PRIOR, rules=rules, repeats=3).to_dict()


def test_the_rules_of_a_tree_are_read_as_it_is_printed(
    privacy: Any, capsys: pytest.CaptureFixture[str]
) -> None:
    arguments = ["design.json", "reported.csv", "--target", "income", "--out", "tree.json"]
    assert run(["mine", "tree", *arguments, "--json"]) == 0
    Path("tree_rules.json").write_text(capsys.readouterr().out)
    _, out, _ = privacy("design.json", "--rules", "tree_rules.json", "--json")
    rules = read_model(Path("tree.json")).rules()  # type: ignore[union-attr]
    assert json.loads(out) == report(DESIGN, rules=rules).to_dict()


def test_without_a_prior_categories_are_equally_likely(privacy: Any) -> None:
    status, out, _ = privacy("design.json")
    assert status == 0
    assert "every category taken as equally likely" in out


def test_joint_tables_may_be_given(privacy: Any) -> None:
    table = [[0.4, 0.2, 0.1], [0.1, 0.1, 0.1]]
    content = [{"attributes": ["smokes", "income"], "table": table}]
    Path("joint.json").write_text(json.dumps(content))
    _, out, _ = privacy("design.json", "--prior", "joint.json", "--json")
    assert json.loads(out) == report(DESIGN, {("smokes", "income"): table}).to_dict()


def test_a_prior_is_estimated_from_reported_records(privacy: Any) -> None:
    arguments = ("design.json", "--reported", "reported.csv", "--json", "--seed", "4")
    status, out, _ = privacy(*arguments, "--level", "0.9")
    limits = Limits(level=0.9, rng=np.random.default_rng(4))
    assert status == 0
    expected = report(DESIGN, reconstruct("reported.csv", DESIGN), limits=limits)
    assert json.loads(out) == expected.to_dict()
    assert "2,000 reported records" in json.loads(out)["prior"]


def test_the_page_is_written_and_no_input_is_written_over(privacy: Any) -> None:
    assert privacy("design.json", "--prior", "prior.json", "--html", "page.html")[0] == 0
    assert Path("page.html").read_text() == report(DESIGN, PRIOR).to_html()
    status, _, said = privacy("design.json", "--html", "design.json")
    assert status == 2
    assert said == "error: design.json: is the file that is read; write to another one\n"
    assert Path("design.json").read_text() == DESIGN.to_json()


def test_the_figures_are_drawn_and_written_as_a_table(privacy: Any) -> None:
    arguments = ("--prior", "prior.json", "--figure", "guesses.svg", "--out", "figures.csv")
    assert privacy("design.json", *arguments)[0] == 0
    found = report(DESIGN, PRIOR)
    assert Path("guesses.svg").read_text() == svg(found.plot())
    assert (
        pa_csv.read_csv("figures.csv").to_pydict() == found.to_frame(backend="pyarrow").to_pydict()
    )


def test_schemes_are_compared_as_tables_a_figure_and_a_file(privacy: Any) -> None:
    arguments = ("--prior", "prior.json", "--compare")
    status, out, _ = privacy("design.json", *arguments, "--figure", "s.png", "--out", "s.parquet")
    found = compare_schemes(SCHEMA, PRIOR)
    assert status == 0
    assert [line.split()[:2] for line in out.splitlines() if "theta" in line] == [
        ["related,", "theta"],
        ["unrelated,", "theta"],
    ]
    assert Path("s.png").read_bytes().startswith(b"\x89PNG")
    written = sorted(pa_parquet.read_table("s.parquet").to_pylist(), key=str)
    assert written == sorted(found.to_frame(backend="pyarrow").to_pylist(), key=str)
    status, out, _ = privacy("design.json", *arguments, "--json")
    assert sorted(json.loads(out)["pse"]) == sorted(found.to_dict()["pse"])


@pytest.mark.parametrize(
    ("arguments", "content", "said"),
    [
        (["--prior", "bad.json"], "{", "bad.json: not a prior file: "),
        (["--prior", "bad.json"], "3", "bad.json: a prior must be an object by attribute"),
        (
            ["--prior", "bad.json"],
            '[{"attributes": ["smokes"]}]',
            "[0] must be an object",
        ),
        (["--prior", "bad.json"], '[{"attributes": 3, "table": 1}]', "must be a list of names"),
        (["--prior", "bad.json"], '{"smokes": [1, 0], "smokes": [0, 1]}', "'smokes' appears twice"),
        (["--prior", "bad.json"], '{"smokes": [0.5, 0.5]}', "says nothing of attribute 'income'"),
        (["--prior", "bad.json"], '{"smokes": [0.5, 0.6]}', "must sum to 1, but sums to 1.1"),
        (["--prior", "none.json"], "", "none.json: no such file"),
        (["--prior", "reported.csv"], "", "give reported records as --reported"),
        (["--prior", "prior.json", "--reported", "reported.csv"], "", "not both"),
        (["--rules", "bad.json"], "{}", "bad.json: rules must be a list"),
        (["--rules", "bad.json"], '[{"conditions": {}}]', "bad.json: [0] must be an object with"),
        (["--rules", "bad.json"], json.dumps([RULES[0] | {"confidence": "x"}]), "(a number)"),
        (["--rules", "bad.json"], json.dumps([RULES[0] | {"conditions": 1}]), "must be an object"),
        (["--rules", "bad.json"], json.dumps([RULES[0] | {"category": "x"}]), "rule 1: unknown"),
        (["--repeat", "0"], "", "--repeat"),
        (["--level", "2"], "", "level"),
        (["--html", "none/page.html"], "", "the folder none does not exist"),
        (["--figure", "figure.gif"], "", "figure.gif: unknown suffix '.gif' of a figure"),
        (["--figure", "none/figure.svg"], "", "the folder none does not exist"),
        (["--out", "figures.txt"], "", "figures.txt: unknown suffix"),
        (["--compare", "--repeat", "2"], "", "--compare goes without --rules, --repeat and --html"),
    ],
)
def test_a_mistake_is_one_line(privacy: Any, arguments: list[str], content: str, said: str) -> None:
    if content:
        Path("bad.json").write_text(content)
    status, out, err = privacy("design.json", *arguments)
    assert (status, out) == (2, "")
    assert err.startswith("error: ")
    assert err.count("\n") == 1
    assert said in err
