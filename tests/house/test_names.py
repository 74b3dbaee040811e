"""A file name or a class name occurs once in the source, so a name says where to look."""

from __future__ import annotations

import ast
from collections import defaultdict
from collections.abc import Iterable
from pathlib import PurePosixPath


def _repeated(places: Iterable[tuple[str, str]]) -> dict[str, list[str]]:
    """Names with more than one place, each with its places."""
    found: dict[str, list[str]] = defaultdict(list)
    for name, place in places:
        found[name].append(place)
    return {name: sorted(where) for name, where in found.items() if len(where) > 1}


def _classes(sources: dict[str, ast.Module]) -> list[tuple[str, str]]:
    return [
        (node.name, f"{path}:{node.lineno}")
        for path, tree in sources.items()
        for node in ast.walk(tree)
        if isinstance(node, ast.ClassDef)
    ]


def test_no_two_source_files_have_the_same_name(texts: dict[str, str]) -> None:
    """Code only: each language of the page has a file of texts of its own name anyway."""
    paths = [PurePosixPath(name) for name in texts if name.startswith("src/")]
    named = [(p.name, str(p)) for p in paths if p.suffix in {".py", ".js", ".css", ".html"}]
    assert named, "no source files found"
    assert _repeated(pair for pair in named if pair[0] != "__init__.py") == {}


def test_no_two_classes_have_the_same_name(sources: dict[str, ast.Module]) -> None:
    classes = _classes(sources)
    assert classes, "no classes found"
    assert _repeated(classes) == {}


def test_the_rule_finds_repeated_names() -> None:
    trees = {"a.py": ast.parse("class Rule: ..."), "b.py": ast.parse("def f():\n class Rule: ...")}
    assert _repeated(_classes(trees)) == {"Rule": ["a.py:1", "b.py:2"]}
    assert _repeated([("a.py", "x/a.py"), ("b.py", "x/b.py")]) == {}
