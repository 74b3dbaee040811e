"""The report as PDF: the texts and numbers of the HTML report, and no markup taken from them."""

from __future__ import annotations

import re
import subprocess
import sys
import unicodedata
import zlib
from pathlib import Path

import pytest

from tacit.cli.main import run
from tacit.collect.store import Store
from tacit.records import count_reported
from tacit.studio.accounts import Role
from tacit.studio.release import Release
from tacit.studio.report import survey_report, survey_report_pdf
from tacit.survey import Published, publish, survey_from_dict
from tests.support.grids import thinned
from tests.support.page_surveys import HOSTILE, every_kind
from tests.support.studio import MARKUP, reports, send, survey, tried

pytestmark = pytest.mark.slow

#: Signs that would be markup, code or a file name of Typst, LaTeX or HTML.
SIGNS = '#read("/etc/passwd") *b* _i_ $x$ `c` @r <l> [x] \\input{x} // c /* = h - l + 1. ~ \\u{41}'


def released(published: Published, n: int = 300) -> Release:
    return Release(published, count_reported(reports(published, n), published.design))


def streams(pdf: bytes) -> list[bytes]:
    """The compressed parts of a PDF."""
    bodies = re.findall(rb"stream\r?\n(.*?)\r?\nendstream", pdf, re.S)
    return [zlib.decompress(body) for body in bodies if body[:1] == b"x"]


def letters(pdf: bytes) -> str:
    """The characters of the selectable text of a PDF, by the character maps of its fonts."""
    maps = [_character_map(one) for one in streams(pdf) if b"beginbf" in one]
    assert maps
    found = "".join(value for one in maps for value in one.values())
    return unicodedata.normalize("NFKC", found)


def _character_map(stream: bytes) -> dict[bytes, str]:
    pairs = re.findall(rb"<([0-9a-fA-F]+)>\s*<([0-9a-fA-F]+)>", stream)
    return {a: bytes.fromhex(b.decode()).decode("utf-16-be", "replace") for a, b in pairs}


def test_the_report_is_an_accessible_pdf_with_selectable_text() -> None:
    pdf = survey_report_pdf(released(survey()))
    assert pdf.startswith(b"%PDF-")
    assert pdf.rstrip().endswith(b"%%EOF")
    whole = b"".join([pdf, *streams(pdf)])
    assert b"pdfuaid" in whole
    assert b"/StructTreeRoot" in whole
    assert {*"Methodsyouhome?%0123456789"} <= {*letters(pdf)}


def test_the_same_records_give_the_same_file() -> None:
    assert survey_report_pdf(released(survey())) == survey_report_pdf(released(survey()))
    assert survey_report_pdf(released(survey())) != survey_report_pdf(released(survey(), 301))


@pytest.mark.parametrize("published", [every_kind(), HOSTILE])
def test_any_survey_can_be_set(published: Published) -> None:
    from tests.unit.studio.test_survey_report import released as simulated

    pdf = survey_report_pdf(simulated(published, 200))
    assert pdf.rstrip().endswith(b"%%EOF")
    for name in (b"/JavaScript", b"/JS", b"/Launch", b"/EmbeddedFile", b"/URI"):
        assert name not in pdf


def test_texts_of_a_survey_are_data_of_the_template(monkeypatch: pytest.MonkeyPatch) -> None:
    """A question with all signs of Typst makes as many pages as one with letters alone."""

    def one(text: str) -> bytes:
        content = {
            "title": text,
            "questions": [{"name": "a", "kind": "yes_no", "text": text, "labels": {"yes": text}}],
            "groups": [{"questions": ["a"], "family": "related", "theta": "4/5"}],
        }
        published = Published(survey_from_dict(content, "survey"))
        rows = reports(survey(), 200)[:, :1]
        return survey_report_pdf(Release(published, count_reported(rows, published.design)))

    found = letters(one(SIGNS + MARKUP))
    assert {*"#*_$`@<>[]\\/=~{}"} <= {*found}
    plain = letters(one("abc"))
    assert "#" not in plain  # the control: the sign comes from the survey


def test_the_page_sends_the_report_of_the_release(tmp_path: Path) -> None:
    studio = tried(tmp_path)
    client = studio.client(studio.account("Ada", Role.VIEWER))
    answer = client.get(f"/surveys/{studio.mine.slug}/report.pdf")
    release = studio.studio.releases.newest(studio.mine)
    assert release is not None
    assert answer.content == survey_report_pdf(release)
    assert answer.headers["content-type"] == "application/pdf"
    studio.store.close()


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    store = Store(tmp_path / "survey.db")
    store.register(survey())
    send(store, survey(), reports(survey(), 150))
    store.close()
    publish(survey().survey, "published.json")
    return tmp_path


def test_the_suffix_says_which_report_the_command_writes(folder: Path) -> None:
    given = ["report", "published.json", "--database", "survey.db", "--out"]
    assert run([*given, "report.pdf"]) == 0
    assert run([*given, "report.html"]) == 0
    release = released(survey(), 150)
    assert (folder / "report.pdf").read_bytes() == survey_report_pdf(release)
    assert (folder / "report.html").read_bytes() == survey_report(release).encode()


@pytest.mark.parametrize(
    ("suffix", "moment"),
    thinned([("pdf", "fsync"), ("html", "replace")], [("pdf", "replace"), ("html", "fsync")]),
)
def test_a_killed_command_leaves_no_half_report(folder: Path, suffix: str, moment: str) -> None:
    """The process is killed when the file is written, and before it gets its name."""
    out = folder / f"report.{suffix}"
    out.write_text("an older report")
    code = (
        "import os, sys, signal\n"
        "from tacit.cli.main import run\n"
        f"os.{moment} = lambda *given, **named: os.kill(os.getpid(), signal.SIGKILL)\n"
        "run(sys.argv[1:])\n"
    )
    given = ["report", "published.json", "--database", "survey.db", "--out", out.name]
    done = subprocess.run([sys.executable, "-c", code, *given], check=False)
    assert done.returncode == -9
    assert out.read_text() == "an older report"
    left = {path.name for path in folder.iterdir()} - {"published.json", "survey.db", out.name}
    assert all(name.startswith((".tacit-", "survey.db")) for name in left), left
    assert run(given) == 0  # and it can be made again
    assert out.stat().st_size > 1000
