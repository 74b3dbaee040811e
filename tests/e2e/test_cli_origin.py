"""Records of one design are not read with another; a database is read without an export."""

from __future__ import annotations

import json
import re
from datetime import date
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.csv as pa_csv
import pyarrow.parquet as pq
import pytest

from tacit import reconstruct
from tacit.collect.store import Response, Store, packed
from tacit.errors import DataError
from tacit.records import read_design, read_origin
from tacit.survey import Published, publish, survey_from_dict
from tests.support.origins import unknown_origin

KINDS = ["csv", "csv.gz", "parquet"]


def survey(title: str, device: str, theta: str) -> Published:
    """The same two questions; only how they are disguised differs."""
    return Published(
        survey_from_dict(
            {
                "title": title,
                "device": device,
                "questions": [
                    {"name": "smokes", "kind": "yes_no", "text": "Do you smoke?"},
                    {"name": "drinks", "kind": "yes_no", "text": "Do you drink?"},
                ],
                "groups": [
                    {"questions": [name], "family": "related", "theta": theta}
                    for name in ("smokes", "drinks")
                ],
            }
        )
    )


DIE, BROWSER = survey("Thrown by a die", "die", "5/6"), survey("By the page", "browser", "4/5")


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Two published surveys and true records."""
    monkeypatch.chdir(tmp_path)
    publish(DIE.survey, "die.json")
    publish(BROWSER.survey, "browser.json")
    rng = np.random.default_rng(2)
    truth = {name: np.where(rng.random(4000) < 0.2, "yes", "no") for name in ("smokes", "drinks")}
    pa_csv.write_csv(pa.table(truth), "true.csv")


def disguised(tacit: Any, design: str, kind: str = "csv") -> str:
    out = f"{design}.{kind}"
    assert tacit("disguise", f"{design}.json", "true.csv", "--seed", "3", "--out", out)[0] == 0
    return out


def share_of_smokers(said: str) -> float:
    found = re.search(r"^yes +([\d.]+)", said, re.MULTILINE)
    assert found is not None
    return float(found[1])


def filled(published: Published, n: int, database: str = "survey.db") -> None:
    """A database with n answers, a third of them yes."""
    store = Store(database)
    store.register(published)
    codes = [packed([int(i % 3 == 0), 0], published.design.reported) for i in range(n)]
    batch = [
        Response(published.survey.fingerprint, i.to_bytes(16), code) for i, code in enumerate(codes)
    ]
    store.write(batch, date(2027, 1, 1))
    store.close()


@pytest.mark.parametrize("kind", KINDS)
def test_estimates_by_the_wrong_design_are_refused_and_both_are_named(
    tacit: Any, kind: str
) -> None:
    out = disguised(tacit, "browser", kind)
    own = tacit("estimate", "browser.json", out, "--table", "smokes")
    assert (own[0], own[2]) == (0, "")
    status, said, err = tacit("estimate", "die.json", out, "--table", "smokes")
    assert (status, said) == (2, "")
    assert err.startswith(
        f"error: {out}: holds reports of another design (“By the page”, fingerprint "
        f"{BROWSER.fingerprint[:12]}), not of die.json (“Thrown by a die”, fingerprint "
        f"{DIE.fingerprint[:12]}); give the published survey or the design that these records "
        "were made with"
    )


def test_records_that_lost_their_note_are_taken_with_a_warning(tacit: Any) -> None:
    out = disguised(tacit, "browser")
    right = share_of_smokers(tacit("estimate", "browser.json", out, "--table", "smokes")[1])
    Path(f"{out}.origin.json").unlink()
    status, said, err = tacit("estimate", "die.json", out, "--table", "smokes")
    assert (status, err) == (0, unknown_origin(out, design="die.json"))
    assert share_of_smokers(said) > right, "the wrong design would have gone unnoticed"


@pytest.mark.parametrize(
    "command",
    [
        "mine nb DIE OTHER --target smokes --out model.json",
        "mine tree DIE OTHER --target smokes --out model.json",
        "mine tree DIE OWN --target smokes --prune OTHER --out model.json",
        "evaluate own.json DIE OTHER",
        "privacy DIE --reported OTHER",
        "optimize DIE OTHER --attributes smokes",
    ],
)
def test_every_command_that_reads_reports_refuses_those_of_another_design(
    tacit: Any, command: str
) -> None:
    own, other = disguised(tacit, "die"), disguised(tacit, "browser")
    learn = ("mine", "nb", "die.json", own, "--target", "smokes", "--out", "own.json")
    assert tacit(*learn)[0] == 0
    names = {"DIE": "die.json", "OWN": own, "OTHER": other}
    status, said, err = tacit(*(names.get(word, word) for word in command.split()))
    assert (status, said) == (2, "")
    assert err.startswith(f"error: {other}: holds reports of another design (“By the page”")
    assert err.count("\n") == 1
    assert not Path("model.json").exists()


@pytest.mark.parametrize("kind", KINDS)
def test_the_library_refuses_them_too(tacit: Any, kind: str) -> None:
    out = disguised(tacit, "browser", kind)
    assert reconstruct(out, BROWSER.design).n_records == 4000
    with pytest.raises(DataError, match="holds reports of another design"):
        reconstruct(out, DIE.design)


def test_reported_records_are_not_taken_for_true_ones(tacit: Any) -> None:
    out = disguised(tacit, "die")
    learn = ("mine", "nb", "die.json", out, "--target", "smokes", "--out", "model.json")
    assert tacit(*learn)[0] == 0
    for command in (["disguise", "die.json"], ["predict", "model.json"]):
        status, _, err = tacit(*command, out, "--out", "again.csv")
        assert (status, err.count("\n")) == (2, 1)
        assert f"{out}: holds reported records (“Thrown by a die”" in err


def test_the_note_of_replaced_records_does_not_stay(tacit: Any) -> None:
    out = disguised(tacit, "die")
    learn = ("mine", "nb", "die.json", out, "--target", "smokes", "--out", "model.json")
    assert tacit(*learn)[0] == 0
    assert tacit("predict", "model.json", "true.csv", "--out", out)[0] == 0
    assert read_origin(out) is None
    assert not Path(f"{out}.origin.json").exists()


def test_the_note_of_a_file_that_another_program_replaced_is_named(tacit: Any) -> None:
    out = disguised(tacit, "browser")
    learn = ("mine", "nb", "browser.json", out, "--target", "smokes", "--out", "model.json")
    assert tacit(*learn)[0] == 0
    Path(out).write_bytes(Path("true.csv").read_bytes())
    told = f"{out}.origin.json says so: delete it if it belongs to an older {out}\n"
    for command in (
        ["estimate", "die.json", out],
        ["predict", "model.json", out, "--out", "p.csv"],
    ):
        status, _, err = tacit(*command)
        assert (status, err.count("\n")) == (2, 1)
        assert err.endswith(told)
    Path(f"{out}.origin.json").unlink()
    assert tacit("predict", "model.json", out, "--out", "p.csv")[0] == 0
    parquet = disguised(tacit, "browser", "parquet")
    assert "origin.json" not in tacit("estimate", "die.json", parquet)[2]


def test_a_design_file_is_noted_without_a_title(tacit: Any) -> None:
    Path("plain.json").write_text(DIE.design.to_json())
    origin = read_origin(disguised(tacit, "plain"))
    assert origin is not None
    assert (origin.design, origin.title) == (DIE.fingerprint, None)
    assert read_design("plain.json") == DIE.design


def test_other_programs_read_the_records_as_before(tacit: Any) -> None:
    names = ["smokes", "drinks"]
    assert pa_csv.read_csv(disguised(tacit, "die")).column_names == names
    assert pq.read_table(disguised(tacit, "die", "parquet")).column_names == names


@pytest.mark.parametrize("content", ["", "{", "[]", '{"tacit": "origin", "version": 1}'])
def test_a_broken_note_is_one_error_that_says_what_to_do(tacit: Any, content: str) -> None:
    out = disguised(tacit, "die")
    Path(f"{out}.origin.json").write_text(content)
    status, _, err = tacit("estimate", "die.json", out)
    assert (status, err.count("\n")) == (2, 1)
    assert f"{out}.origin.json: " in err
    assert "delete it" in err


def test_an_export_carries_the_fingerprint(tacit: Any) -> None:
    filled(DIE, 30)
    for kind in KINDS:
        out = f"r.{kind}"
        export = ("survey", "export", "die.json", "--database", "survey.db", "--out", out)
        assert tacit(*export)[0] == 0
        origin = read_origin(out)
        assert origin is not None
        assert (origin.design, origin.title) == (DIE.fingerprint, "Thrown by a die")


@pytest.mark.parametrize("by", ["flag", "variable"])
def test_a_database_gives_what_its_export_gives(
    tacit: Any, monkeypatch: pytest.MonkeyPatch, by: str
) -> None:
    filled(DIE, 300)
    export = ("survey", "export", "die.json", "--database", "survey.db", "--out", "r.csv")
    assert tacit(*export)[0] == 0
    flag = ("--database", "survey.db") if by == "flag" else ()
    if by == "variable":
        monkeypatch.setenv("TACIT_DATABASE", "survey.db")
    assert tacit("estimate", "die.json", *flag) == tacit("estimate", "die.json", "r.csv")
    learn = ("mine", "nb", "die.json", "--target", "smokes", "--out")
    assert tacit(*learn, "model.json", *flag)[0] == 0
    measured = ("evaluate", "model.json", "die.json")
    assert tacit(*measured, *flag) == tacit(*measured, "r.csv")


def test_privacy_and_optimize_read_the_database_only_if_told(
    tacit: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    filled(DIE, 300)
    database = ("--database", "survey.db")
    status, said, _ = tacit("privacy", "die.json", *database)
    assert status == 0
    assert "estimated" in said
    given = ("optimize", "die.json", "--attributes", "smokes", "--points", "2")
    assert tacit(*given, *database)[0] == 0
    monkeypatch.setenv("TACIT_DATABASE", "survey.db")
    assert tacit(*given)[0] == 2
    assert tacit("privacy", "die.json")[1] != said


def test_a_file_and_a_database_at_once_are_refused(tacit: Any) -> None:
    out = disguised(tacit, "die")
    status, _, err = tacit("estimate", "die.json", out, "--database", "survey.db")
    assert (status, err) == (2, f"error: give the records {out} or --database, not both\n")
    status, _, err = tacit("estimate", "die.json")
    assert (status, err) == (
        2,
        "error: no records: give a file of reported records or a --database\n",
    )


def test_a_survey_without_answers_is_said_in_one_line(tacit: Any) -> None:
    filled(DIE, 0)
    database = ("--database", "survey.db")
    assert tacit("estimate", "die.json", *database) == (
        2,
        "",
        "error: no answers yet to die.json in this database\n",
    )
    for out in ("r.csv", "r.parquet"):
        export = tacit("survey", "export", "die.json", *database, "--out", out)
        assert export == (2, "", "error: no answers yet to die.json: nothing to export\n")
        assert not Path(out).exists()


def test_optimize_takes_a_published_survey(tacit: Any) -> None:
    out = disguised(tacit, "die")
    status, said, err = tacit(
        "optimize", "die.json", out, "--attributes", "smokes", "--points", "2", "--json"
    )
    assert (status, err) == (0, "")
    assert json.loads(said)["tacit"] == "front"
