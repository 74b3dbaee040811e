"""The R script of a survey, run in R: the estimates and intervals of the library."""

from __future__ import annotations

import csv
import os
import shutil
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from tacit import disguise, reconstruct
from tacit.studio.record_files import LabelledRecords, python_script, r_script, stata_script
from tacit.survey import Published, survey_from_dict

pytestmark = pytest.mark.slow

_PLAIN = {"kind": "choice", "text": "?", "categories": ["low", "mid", "high"]}
#: Every way in which the weights of reports can be distributed: two values, several, none.
SURVEY = Published(
    survey_from_dict(
        {
            "title": "Families",
            "questions": [
                {"name": "related", "kind": "yes_no", "text": "?"},
                {"name": "unrelated", "kind": "yes_no", "text": "?"},
                {"name": "forced", **_PLAIN},
                {"name": "uniform", **_PLAIN},
                {"name": "frapp", **_PLAIN},
                {"name": "direct", **_PLAIN, "sensitive": False},
            ],
            "groups": [
                {"questions": ["related"], "family": "related", "theta": "4/5"},
                {
                    "questions": ["unrelated"],
                    "family": "unrelated",
                    "theta": "2/3",
                    "personal": {"unrelated": {"text": "Spring?", "distribution": ["3/4", "1/4"]}},
                },
                {
                    "questions": ["forced"],
                    "family": "forced",
                    "theta": "3/4",
                    "forced": ["1/2", "1/4", "1/4"],
                },
                {"questions": ["uniform"], "family": "uniform_perturbation", "q": "1/2"},
                {"questions": ["frapp"], "family": "frapp", "lambda": "6"},
            ],
        },
        "survey",
    )
)


def rscript() -> str:
    command = shutil.which("Rscript")
    if command is None and not os.environ.get("TACIT_REQUIRE_ALL"):
        pytest.skip("R is not installed")
    assert command is not None, "R is not installed"
    return command


@pytest.mark.parametrize("n", [40, 500, 20_000])
@pytest.mark.parametrize("shares", [(0.7, 0.25, 0.05), (0.99, 0.008, 0.002)])
def test_the_script_gives_the_numbers_of_the_library(
    n: int, shares: tuple[float, ...], tmp_path: Path
) -> None:
    rng = np.random.default_rng(n)
    yes_no = rng.random((n, 2)) < shares[1]
    others = rng.choice(3, size=(n, 4), p=shares)
    true = np.hstack([yes_no, others]).astype(np.uint8)
    codes = disguise(true, SURVEY.design, rng)
    (tmp_path / "records.csv").write_bytes(LabelledRecords(SURVEY, codes).csv())
    script = r_script(SURVEY, "records.csv", ".csv") + 'write.csv(estimates, "out.csv")\n'
    script = script.replace("print(estimates, digits = 4)", "options(digits = 17)")
    (tmp_path / "script.R").write_text(script)
    subprocess.run([rscript(), "script.R"], cwd=tmp_path, check=True, capture_output=True)
    with (tmp_path / "out.csv").open() as file:
        rows = list(csv.DictReader(file))
    whole = reconstruct(codes, SURVEY.design)
    expected = []
    for name in SURVEY.design.schema.names:
        table = whole.table([name])
        expected += list(zip(table.value, table.stderr, *table.interval(), strict=True))
    found = [[float(row[key]) for key in ("estimate", "stderr", "lower", "upper")] for row in rows]
    np.testing.assert_allclose(np.array(found), np.array(expected), atol=1e-8)


def test_the_python_script_runs_beside_the_downloaded_files(tmp_path: Path) -> None:
    codes = disguise(np.zeros((200, 6), np.uint8), SURVEY.design, np.random.default_rng(1))
    (tmp_path / f"{SURVEY.slug}-records.csv").write_bytes(LabelledRecords(SURVEY, codes).csv())
    (tmp_path / f"{SURVEY.slug}-design.json").write_text(SURVEY.design.to_json())
    (tmp_path / "script.py").write_text(python_script(SURVEY))
    done = subprocess.run(
        [sys.executable, "script.py"], cwd=tmp_path, check=True, capture_output=True, text=True
    )
    share = reconstruct(codes, SURVEY.design).table("forced").value[0]
    assert f"{share:.4f}" in done.stdout


def test_the_stata_script_has_the_matrix_of_every_question() -> None:
    """Stata is not free: only the text is checked."""
    script = stata_script(SURVEY)
    assert script.count("mata: tacit_estimate(") == len(SURVEY.design.schema)
    assert 'mata: tacit_estimate("frapp", (0.75, 0.125, 0.125 ' in script
