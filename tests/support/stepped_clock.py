"""A process whose clock on the wall is set by hand: `time.time` is moved by the seconds in a file.

Put `environment(...)` in the environment of a Python process; `step(...)` moves its clock.
"""

from __future__ import annotations

import os
from pathlib import Path

_VARIABLE = "TEST_CLOCK_STEP"
_SITE = f"""
import os, time
from pathlib import Path

_file, _time = Path(os.environ["{_VARIABLE}"]), time.time
time.time = lambda: _time() + float(_file.read_text())
"""


def environment(folder: Path) -> dict[str, str]:
    """What a process needs so that its clock can be stepped; Python runs sitecustomize first."""
    (folder / "sitecustomize.py").write_text(_SITE)
    step(folder, 0.0)
    paths = os.pathsep.join([str(folder), *filter(None, [os.environ.get("PYTHONPATH")])])
    return {"PYTHONPATH": paths, _VARIABLE: str(folder / "step")}


def step(folder: Path, seconds: float) -> None:
    """Set the clock so many seconds ahead of the true time."""
    (folder / "next").write_text(str(seconds))
    (folder / "next").replace(folder / "step")
