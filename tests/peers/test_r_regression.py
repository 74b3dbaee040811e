"""The R code of a regression, run in R: the odds ratios and intervals of the library."""

from __future__ import annotations

import csv
import subprocess
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from tacit import disguise
from tacit.core.arrays import Codes
from tacit.core.label_codes import with_no_answer
from tacit.records import answers_of, count_codes
from tacit.regression import logit
from tacit.studio.recoding import recoded
from tacit.studio.record_files import LabelledRecords
from tacit.studio.regression_code import r_code
from tacit.studio.regression_request import RegressionRequest, request_of_form
from tacit.studio.release import Release
from tacit.survey import Published, survey_from_dict
from tests.peers.test_r_script import rscript

pytestmark = pytest.mark.slow

_DIRECT = {"kind": "choice", "text": "?", "sensitive": False}
#: Outcomes of several families, two questions that one coin disguises, and undisguised predictors.
SURVEY = Published(
    survey_from_dict(
        {
            "title": "Families",
            "questions": [
                {"name": "stole", "kind": "yes_no", "text": "?"},
                {"name": "lied", "kind": "yes_no", "text": "?"},
                {"name": "cheats", "kind": "yes_no", "text": "?"},
                {"name": "late", "kind": "choice", "text": "?", "categories": ["no", "=a", "b"]},
                {
                    "name": "mood",
                    "kind": "ordered",
                    "text": "?",
                    "categories": ["low", "mid", "high"],
                },
                {"name": "site", **_DIRECT, "categories": ["it's", 'b "c"', "=d", "e"]},
                {"name": "sex", **_DIRECT, "categories": ["f", "m"], "optional": True},
            ],
            "groups": [
                {"questions": ["stole", "lied"], "family": "related", "theta": "9/10"},
                {"questions": ["cheats"], "family": "crosswise", "p": "1/5", "innocent": "Spring?"},
                {"questions": ["late"], "family": "uniform_perturbation", "q": "4/5"},
                {
                    "questions": ["mood"],
                    "family": "forced",
                    "theta": "4/5",
                    "forced": ["1/2", "1/4", "1/4"],
                },
            ],
        },
        "survey",
    )
)
MERGED = {"site.1": "1", "site.3": "1", "site.merged1": "other"}


def records(n: int) -> Codes:
    """Reported records; the last code of `sex` is a missing answer."""
    rng = np.random.default_rng(7)
    site, sex = rng.integers(4, size=n), rng.integers(2, size=n)
    score = 0.5 * site - 0.8 * sex + rng.logistic(size=n)
    columns = [score > 0.6, rng.random(n) < 0.2 + 0.1 * sex, rng.random(n) < 0.3 + 0.1 * site]
    columns += [np.digitize(score + rng.normal(size=n), (0, 1)), np.digitize(score, (-0.5, 1))]
    true = np.column_stack([*columns, site, sex]).astype(np.uint8)
    reported = disguise(true, SURVEY.design, rng)
    reported[rng.random(n) < 0.05, -1] = 2
    return reported


def fitted(request: RegressionRequest, codes: Codes) -> Any:
    """The model with the library, from the records that have all answers."""
    reported = SURVEY.design.reported
    counts = answers_of(count_codes(codes, with_no_answer(reported)), reported)
    release = Release(SURVEY, counts.complete([n for n in request.names if n == "sex"]))
    changed = request.changed(SURVEY)
    recoded_counts, design = recoded(release.counts, SURVEY.design, request.names, changed)
    outcome = request.column(request.outcome.name, SURVEY)
    factors = request.factors(SURVEY)
    return logit(outcome, recoded_counts, design, factors, ordered=request.ordered)


@pytest.mark.parametrize(
    ("outcome", "chosen", "fields"),
    [
        ("stole", ["site"], {"ref.site": "=d"}),
        ("stole", ["lied", "site"], MERGED | {"ref.lied": "yes"}),
        ("cheats", ["late", "sex"], {"first": "late", "second": "sex"}),
        ("sex", ["site", "cheats"], MERGED | {"ref.site": "other"}),
        ("late", ["site", "sex"], MERGED | {"first": "site", "second": "sex"}),
        ("mood", ["sex", "site"], {}),
        ("mood", ["cheats", "sex"], {}),
        ("site", ["sex"], MERGED),
    ],
)
def test_the_r_code_gives_the_odds_ratios_of_the_library(
    outcome: str, chosen: list[str], fields: dict[str, str], tmp_path: Path
) -> None:
    codes = records(6000)
    request = request_of_form(SURVEY, {"outcome": outcome, **fields}, chosen)
    (tmp_path / f"{SURVEY.slug}-records.csv").write_bytes(LabelledRecords(SURVEY, codes).csv())
    code = r_code(request, SURVEY).replace("print(fit, digits = 4)", "options(digits = 17)")
    (tmp_path / "script.R").write_text(f'{code}\nwrite.csv(fit, "out.csv")\n', encoding="utf-8")
    done = subprocess.run(
        [rscript(), "script.R"], cwd=tmp_path, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
    with (tmp_path / "out.csv").open(encoding="utf-8") as file:
        rows = list(csv.DictReader(file))
    expected = fitted(request, codes)
    shown = [k for k, name in enumerate(expected.names) if "[T." in name]
    np.testing.assert_allclose(
        [float(row["log_odds"]) for row in rows], expected.values[shown], atol=1e-5
    )
    limits = np.exp(expected.conf_int()[shown])
    found = [[float(row["lower"]), float(row["upper"])] for row in rows]
    np.testing.assert_allclose(found, limits, rtol=1e-4)
