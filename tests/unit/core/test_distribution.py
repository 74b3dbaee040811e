"""Two distributions with the import name tacit: whoever has both is told."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

IMPORT_TWICE = "import tacit\nimport tacit\nimport tacit.core.schema"


def _said(site: Path) -> list[str]:
    """What importing tacit prints if this folder is a further site-packages."""
    environment = os.environ | {"PYTHONPATH": os.pathsep.join([str(site), *filter(None, sys.path)])}
    done = subprocess.run(
        [sys.executable, "-c", IMPORT_TWICE],
        env=environment,
        capture_output=True,
        text=True,
        check=True,
    )
    assert done.stdout == ""
    return done.stderr.splitlines()


@pytest.mark.parametrize(
    "metadata", ["tacit-1.2.dist-info", "Tacit-1.2.egg-info", "tacit.egg-info"]
)
def test_the_other_distribution_is_not_silently_mixed_with_ours(
    tmp_path: Path, metadata: str
) -> None:
    site = tmp_path / "site-packages"
    (site / metadata).mkdir(parents=True)
    warning, *others = _said(site)
    assert "UserWarning: the distribution 'tacit' is installed too" in warning
    assert str(site / metadata) in warning
    assert "pip uninstall tacit tacit-survey" in warning
    assert others == [], "one line, once"


@pytest.mark.parametrize(
    "metadata",
    ["tacit_survey-0.1.0.dist-info", "tacit_survey.egg-info", "tacit_learning-2.0.dist-info"],
)
def test_other_names_that_begin_alike_are_no_reason_to_warn(tmp_path: Path, metadata: str) -> None:
    site = tmp_path / "site-packages"
    (site / metadata).mkdir(parents=True)
    assert _said(site) == []


def test_the_current_folder_is_not_searched(tmp_path: Path) -> None:
    """It may hold any number of files, and importing tacit must stay quick."""
    (tmp_path / "tacit-1.2.dist-info").mkdir()
    assert _said(tmp_path) == []
