"""The distribution is tacit-survey: the bare name belongs to strangers on the Python registry."""

from __future__ import annotations

import re
import tomllib
from pathlib import Path

import pytest
import yaml

#: Whoever follows one of these installs, or looks up, the other project.
OTHER_PROJECT = re.compile(
    r"""(?x)
    (?:pip3?|pipx|uvx?)\ (?:[a-z]+\ )*?(?:install|add|download|wheel)\b [^\n`]*? [ \t'"]
        tacit (?=$|[\s'"`,;)=<>~!@\[])
    | (?<![\w.-]) tacit \[ [a-z.{$]
    | (?:version|metadata|distribution|requires|files) \( ["'] tacit ["'] \)
    | (?<![\w.]) tacit - [\d*] [^\s/]* \. (?:whl|tar)
    | dist / tacit -
    """,
    re.MULTILINE,
)
ADDRESS = re.compile(r"https?://[^\s)>\"'`]+")


@pytest.mark.parametrize(
    "hint",
    [
        "pip install tacit",
        "python -m pip install --quiet tacit==0.1.0",
        "env/bin/pip install 'tacit[spark]' venv-pack",
        'pip install "tacit>=0.1"',
        "uv add tacit",
        "uv tool install tacit",
        "run: pip install 'tacit[{EXTRAS[package]}]'",
        "every package of `tacit[all]`",
        'postgres = ["tacit[service]", "psycopg"]',
        'version("tacit")',
        "pip install dist/tacit-*.whl",
        "tacit-0.1.0-py3-none-any.whl",
        "tacit-0.1.0.tar.gz",
    ],
)
def test_the_pattern_finds_a_hint_to_the_other_project(hint: str) -> None:
    assert OTHER_PROJECT.search(hint)


@pytest.mark.parametrize(
    "hint",
    [
        "pip install tacit-survey",
        "pip install 'tacit-survey[studio]'",
        "pip install dist/tacit_survey-*.whl",
        "pip uninstall tacit tacit-survey",
        "pip install '.[service]'` and start `tacit serve`",
        'content["tacit"] == "design"',
        "install --directory --owner tacit --mode 0700 /data",
        "docker run --volume tacit:/data tacit serve published.json",
    ],
)
def test_the_pattern_lets_our_own_name_pass(hint: str) -> None:
    assert not OTHER_PROJECT.search(hint)


def test_no_file_sends_a_user_to_the_other_project(texts: dict[str, str]) -> None:
    here = Path(__file__).name
    hints = [
        f"{name}:{text.count(chr(10), 0, hint.start()) + 1}: {hint[0]}"
        for name, text in texts.items()
        if not name.endswith(here)
        for hint in OTHER_PROJECT.finditer(text)
    ]
    assert len(texts) > 100
    assert hints == []


def test_the_metadata_names_no_address_that_we_do_not_have(root: Path) -> None:
    """There is no home page and no public repository yet."""
    project = tomllib.loads((root / "pyproject.toml").read_text())["project"]
    citation = yaml.safe_load((root / "CITATION.cff").read_text())
    assert project["name"] == "tacit-survey"
    assert "urls" not in project
    assert set(citation) & {"url", "repository", "repository-code", "doi", "identifiers"} == set()
    for name in ("pyproject.toml", "CITATION.cff", "README.md"):
        assert ADDRESS.findall((root / name).read_text()) == []
