"""The text for the Python registry, made from the README when a release is built."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

from hatchling.metadata.plugin.interface import MetadataHookInterface


def registry_text(readme: str, distribution: str) -> str:
    """The README for readers without a clone: no pictures, no links to files of the repository."""
    text = re.sub(r"<!-- only in a clone -->.*?<!-- end -->\n*", "", readme, flags=re.DOTALL)
    text = re.sub(r"<(?:img|br)\b[^>]*>\n*", "", text)
    text = re.sub(r"\[([^\]]+)\]\((?!\w+:)[^)]+\)", r"\1", text)
    return re.sub(r"(?<=pip install )\.(?= )|(?<=')\.(?=\[)", distribution, text)


class CustomMetadataHook(MetadataHookInterface):
    """Called by hatchling for the field `readme`, which pyproject.toml declares dynamic."""

    def update(self, metadata: dict[str, Any]) -> None:
        """Set the long description."""
        readme = (Path(self.root) / "README.md").read_text(encoding="utf-8")
        text = registry_text(readme, metadata["name"])
        metadata["readme"] = {"content-type": "text/markdown", "text": text}
