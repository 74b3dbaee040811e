"""Pictures of every step of the respondent's page, at phone and desktop width, for the docs.

    python -m tests.support.screenshots     writes docs/screenshots/*.png (make screenshots)

Chance is fixed here, so that a picture changes only when the page does.
"""

from __future__ import annotations

import io
import sys
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

from PIL import Image
from playwright.sync_api import Browser, Page

from tacit.survey import Published, example, survey_from_text
from tests.support.browser import DESKTOP, PHONE, Served, chromium, device, serving
from tests.support.conditional_surveys import DISGUISED as CONDITIONAL
from tests.support.page_surveys import every_kind, published

FOLDER = Path(__file__).parents[2] / "docs" / "screenshots"
_COLOURS = 96
#: The same numbers every time instead of chance.
_FIXED = """
let state = 4n;
const next = () => {
  state = BigInt.asUintN(64, state * 6364136223846793005n + 1442695040888963407n);
  return state >> 33n;
};
crypto.getRandomValues = (words) => {
  words.forEach((_, i) => (words[i] = (next() << 32n) | next()));
  return words;
};
"""
_PAINKILLERS = {
    "title": "Health at work",
    "questions": [
        {
            "name": "painkillers",
            "kind": "yes_no",
            "text": "Have you taken painkillers to get through a working day?",
        }
    ],
    "groups": [{"questions": ["painkillers"], "family": "related", "theta": "3/4"}],
}
MONTH = published(_PAINKILLERS | {"device": "birth_month"})
INVITED = published(_PAINKILLERS | {"access": "invited"})
LATER = published(_PAINKILLERS | {"opens": "2999-03-01"})
OVER = published(_PAINKILLERS | {"closes": "2001-03-31"})
COIN = published(
    {
        "title": "Health at work",
        "device": "coin",
        "questions": [
            {"name": "late", "kind": "yes_no", "text": "Have you left early without saying so?"},
            {"name": "ill", "kind": "yes_no", "text": "Have you called in sick, but were not?"},
        ],
        "groups": [
            {"questions": ["late", "ill"], "family": "forced", "theta": "1/2", "forced": [0, 1]}
        ],
    }
)
_JOBS = [
    f"{kind} {what}"
    for what in ("nurse", "driver", "teacher", "clerk", "cook")
    for kind in ("Night", "Day", "Head", "Trainee", "Relief", "School", "Ship's", "Hotel")
]
MANY = published(
    {
        "title": "Work and health",
        "questions": [
            {
                "name": "job",
                "kind": "choice",
                "text": "Which of these is your job?",
                "categories": _JOBS,
            }
        ],
        "groups": [{"questions": ["job"], "family": "uniform_perturbation", "q": "1/2"}],
    }
)

#: What is not disguised: declined answers and a free text; also a section.
DECLINED = published(
    {
        "title": "Work and health",
        "questions": [
            {
                "name": "smokes",
                "kind": "yes_no",
                "text": "Do you smoke?",
                "help": "Now and then counts too.",
                "optional": True,
            },
            {
                "name": "stolen",
                "kind": "yes_no",
                "text": "Have you taken home something that belongs to work?",
                "optional": True,
            },
        ],
        "groups": [
            {"questions": ["smokes"], "family": "related", "theta": "5/6"},
            {
                "questions": ["stolen"],
                "family": "crosswise",
                "p": "1/4",
                "innocent": "Were you born in January, February or March?",
            },
        ],
        "sections": [
            {"first": "smokes", "title": "Your health", "text": "Two questions about habits."},
            {"first": "stolen", "title": "Your work"},
        ],
        "free_texts": [{"name": "more", "text": "Is there anything else you would like to say?"}],
    }
)


def die() -> Published:
    """The example that a new survey file starts from."""
    return Published(survey_from_text(example(), "example.yaml"))


Shoot = Callable[[str], None]


def browser_steps(page: Page, served: Served, shoot: Shoot) -> None:
    """A survey that the page disguises, from the introduction to answering again."""
    page.goto(served[every_kind()])
    page.wait_for_selector("h1")
    shoot("introduction")
    go(page)
    page.get_by_role("radio", name="Yes").check()
    go(page)
    page.get_by_role("button", name="Throw 100 times").click()
    shoot("practice")
    go(page)
    page.get_by_role("radio").first.check()
    go(page)
    shoot("comprehension")
    page.get_by_role("radio").last.check()
    go(page)
    go(page)
    page.get_by_role("radio", name="Yes").check()
    page.locator("details").evaluate("details => (details.open = true)")
    shoot("yes-no")
    answered(page)
    page.locator("details").evaluate("details => (details.open = true)")
    shoot("ordered")
    reloaded(page)
    shoot("reloaded")
    page.get_by_role("button", name="Yes, go on").click()
    answered(page)
    page.locator("input").fill("5")
    shoot("number")
    go(page)
    page.get_by_role("checkbox").first.check()
    shoot("multiple")
    answered(page)
    shoot("unrelated")
    answered(page)
    shoot("crosswise")
    for _ in range(4):
        answered(page)
    shoot("not-disguised")
    answered(page)
    page.locator("input").fill("33")
    go(page)
    shoot("review")
    page.locator("details").evaluate("details => (details.open = true)")
    shoot("review-unfolded")
    sending(page, shoot)
    reloaded(page)
    shoot("again")


#: How a submission may fail: status, problem, seconds to wait, what the page then says, picture.
_FAILURES = (
    (503, "busy", "20", "tries again", "waiting"),
    (503, "unavailable", "7200", "Not stored yet", "later"),
    (403, "closed", "", "closed", "refused"),
)


def sending(page: Page, shoot: Shoot) -> None:
    """The respondent hesitates; then the server is busy, is down, refuses, and stores."""
    returned(page)
    shoot("unsent")
    page.get_by_role("button", name="Do not send").click()
    shoot("not-sent")
    returned(page)
    for status, problem, wait, told, name in _FAILURES:
        page.route("**/responses", refusing(status, problem, wait))
        page.locator("button.primary").click()
        page.locator(f"form:has-text('{told}')").wait_for()
        shoot(name)
        page.unroute("**/responses")
        returned(page)
    shoot("pending")
    page.locator("button.primary").click()
    page.get_by_role("heading", name="Stored").wait_for()
    shoot("stored")


def refusing(status: int, problem: str, wait: str) -> Any:
    return lambda route: route.fulfill(
        status=status, headers={"Retry-After": wait}, json={"type": problem, "status": status}
    )


def reloaded(page: Page) -> None:
    page.reload()
    page.wait_for_selector("h1")


def returned(page: Page) -> None:
    """The respondent comes back, and says that it is she."""
    reloaded(page)
    page.get_by_role("button", name="I am the one who answered").click()


def notices(page: Page, served: Served, shoot: Shoot) -> None:
    """Surveys that cannot be answered: no link was given, or one that cannot be used."""
    page.goto(served[INVITED])
    page.wait_for_selector("h1")
    shoot("no-link")
    page.goto(f"{served[INVITED]}#used-before")
    page.get_by_role("heading", name="cannot be used").wait_for()
    shoot("link-used")
    for address, name in (
        (served[LATER], "not-yet-open"),
        (served[OVER], "closed"),
        (f"{served.origin}/s/{'0' * 16}/", "not-found"),
    ):
        page.goto(address)
        page.wait_for_selector("h1")
        shoot(name)


def own_steps(page: Page, served: Served, shoot: Shoot) -> None:
    """Surveys whose respondents throw a die, think of a birth month, or search an answer."""
    page.goto(served[die()])
    page.wait_for_selector("h1")
    shoot("die-introduction")
    go(page)
    answered(page)
    go(page)
    answered(page)
    go(page)
    answered(page)
    shoot("die-unrelated")
    answered(page)
    shoot("die-forced")
    for survey, name in ((MONTH, "birth-month"), (COIN, "coin-one-throw")):
        page.goto(served[survey])
        page.wait_for_selector("h1")
        go(page)
        shoot(name)
    page.goto(served[MANY])
    page.wait_for_selector("h1")
    go(page)
    page.get_by_label("Search").fill("cook")
    shoot("many-answers")


def declined_steps(page: Page, served: Served, shoot: Shoot) -> None:
    """A section, questions that are declined, and a free text."""
    page.goto(served[DECLINED])
    page.wait_for_selector("h1")
    go(page)
    shoot("section")
    go(page)
    page.get_by_role("radio", name="Prefer not to say").check()
    shoot("optional")
    go(page)
    shoot("optional-first")
    page.get_by_role("radio", name="Prefer not to say").check()
    go(page)
    page.locator("textarea").fill("The canteen closes too early.")
    shoot("free-text")
    go(page)
    shoot("review-declined")


def conditional_steps(page: Page, served: Served, shoot: Shoot) -> None:
    """A question that not everybody is asked."""
    page.goto(served[CONDITIONAL])
    page.wait_for_selector("h1")
    go(page)
    page.get_by_role("radio", name="Yes").check()
    go(page)
    shoot("conditional")


def go(page: Page) -> None:
    page.locator("button[type=submit]").click()


def answered(page: Page) -> None:
    """Any answer, and on."""
    for fieldset in page.locator("fieldset").all():
        radios = fieldset.locator("input[type=radio]")
        if radios.count() and not fieldset.locator("input:checked").count():
            radios.last.check()
    go(page)


def pictures(browser: Browser, served: Served) -> Iterator[tuple[str, bytes]]:
    """Names and contents of all pictures."""
    for width, viewport in (("phone", PHONE), ("desktop", DESKTOP)):
        for scheme in ("light", "dark"):
            taken: list[tuple[str, bytes]] = []
            context = device(browser, viewport=viewport, color_scheme=scheme)
            context.add_init_script(_FIXED)
            page = context.new_page()

            def shoot(name: str, page: Page = page, taken: Any = taken) -> None:
                page.evaluate("document.activeElement.blur()")
                taken.append((name, page.screenshot(full_page=True)))

            if scheme == "light":
                browser_steps(page, served, shoot)
                own_steps(page, served, shoot)
                notices(page, served, shoot)
                declined_steps(page, served, shoot)
                conditional_steps(page, served, shoot)
            else:
                page.goto(served[every_kind()])
                page.wait_for_selector("h1")
                shoot("introduction-dark")
            context.close()
            yield from ((f"{name}-{width}.png", content) for name, content in taken)


def small(content: bytes, colours: int = _COLOURS) -> bytes:
    """The same picture in few colours."""
    picture = Image.open(io.BytesIO(content)).convert("RGB")
    out = io.BytesIO()
    picture.quantize(colours, dither=Image.Dither.NONE).save(out, "PNG", optimize=True)
    return out.getvalue()


def main() -> None:
    FOLDER.mkdir(exist_ok=True)
    surveys = [INVITED, LATER, OVER, every_kind(), die(), MONTH, COIN, MANY, DECLINED, CONDITIONAL]
    with (
        tempfile.TemporaryDirectory() as folder,
        serving(surveys, Path(folder)) as served,
        chromium() as browser,
    ):
        total = 0
        for name, content in pictures(browser, served):
            kept = small(content)
            total += len(kept)
            (FOLDER / name).write_bytes(kept)
        sys.stdout.write(f"{FOLDER}: {total:,} bytes\n")


if __name__ == "__main__":
    main()
