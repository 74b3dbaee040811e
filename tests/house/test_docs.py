"""What is there is documented, and what is documented is there."""

from __future__ import annotations

import re
import tomllib
from pathlib import Path

import pytest
import typer

PIN = re.compile(r"[a-z0-9]+(?:-[a-z0-9]+)*==[0-9][A-Za-z0-9.+!]*")


def _commands(command: object, path: str) -> dict[str, object]:
    """Every command below this one, by what a user types; groups themselves left out."""
    below = getattr(command, "commands", None)
    if below is None:
        return {path: command}
    return {
        typed: leaf
        for name, child in below.items()
        for typed, leaf in _commands(child, f"{path} {name}").items()
    }


@pytest.fixture(scope="module")
def commands() -> list[str]:
    from tacit.cli import command_line

    return sorted(_commands(typer.main.get_command(command_line()), "tacit"))


def test_every_command_is_documented(commands: list[str], texts: dict[str, str]) -> None:
    pages = [name for name in texts if name == "README.md" or re.match(r"docs/.*\.md$", name)]
    written = "\n".join(texts[name] for name in pages)
    assert commands, "no commands found"
    assert [c for c in commands if not re.search(rf"\b{re.escape(c)}\b", written)] == []


def test_every_make_target_is_documented(texts: dict[str, str]) -> None:
    targets = re.findall(r"^([a-z]+):.*## ", texts["Makefile"], flags=re.MULTILINE)
    assert {"demo", "quick", "test", "check", "wheel", "bench", "release"} <= set(targets)
    assert [t for t in targets if f"make {t}" not in texts["CONTRIBUTING.md"]] == []


def test_the_readme_installs_from_a_clone_and_from_a_wheel_and_names_no_registry(
    texts: dict[str, str],
) -> None:
    start, _, rest = texts["README.md"].partition("\n## Install\n")
    install = rest.partition("\n## ")[0]
    assert "```" not in start, "how to install comes first"
    assert "pip install . " in install
    assert "pip wheel --no-deps --wheel-dir dist ." in install
    assert "pip install dist/tacit_survey-*.whl" in install
    assert not re.search("pip install '?tacit", texts["README.md"])
    assert "The distribution is called `tacit-survey`" in install


def test_every_module_is_on_the_map(texts: dict[str, str]) -> None:
    tops = {name.split("/")[2] for name in texts if re.match(r"src/tacit/.+\.py$", name)}
    shown = {f"`{top}`" if top.endswith(".py") else f"`{top}/`" for top in tops - {"__init__.py"}}
    assert shown, "no modules found"
    assert [top for top in sorted(shown) if top not in texts["CONTRIBUTING.md"]] == []


def test_the_changelog_has_a_section_for_the_current_version(root: Path) -> None:
    version = tomllib.loads((root / "pyproject.toml").read_text())["project"]["version"]
    sections = re.findall(r"^## \[?([\w.]+)", (root / "CHANGELOG.md").read_text(), re.MULTILINE)
    assert sections, "no sections found"
    assert sections[0] in {"Unreleased", version}


def test_constraints_are_names_and_versions_only(texts: dict[str, str]) -> None:
    lines = texts["constraints.txt"].splitlines()
    assert lines == sorted(lines, key=lambda line: line.split("=="))
    assert [line for line in lines if not PIN.fullmatch(line)] == []


def test_every_declared_dependency_is_pinned(root: Path, texts: dict[str, str]) -> None:
    project = tomllib.loads((root / "pyproject.toml").read_text())
    extras = project["project"]["optional-dependencies"].values()
    declared = [*project["project"]["dependencies"], *project["build-system"]["requires"]]
    declared += [requirement for extra in extras for requirement in extra]
    names = {re.split(r"[\[<>=!~ ]", requirement)[0] for requirement in declared} - {"tacit-survey"}
    pinned = {line.split("==")[0] for line in texts["constraints.txt"].splitlines()}
    assert names - pinned == set()


def test_every_decision_is_in_the_index(texts: dict[str, str]) -> None:
    folder = "docs/decisions/"
    notes = {name.removeprefix(folder) for name in texts if name.startswith(folder)}
    index = texts[folder + "README.md"]
    assert [note for note in notes - {"README.md"} if note not in index] == []


def _anchors(text: str) -> set[str]:
    """The anchors that GitHub gives the headings of a page."""
    headings = re.findall(r"^#+ (.+)$", text, flags=re.MULTILINE)
    return {re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", "-") for heading in headings}


def test_every_link_of_a_page_leads_somewhere(root: Path, texts: dict[str, str]) -> None:
    pages = {name: text for name, text in texts.items() if name.endswith(".md")}
    broken = []
    for page, text in pages.items():
        links = re.findall(r"\]\(([^)\s]+)\)", text) + re.findall(r' src="([^"]+)"', text)
        for link in links:
            path, _, anchor = link.partition("#")
            target = (root / page).parent / path if path else root / page
            if "://" in link:
                continue
            if not target.exists() or (
                anchor and anchor not in _anchors(target.read_text(encoding="utf-8"))
            ):
                broken.append(f"{page}: {link}")
    assert pages
    assert broken == []
