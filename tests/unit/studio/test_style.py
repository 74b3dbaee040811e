"""The style sheets of the studio and of the respondents' page: one palette."""

from __future__ import annotations

import re
from importlib.resources import files

import pytest

from tacit.collect import page

STUDIO = files("tacit.studio")
TOKENS = page.content("tokens.css").decode()
OF_PAGE = page.content("style.css").decode()
OF_STUDIO = STUDIO.joinpath("studio.css").read_text(encoding="utf-8")


@pytest.mark.parametrize("style", [OF_PAGE, OF_STUDIO])
def test_both_sides_use_the_same_tokens_and_define_none_of_them_anew(style: str) -> None:
    shared, own = (set(re.findall(r"(--[\w-]+):", text)) for text in (TOKENS, style))
    assert not shared & own
    assert set(re.findall(r"var\((--[\w-]+)", style)) <= shared | own


def test_every_token_of_the_palette_is_used_on_both_sides() -> None:
    colours = set(re.findall(r"(--[\w-]+): #", TOKENS))
    for style in (OF_PAGE, OF_STUDIO):
        assert colours <= set(re.findall(r"var\((--[\w-]+)", style))


@pytest.mark.parametrize("name", ["figure.html", "report.html", "report.typ"])
def test_reports_have_the_colours_of_the_pages_in_light(name: str) -> None:
    text = STUDIO.joinpath("templates", name).read_text(encoding="utf-8")
    used = set(re.findall(r'(?<=["\s])#[0-9a-f]{6}\b', text))
    assert used
    assert used <= set(re.findall(r"#[0-9a-f]{6}\b", TOKENS + OF_STUDIO))


def test_the_style_sheet_of_the_studio_is_small() -> None:
    assert len(OF_STUDIO.encode()) + len(TOKENS.encode()) < 40_000
