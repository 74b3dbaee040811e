"""The report of a survey: its numbers, its methods, and markup in its texts."""

from __future__ import annotations

import re
from html import unescape
from html.parser import HTMLParser
from pathlib import Path
from xml.etree import ElementTree

import numpy as np
import pytest

from tacit import Attribute, Design, Group, Schema, disguise, reconstruct
from tacit.cli.main import run
from tacit.core.channel import (
    FAMILIES,
    christofides,
    crosswise,
    forced,
    frapp,
    kuk,
    mangat,
    mangat_singh,
    matrix,
    related,
    triangular,
    truthful,
    uniform_perturbation,
    unrelated,
)
from tacit.records import count_reported
from tacit.studio.accounts import Role
from tacit.studio.design_text import design_sentences
from tacit.studio.release import Release
from tacit.studio.report import (
    REFERENCES,
    methods_sentences,
    references,
    survey_report,
)
from tacit.studio.results import question_results
from tacit.survey import Published, publish
from tests.support.page_surveys import HOSTILE, every_kind
from tests.support.studio import MARKUP, reports, survey, tried


def released(published: Published, n: int = 500) -> Release:
    rng = np.random.default_rng(5)
    sizes = published.design.schema.sizes
    true = np.stack([rng.integers(size, size=n) for size in sizes], axis=1).astype(np.uint8)
    return Release(
        published, count_reported(disguise(true, published.design, rng), published.design)
    )


class Tags(HTMLParser):
    def __init__(self, text: str) -> None:
        super().__init__()
        self.names: set[str] = set()
        self.references: list[str] = []
        self.feed(text)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.names.add(tag)
        self.references += [str(value) for name, value in attrs if name in ("src", "href")]


@pytest.mark.slow
def test_every_number_of_a_report_is_the_librarys() -> None:
    release = released(every_kind())
    text = survey_report(release)
    whole = reconstruct(release.counts, release.survey.design)
    for name in release.survey.design.schema.names:
        share = whole.table([name])
        for value, low, high in zip(share.value, *share.interval(), strict=True):
            assert f"{100 * value:.1f} %</td>\n" in text
            assert f"{100 * low:.1f} to {100 * high:.1f} %</td>" in text
    counts = release.counts.marginal(["smokes"])
    assert f"{100 * counts[1] / counts.sum():.1f} %</td></tr>" in text
    assert text.count("<svg") == text.count("<table") == len(release.survey.design.schema.names)


@pytest.mark.slow
@pytest.mark.parametrize("published", [every_kind(), HOSTILE, survey()])
def test_a_report_is_one_file_without_script_and_shows_markup_as_text(published: Published) -> None:
    text = survey_report(released(published, 200))
    tags = Tags(text)
    assert tags.names & {"script", "img", "i", "b", "iframe", "link"} == set()
    assert tags.references == []
    assert MARKUP not in text
    assert text.lstrip().startswith("<!doctype html>")


def test_the_methods_name_design_records_and_references() -> None:
    release = released(every_kind())
    text = survey_report(release)
    assert release.survey.fingerprint in text
    assert release.survey.survey.fingerprint in text
    assert "500 reported records" in text
    assert "smokes: with probability 5/6 the true answer" in text
    assert "One draw decides for all" in text
    shown = unescape(text.partition("References</h2>")[2])
    design = release.survey.design
    assert [
        full for full in references(design, design_sentences(design)) if full not in shown
    ] == []
    assert REFERENCES["Clopper & Pearson, 1934"] in shown
    plain = Design(Schema([Attribute("a", ["no", "yes"])]), [Group(["a"], truthful())])
    assert references(plain, ["nothing"]) == []


def test_every_family_has_words_with_its_parameters_and_a_reference() -> None:
    attribute = Attribute("a", ["no", "yes"])
    coins = [
        *(triangular("1/7"), mangat("1/7"), mangat_singh("1/3", "1/7"), kuk("6/7", "1/7", 3)),
        *(christofides(["1/7", "2/7", "4/7"]), related("1/7"), uniform_perturbation("1/7")),
        *(forced("1/7", ["1/2", "1/2"]), crosswise("1/7"), unrelated("1/7", {"a": ["1/2", "1/2"]})),
        *(frapp("1/7"), matrix([["6/7", "1/3"], ["1/7", "2/3"]])),
    ]
    assert {coin.family for coin in coins} == set(FAMILIES) - {"truthful"}
    for coin in coins:
        design = Design(Schema([attribute]), [Group(["a"], coin)])
        (sentence,) = design_sentences(design)
        assert "1/7" in sentence
        (source,) = references(design, [sentence])
        surname, year = source.partition(",")[0], re.search(r"\((\d{4})\)", source)
        assert year is not None
        assert re.search(rf"\({surname}.*, {year[1]}\)", sentence)


def test_what_the_methods_always_cite_is_a_reference_whatever_the_families_are() -> None:
    design = Design(Schema([Attribute("a", ["no", "yes"])]), [Group(["a"], kuk("6/7", "1/7", 3))])
    texts = methods_sentences(released(survey(), 200))
    cited = {
        (name, year) for text in texts for name, year in re.findall(r"\((\w+)[^()]*(\d{4})", text)
    }
    assert {("Warner", "1965"), ("Huang", "2008"), ("Susko", "2013")} <= cited
    sources = references(design, texts)
    for name, year in cited:
        assert [s for s in sources if s.startswith(name) and f"({year})" in s], name


def test_a_misfit_is_a_warning() -> None:
    published = survey()
    codes = reports(published, 400)
    good = survey_report(Release(published, count_reported(codes, published.design)))
    assert "hardly fit the design" not in good
    codes[:, 0] = 0  # under theta 4/5 at least a fifth would report yes
    bad = survey_report(Release(published, count_reported(codes, published.design)))
    assert bad.count("hardly fit the design") == 2


def test_reports_with_categories_of_their_own_have_no_reported_share() -> None:
    text = survey_report(released(every_kind()))
    table = text.partition("Table 9. drug")[2].partition("</table>")[0]
    assert table.count(">-</td>") == 2


@pytest.mark.slow
def test_the_report_of_the_studio_is_that_of_its_release(tmp_path: Path) -> None:
    studio = tried(tmp_path)
    client = studio.client(studio.account("Ada", Role.VIEWER))
    answer = client.get(f"/surveys/{studio.mine.slug}/report.html")
    release = studio.studio.releases.newest(studio.mine)
    assert release is not None
    assert answer.text == survey_report(release)
    assert "attachment" in answer.headers["content-disposition"]
    studio.store.close()


@pytest.mark.slow
def test_a_page_tells_how_many_links_are_unused(tmp_path: Path) -> None:
    studio = tried(tmp_path, records=0)
    client = studio.client(studio.account("root", administrator=True))
    form = {"n": "3", "base": "https://survey.example.org/"}
    client.post(f"/surveys/{studio.other.slug}/invite", data=form)
    page = client.get(f"/surveys/{studio.other.slug}").text
    assert "of 3 invited" in page
    assert "3 links unused" in page
    studio.store.close()


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    studio = tried(tmp_path, records=150)
    publish(studio.mine.survey, "published.json")
    studio.store.close()
    return tmp_path


@pytest.mark.slow
def test_the_command_reports_all_records(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    given = ["report", "published.json", "--database", "survey.db", "--out", "report.html"]
    assert run(given) == 0
    assert capsys.readouterr().out == "wrote report.html: 150 records\n"
    text = (folder / "report.html").read_text(encoding="utf-8")
    codes = reports(survey(), 150)
    assert text == survey_report(Release(survey(), count_reported(codes, survey().design)))
    assert (
        run(["survey", "export", "published.json", "--database", "survey.db", "--out", "r.csv"])
        == 0
    )
    assert run(["report", "published.json", "r.csv", "--out", "again.html"]) == 0
    assert (folder / "again.html").read_text(encoding="utf-8") == text


@pytest.mark.parametrize(
    ("given", "said"),
    [
        (["--database", "survey.db", "--out", "report.doc"], "name it .html or .pdf"),
        (["--out", "report.html"], "no records: give a file"),
    ],
)
def test_a_wrong_call_is_one_line(
    folder: Path, capsys: pytest.CaptureFixture[str], given: list[str], said: str
) -> None:
    assert run(["report", "published.json", *given]) == 2
    error = capsys.readouterr().err
    assert error.count("\n") == 1
    assert said in error


def test_the_chart_of_a_page_of_the_report_and_of_the_file_is_one_picture(tmp_path: Path) -> None:
    studio = tried(tmp_path, records=400, closed=True)
    viewer = studio.client(studio.account("viewer", Role.VIEWER))
    base = f"/surveys/{studio.mine.slug}"
    file = viewer.get(f"{base}/charts/stole.svg")
    assert file.headers["content-type"] == "image/svg+xml"
    picture = ElementTree.fromstring(file.text)  # well-formed
    texts = [text.text for text in picture.iter("{http://www.w3.org/2000/svg}text")]
    release = studio.studio.releases.newest(studio.mine)
    assert release is not None
    result = question_results(release)[0]
    for category in result.categories:
        assert category.label in texts
        assert f"{100 * category.share:.1f} %" in texts
        assert f"{100 * category.low:.1f} to {100 * category.high:.1f}" in texts
    report = viewer.get(f"{base}/report.html").text
    assert file.text in report
    assert MARKUP not in viewer.get(f"{base}/charts/often.svg").text
    missing = viewer.get(f"{base}/charts/nothing.svg")
    assert missing.status_code == 400
    assert "stole" in missing.text
    studio.store.close()
