"""What the registry shows of a release: the name and the text in the built files."""

from __future__ import annotations

import subprocess
import sys
import tarfile
import zipfile
from email import message_from_bytes
from email.message import Message
from pathlib import Path

import pytest
from markdown_it import MarkdownIt
from markdown_it.token import Token

ROOT = Path(__file__).parents[2]

pytestmark = pytest.mark.slow
pytest.importorskip("hatchling")


@pytest.fixture(scope="module")
def built(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with the sdist and the wheel."""
    folder = tmp_path_factory.mktemp("dist")
    build = [sys.executable, "-m", "hatchling", "build", "--directory", str(folder)]
    subprocess.run(build, cwd=ROOT, capture_output=True, check=True)
    return folder


@pytest.fixture(scope="module")
def metadata(built: Path) -> Message:
    (wheel,) = built.glob("tacit_survey-*.whl")
    with zipfile.ZipFile(wheel) as archive:
        (name,) = (name for name in archive.namelist() if name.endswith(".dist-info/METADATA"))
        return message_from_bytes(archive.read(name))


def _tokens(text: str) -> list[Token]:
    """The Markdown of a text as the registry reads it, with the parts of its lines."""
    blocks = MarkdownIt("commonmark").parse(text)
    return [token for block in blocks for token in (block, *(block.children or ()))]


def _not_for_the_registry(text: str) -> list[str]:
    """Images, HTML (which the registry shows as text or drops), and links into the repository."""
    return [
        token.content or str(token.attrs)
        for token in _tokens(text)
        if token.type in {"image", "html_block", "html_inline"}
        or (token.type == "link_open" and "://" not in str(token.attrs["href"]))
    ]


def test_the_registry_shows_no_broken_link_and_no_missing_picture(metadata: Message) -> None:
    assert metadata["Description-Content-Type"] == "text/markdown"
    text = str(metadata.get_payload())
    headings = [t.content for t in _tokens(text) if t.type == "inline"]
    assert {"tacit", "Install", "Run a survey", "Read more"} <= set(headings)
    assert _not_for_the_registry(text) == []
    assert _not_for_the_registry((ROOT / "README.md").read_text()), "what is left out is there"


def test_the_registry_tells_how_to_install_from_the_registry(metadata: Message) -> None:
    text = str(metadata.get_payload())
    assert "pip install tacit-survey " in text
    assert "pip install 'tacit-survey[all]' " in text
    assert "'.[" not in text
    assert "pip install . " not in text
    assert "make demo" not in text, "there is no Makefile in an installation"


def test_the_wheel_depends_on_nobody_who_has_our_old_name(metadata: Message) -> None:
    assert metadata["Name"] == "tacit-survey"
    assert metadata.get_all("Project-URL") is None
    assert metadata["Home-page"] is None
    requirements = metadata.get_all("Requires-Dist")
    assert requirements is not None
    assert "studio" in str(metadata.get_all("Provides-Extra"))
    assert [line for line in requirements if line.startswith("tacit")] == [], "extras are resolved"


def test_the_source_distribution_builds_the_same_text(built: Path, metadata: Message) -> None:
    (sdist,) = built.glob("tacit_survey-*.tar.gz")
    with tarfile.open(sdist) as archive:
        archive.extractall(built, filter="data")
    source = built / sdist.name.removesuffix(".tar.gz")
    build = [sys.executable, "-m", "hatchling", "build", "--target", "wheel"]
    subprocess.run([*build, "--directory", "again"], cwd=source, capture_output=True, check=True)
    (wheel,) = (source / "again").glob("*.whl")
    with zipfile.ZipFile(wheel) as archive:
        (name,) = (name for name in archive.namelist() if name.endswith(".dist-info/METADATA"))
        assert message_from_bytes(archive.read(name)).get_payload() == metadata.get_payload()
