"""One word per concept: the source does not name things by the words we gave up."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from pathlib import PurePosixPath

INSTEAD = {
    "perturb": "disguise",
    "randomis": "disguise",
    "randomiz": "disguise",
    "anonym": "disguise",
    "noisy": "reported",
    "debias": "reconstruct",
    "histogram": "count table",
    "contingency": "count table",
    "mechanism": "channel",
    "bucket": "category",
    "pareto": "front",
}
# The name of a family in the literature.
ALLOWED = {"uniform_perturbation", "UniformPerturbation"}


def _words(identifier: str) -> list[str]:
    """Lower-case words of a snake_case or CamelCase identifier."""
    return re.sub(r"(?<=[a-z0-9])(?=[A-Z])", "_", identifier).lower().split("_")


def _coined(tree: ast.Module) -> Iterator[str]:
    """Identifiers that a module makes up; those it takes from a library are not its choice."""
    for node in ast.walk(tree):
        match node:
            case ast.FunctionDef(name=name) | ast.AsyncFunctionDef(name=name):
                yield name
            case ast.ClassDef(name=name) | ast.arg(arg=name) | ast.alias(asname=str(name)):
                yield name
            case ast.Name(id=name, ctx=ast.Store()) | ast.Attribute(attr=name, ctx=ast.Store()):
                yield name


def _wrong(identifiers: set[str]) -> dict[str, str]:
    return {
        identifier: f"say {INSTEAD[stem]}"
        for identifier in sorted(identifiers - ALLOWED)
        for word in _words(identifier)
        for stem in INSTEAD
        if word.startswith(stem)
    }


def test_no_identifier_uses_a_word_we_gave_up(sources: dict[str, ast.Module]) -> None:
    coined = {name for tree in sources.values() for name in _coined(tree)}
    assert coined, "no identifiers found"
    assert _wrong(coined) == {}


def test_no_module_is_named_by_a_word_we_gave_up(sources: dict[str, ast.Module]) -> None:
    modules = {part for name in sources for part in PurePosixPath(name).with_suffix("").parts}
    assert _wrong(modules) == {}


def test_the_rule_finds_what_it_is_for() -> None:
    tree = ast.parse("class NoisyTable: ...\ndef perturb_all(buckets): self.randomised = 1")
    assert set(_wrong(set(_coined(tree)))) == {
        "NoisyTable",
        "buckets",
        "perturb_all",
        "randomised",
    }
    assert _wrong({"uniform_perturbation"}) == {}
