from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

README = Path(__file__).resolve().parents[2] / "README.md"


def test_the_example_of_the_readme_prints_what_it_shows() -> None:
    blocks = re.findall(r"```(\w*)\n(.*?)```", README.read_text(), flags=re.DOTALL)
    languages = [language for language, _ in blocks]
    place = languages.index("python")
    code, shown = blocks[place][1], blocks[place + 1][1]
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout == shown
