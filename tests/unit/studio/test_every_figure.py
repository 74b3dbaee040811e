"""Every figure on a page, in the report and in an export is the library's for the same release."""

from __future__ import annotations

import csv
import io
import re
from collections.abc import Iterator
from html import unescape
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from tacit import reconstruct
from tacit.cli.main import run
from tacit.reconstruction import Estimate, Reconstruction
from tacit.records import count_codes
from tacit.regression import LogitResult, logit
from tacit.studio.accounts import Role
from tacit.studio.analyses import Analysis, all_labels
from tacit.studio.charts import ratio_text
from tacit.studio.disclosure import sampled_release
from tacit.studio.recoding import recoded
from tacit.studio.record_files import LabelledRecords
from tacit.studio.regression_request import request_of_form
from tacit.studio.regressions import coarse
from tacit.studio.release import Release
from tacit.studio.report import analysis_section, survey_report_pdf
from tacit.survey import publish
from tests.support.studio import Browser, Tried, reports, survey, tried

SURVEY = survey()
CODES = reports(SURVEY, 2500)
RELEASE = Release(SURVEY, count_codes(CODES, SURVEY.design.reported))
LATE = {"often": ["sometimes", "daily"]}
#: Merged groups with a chosen reference, and an answer that is left out.
MERGED = "row=stole&column=often&often.1=1&often.2=1&often.merged1=late&reference=late"
LEFT_OUT = "row=stole&column=often&often.0=out"
LAYERS = "row=stole&column=often&layer=site"
LOGIT = "outcome=stole&with=site&ref.site=south"
SEVERAL = "outcome=often&with=site"


@pytest.fixture(scope="module")
def studio(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Tried]:
    made = tried(tmp_path_factory.mktemp("studio"), records=2500, closed=True)
    yield made
    made.store.close()


@pytest.fixture(scope="module")
def viewer(studio: Tried) -> Browser:
    return studio.client(studio.account("viewer", Role.VIEWER))


@pytest.fixture(scope="module")
def analyst(studio: Tried) -> Browser:
    return studio.client(studio.account("analyst", Role.ANALYST))


def texts(browser: Browser, studio: Tried, path: str) -> str:
    """A page or file as text, with narrow spaces made plain."""
    answer = browser.get(f"/surveys/{studio.mine.slug}/{path}")
    assert answer.status_code == 200, answer.text
    return unescape(answer.text).replace("\u202f", " ")


def rows(text: str) -> list[dict[str, str]]:
    return list(csv.DictReader(io.StringIO(text)))


def written(estimate: Estimate, factor: float = 100) -> tuple[str, str]:
    """An estimate as pages write it, and its interval."""
    low, high = (factor * float(limit) for limit in estimate.interval())
    return f"{factor * float(estimate.value):.1f}", f"{low:.1f} to {high:.1f}"


@pytest.fixture(scope="module")
def whole() -> Reconstruction:
    return reconstruct(CODES, SURVEY.design)


def test_results_of_a_question_are_the_same_everywhere(
    studio: Tried, viewer: Browser, whole: Reconstruction
) -> None:
    pages = [texts(viewer, studio, name) for name in ("results", "report.html")]
    exported = rows(texts(viewer, studio, "estimates.csv"))
    content = viewer.get(f"/api/surveys/{studio.mine.slug}/results").json()
    by_name = {question["name"]: question for question in content["questions"]}
    for name in SURVEY.design.schema.names:
        table = whole.table([name])
        numbers = np.stack([table.value, *table.interval()], axis=1)
        for page in pages:
            for value, low, high in 100 * numbers:
                assert f"{value:.1f} %" in page
                assert f"{low:.1f} to {high:.1f}" in page
        keys = ("share", "low", "high")
        for found in (
            [row for row in exported if row["question"] == name],
            by_name[name]["answers"],
        ):
            shown = np.array([[float(row[key]) for key in keys] for row in found])
            np.testing.assert_allclose(shown, numbers, atol=1e-9)


def expected_shares(whole: Reconstruction, query: str) -> dict[tuple[str, ...], Estimate]:
    """The library's shares of `stole: yes` in the groups of a comparison."""
    if query == LAYERS:
        return {
            (site, often): whole.probability({"stole": "yes"}, {"often": often, "site": site})
            for site in ("north", "south")
            for often in ("never", "sometimes", "daily")
        }
    groups: dict[str, Any] = {"sometimes": "sometimes", "daily": "daily"}
    if query == MERGED:
        groups = {"never": "never", "late": LATE["often"]}
    return {
        (name,): whole.probability({"stole": "yes"}, {"often": group})
        for name, group in groups.items()
    }


@pytest.mark.parametrize("query", [MERGED, LEFT_OUT, LAYERS])
def test_shares_in_groups_are_the_same_everywhere(
    query: str, studio: Tried, viewer: Browser, whole: Reconstruction
) -> None:
    page = texts(viewer, studio, f"compare?{query}")
    exported = rows(texts(viewer, studio, f"comparison.csv?{query}"))
    content = viewer.get(f"/api/surveys/{studio.mine.slug}/table?{query}").json()
    section = analysis_section(SURVEY, RELEASE, Analysis("comparison", query))
    words = all_labels(SURVEY)
    for labels, estimate in expected_shares(whole, query).items():
        share, limits = written(estimate)
        unknown = limits == "0.0 to 100.0"  # the group may be empty
        assert unknown or f"{share} %" in page
        assert unknown or limits in page
        layer, group = labels if len(labels) > 1 else (None, labels[0])
        (cell,) = (
            c
            for c in content["cells"]
            if (c["layer"], c["column"], c["row"]) == (layer, group, "yes")
        )
        numbers = float(estimate.value), *map(float, estimate.interval())
        np.testing.assert_allclose([cell["share"], cell["low"], cell["high"]], numbers, atol=1e-9)
        shown = words["often"].get(group, group)
        (row,) = (
            r
            for r in exported
            if (r["figure"], r["layer"], r["group"], r["answer"])
            == ("share", layer or "", shown, words["stole"]["yes"])
        )
        found = [float(row[key]) for key in ("value", "low", "high")]
        np.testing.assert_allclose(found, numbers, atol=1e-9)
        in_report = [r for r in section.tables[0].rows if r[3] == f"{share}\u202f%"]
        assert unknown or limits in [r[4] for r in in_report]


def test_differences_and_people_are_the_same_everywhere(
    studio: Tried, viewer: Browser, whole: Reconstruction
) -> None:
    page = texts(viewer, studio, f"compare?{MERGED}")
    content = viewer.get(f"/api/surveys/{studio.mine.slug}/table?{MERGED}").json()
    expected = whole.difference({"stole": "yes"}, between=({"often": "never"}, LATE))
    (pair,) = content["comparisons"]
    assert (pair["column"], pair["against"]) == ("never", "late")
    np.testing.assert_allclose(pair["difference"], float(expected.value))
    points, limits = written(expected)
    assert f"{float(points):+.1f}" in page
    (row,) = (
        r
        for r in rows(texts(viewer, studio, f"comparison.csv?{MERGED}"))
        if r["figure"] == "difference"
    )
    np.testing.assert_allclose(float(row["value"]), float(expected.value))
    section = analysis_section(SURVEY, RELEASE, Analysis("comparison", MERGED))
    low, high = map(float, limits.split(" to "))
    signed = f"{low:+.1f} to {high:+.1f}"
    assert section.tables[1].rows[0][2:] == (f"{float(points):+.1f} points", signed)
    people = {group["column"]: group["people"] for group in content["groups"]}
    assert people["late"] == round(float(whole.probability(LATE).value) * len(CODES))
    assert f"{people['late']:,} people" in page


def library_fit(query: str) -> LogitResult:
    fields = dict(pair.split("=") for pair in query.split("&"))
    request = request_of_form(SURVEY, fields, [fields["with"]])
    sample = sampled_release(RELEASE, request.names)
    counts, design = recoded(sample.counts, SURVEY.design, request.names, {})
    reference = fields.get("ref.site", "north")
    formula = f"{fields['outcome']} ~ C(site, contr.treatment(base='{reference}'))"
    return logit(formula, counts, design)


@pytest.mark.parametrize("query", [LOGIT, SEVERAL])
def test_odds_ratios_are_the_same_everywhere(query: str, studio: Tried, viewer: Browser) -> None:
    fit = library_fit(query)
    shown = [k for k, name in enumerate(fit.names) if "[T." in name]
    numbers = np.column_stack([fit.values, fit.conf_int()])[shown]
    stderrs = np.sqrt(np.diag(fit.covariance))[shown]
    rows_of = zip(numbers, stderrs, strict=True)
    expected = np.exp([[coarse(number, stderr) for number in row] for row, stderr in rows_of])
    content = viewer.get(f"/api/surveys/{studio.mine.slug}/regression?{query}").json()
    keys = ("odds_ratio", "low", "high")
    found = [[term[key] for key in keys] for term in content["terms"]]
    np.testing.assert_allclose(found, expected, rtol=1e-6)
    exported = rows(texts(viewer, studio, f"regression.csv?{query}"))
    ratios = [row for row in exported if row["figure"] == "odds ratio"]
    found = [[float(row[key]) for key in ("value", "low", "high")] for row in ratios]
    np.testing.assert_allclose(found, expected, rtol=1e-6)
    effects = [float(row["value"]) for row in exported if row["figure"] == "average effect"]
    np.testing.assert_allclose(effects, [e["difference"] for e in content["effects"]])
    page = texts(viewer, studio, f"regression?{query}")
    section = analysis_section(SURVEY, RELEASE, Analysis("regression", query))
    for (ratio, low, high), row in zip(expected, section.tables[0].rows, strict=True):
        assert row[2:4] == (ratio_text(ratio), f"{ratio_text(low)} to {ratio_text(high)}")
        assert row[3] in page
        assert row[3] in unescape(section.figures[0])


def test_what_an_analyst_adds_is_in_everybodys_report(
    studio: Tried, viewer: Browser, analyst: Browser
) -> None:
    base = f"/surveys/{studio.mine.slug}"
    for kind, query in (("comparison", MERGED), ("regression", LOGIT), ("regression", LOGIT)):
        refused = viewer.post(f"{base}/report", data={"kind": kind, "query": query})
        assert refused.status_code == 403
        added = analyst.post(f"{base}/report", data={"kind": kind, "query": query})
        assert added.headers["location"] == f"{base}/export#report"
    listed = viewer.get(f"/api{base}/report").json()["analyses"]
    assert [one["kind"] for one in listed] == ["comparison", "regression"]  # each once
    report = texts(viewer, studio, "report.html")
    section = analysis_section(SURVEY, RELEASE, Analysis("comparison", MERGED))
    for row in section.tables[0].rows:
        assert row[3].replace("\u202f", " ") in report
    assert "van den Hout" in report
    assert "<script" not in viewer.get(f"{base}/report.html").text
    assert "Remove" not in viewer.get(f"{base}/export").text
    assert analyst.get(f"{base}/export").text.count("Remove</button>") == 2
    logged = [entry.action for entry in studio.studio.accounts.history()]
    assert "added to the report" in logged
    assert analyst.post(f"{base}/report/1/remove").status_code == 303
    assert analyst.request("DELETE", f"/api{base}/report/1").json() == {"analyses": []}
    assert analyst.post(f"{base}/report/1/remove").status_code == 400
    assert "Comparisons and regressions" not in texts(viewer, studio, "report.html")


@pytest.mark.parametrize(
    ("kind", "query"),
    [
        ("comparison", "row=stole"),
        ("comparison", "row=stole&column=nothing"),
        ("regression", "outcome=stole"),
        ("tree", "outcome=stole"),
        ("comparison", f"row=stole&column={'a' * 5000}"),
    ],
)
def test_what_cannot_be_shown_is_not_added(
    kind: str, query: str, studio: Tried, analyst: Browser
) -> None:
    path = f"/surveys/{studio.mine.slug}/report"
    assert analyst.post(path, data={"kind": kind, "query": query}).status_code == 400


def test_a_report_says_why_an_analysis_is_not_shown_while_people_answer() -> None:
    opened = Release(SURVEY, RELEASE.counts, open=True)
    for release in (None, opened):
        section = analysis_section(SURVEY, release, Analysis("comparison", MERGED))
        assert section.tables == []
        assert "once the survey is closed" in section.texts[0]


@pytest.mark.slow
def test_the_pdf_has_the_sections_of_the_html_report() -> None:
    analyses = [Analysis("comparison", MERGED), Analysis("regression", SEVERAL)]
    plain, more = survey_report_pdf(RELEASE), survey_report_pdf(RELEASE, analyses, RELEASE)
    assert more.startswith(b"%PDF")
    assert len(more) > len(plain) + 5000


@pytest.mark.slow
def test_the_command_adds_comparisons_and_regressions(tmp_path: Path, capsys: Any) -> None:
    records, published = tmp_path / "records.csv", tmp_path / "published.json"
    records.write_bytes(LabelledRecords(SURVEY, CODES).csv())
    publish(SURVEY.survey, published)
    out = tmp_path / "report.html"
    given = ["report", str(published), str(records), "--out", str(out)]
    assert run([*given, "--compare", MERGED, "--regress", LOGIT]) == 0
    shown = unescape(out.read_text(encoding="utf-8"))
    section = analysis_section(SURVEY, RELEASE, Analysis("comparison", MERGED))
    for row in section.tables[0].rows:
        assert row[3] in shown
    assert len(re.findall("Odds ratio", shown)) >= 2
    assert run([*given, "--compare", "row=stole&column=nothing"]) != 0
