from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

from tests.support.doc_blocks import blocks, pasted, printed

BLOCKS = blocks("README.md")


def test_the_estimate_example_prints_what_the_readme_shows() -> None:
    places = [i for i, (language, _) in enumerate(BLOCKS) if language == "python"]
    code, shown = BLOCKS[places[0]][1], BLOCKS[places[0] + 1][1]
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout == shown


def test_the_mining_example_draws_the_tree_that_the_readme_describes(tmp_path: Path) -> None:
    (code,) = (code for language, code in BLOCKS if language == "python" and "mine" in code)
    code += "print(tree.get_n_leaves())\n"
    assert printed(code, tmp_path) == "4\n"
    assert "<svg" in (tmp_path / "tree.svg").read_text(encoding="utf-8")


def test_the_survey_block_pasted_into_a_shell_ends_in_estimates(tmp_path: Path) -> None:
    (block,) = (code for language, code in BLOCKS if language == "sh" and "tacit serve" in code)
    done = pasted(block, tmp_path)
    assert done.returncode == 0, done.stderr
    assert "error:" not in done.stderr
    truth = re.search(r"^harassed +no +[\d.]+\s+yes +([\d.]+)", done.stdout, re.MULTILINE)
    last = done.stdout[done.stdout.index("P(harassed) from 500 reported records") :]
    estimate = re.search(r"^yes +([\d.]+) +([\d.]+)", last, re.MULTILINE)
    assert truth is not None
    assert estimate is not None
    # Five standard errors: a false alarm in fewer than one of a million runs.
    assert abs(float(truth[1]) - float(estimate[1])) < 5 * float(estimate[2])


def test_every_command_of_the_survey_block_must_succeed(tmp_path: Path) -> None:
    """The check above can fail: one broken command makes the shell's status wrong."""
    assert pasted("tacit survey check none.yaml\ntacit --version\n", tmp_path).returncode == 2
