"""The commented example that a new survey file starts from."""

from __future__ import annotations

from importlib.resources import files


def example() -> str:
    """A survey file in YAML with every part once, ready to be edited."""
    return files("tacit.survey").joinpath("example.yaml").read_text(encoding="utf-8")
