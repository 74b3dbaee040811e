"""Surveys with conditional questions for tests of the page, and the program with a leak."""

from __future__ import annotations

import contextlib
import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest

import tacit
from tacit.survey import Published, survey_from_text
from tests.support.browser import Served, serving

_TEXT = """
title: {title}
questions:
  - {{name: smokes, kind: yes_no, text: "Do you smoke?", sensitive: {sensitive}}}
  - name: packs
    kind: ordered
    text: How many packs a week?
    categories: [few, many]
    labels: {{few: One or two, many: Three or more}}
    sensitive: {sensitive}
    asked_if: {{smokes: yes}}
  - name: brand
    kind: choice
    text: Which brand?
    categories: [red, blue, green]
    sensitive: {sensitive}
    asked_if: {{packs: many}}
  - {{name: home, kind: yes_no, text: "Do you live alone?", sensitive: {sensitive}}}
groups:
  - questions: [smokes, packs, brand, home]
    family: related
    theta: {theta}
    throw: each
"""
#: What is sent is disguised.
DISGUISED = Published(
    survey_from_text(_TEXT.format(title="Smoking", theta="4/5", sensitive="true"))
)
#: theta = 1: what is sent is the truth, so that tests can read it.
READABLE = Published(survey_from_text(_TEXT.format(title="Read", theta="1", sensitive="false")))
#: A condition on an answer that everybody may see: who is asked is no secret.
PUBLIC = Published(
    survey_from_text(
        """
title: Public
questions:
  - {name: work, kind: yes_no, text: "Do you work?", sensitive: false}
  - {name: stole, kind: yes_no, text: "Did you steal?", asked_if: {work: yes}}
groups:
  - {questions: [stole], family: related, theta: 4/5}
"""
    )
)

#: What the leaking program has instead of what, by file.
LEAK = {
    # Leaves out what was not asked; the padding still makes all requests as long.
    "send.js": (
        "const own = { record, ",
        "const own = { record: Object.fromEntries(Object.entries(record)"
        '.filter(([, label]) => label !== "does not apply")), ',
    ),
    # Does not wait for what was not asked.
    "page.js": ("await waitUnasked(page, told);", ""),
}


@contextlib.contextmanager
def leaking_server(folder: Path) -> Iterator[Served]:
    """A server whose page leaves out the answers that were not asked, and does not wait."""
    shutil.copytree(Path(tacit.__file__).parent, folder / "program" / "tacit")
    for name, (right, wrong) in LEAK.items():
        file = folder / "program/tacit/collect/page" / name
        source = file.read_text(encoding="utf-8")
        assert source.count(right) == 1, right
        file.write_text(source.replace(right, wrong), encoding="utf-8")
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("PYTHONPATH", str(folder / "program"))
        with serving([DISGUISED, READABLE], folder) as found:
            yield found
