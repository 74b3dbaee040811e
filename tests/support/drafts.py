"""Drafts of a studio under test, and the forms of its pages as a browser sends them."""

from __future__ import annotations

import html
import re

from tacit.studio.drafts import Draft
from tacit.survey import example
from tests.support.studio import Browser, Tried

TEXT = example()


def draft_in(studio: Tried, browser: Browser, text: str = TEXT) -> str:
    """The id of a new draft with a text."""
    location = browser.post("/drafts", data={"title": "New"}).headers["location"]
    own = location.rpartition("/")[2]
    answer = browser.post(f"/drafts/{own}/text", data={"version": "1", "text": text})
    assert answer.status_code == 303
    return own


def stored(studio: Tried, own: str) -> Draft:
    found = studio.studio.drafts.get(own)
    assert found is not None
    return found


def form_of(page: str) -> dict[str, str]:
    """The fields of the form of a page as a browser would send them."""
    body = page.split('<form method="post" class="card stack">')[1].split("</form>", maxsplit=1)[0]
    sent: dict[str, str] = {}
    for tag in re.findall(r"<(?:input|textarea|select)\b.*?>(?:\n[^<]*</textarea>)?", body, re.S):
        name = html.unescape(re.search(r'name="([^"]*)"', tag)[1])  # type: ignore[index]
        if tag.startswith("<textarea"):
            sent[name] = html.unescape(tag.split(">\n", 1)[1].removesuffix("</textarea>"))
        elif tag.startswith("<select"):
            chosen = body.split(tag)[1].split("</select>")[0]
            found = re.search(r'<option value="([^"]*)" selected>', chosen)
            sent[name] = html.unescape(found[1]) if found else ""
        elif 'type="checkbox"' not in tag or " checked" in tag:
            sent[name] = html.unescape(re.search(r'value="([^"]*)"', tag)[1])  # type: ignore[index]
    return {name: value.replace("\n", "\r\n") for name, value in sent.items()}
