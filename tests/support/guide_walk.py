"""A newcomer who follows docs/studio-guide.md in a browser, and people who answer her survey."""

from __future__ import annotations

import textwrap
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np
from playwright.sync_api import Browser, Page

from tacit import Schema
from tacit.core.arrays import Codes
from tests.support.browser import PHONE, device
from tests.support.doc_blocks import blocks, printed
from tests.support.guide_steps import GuideStep, do, steps, target
from tests.support.one_process import Both

GUIDE = Path(__file__).parents[2] / "docs" / "studio-guide.md"
WIDE = {"width": 800, "height": 600}
#: Milliseconds after which a model is learnt, on a busy machine.
LEARNT = 60_000
#: The true answers of one person, by the text of the question.
Person = dict[str, str]

# The survey of the guide --------------------------------------------------------------------------

SITES, REASONS = ("office", "warehouse"), ("back pain", "headache", "something else")
TEXTS = {
    "site": "Where do you work?",
    "painkillers": "Did you take painkillers to get through work last month?",
    "pressure": "Are you under time pressure on most days?",
    "reason": "What was the main reason?",
}
#: Shares of those who take painkillers, by site; of time pressure, by site and painkillers; of
#: reasons, by site.
TAKING = (0.3, 0.6)
PRESSED = ((0.2, 0.4), (0.7, 0.9))
REASON_SHARES = ((0.2, 0.6, 0.2), (0.7, 0.1, 0.2))


def true_shares() -> dict[str, dict[str, float]]:
    """The shares of answers in the population that people are drawn from; sites are equal."""
    taking = np.array(TAKING)
    pressed = (1 - taking) * np.array(PRESSED)[:, 0] + taking * np.array(PRESSED)[:, 1]
    reasons = (taking[:, None] * REASON_SHARES).mean(axis=0)
    return {
        "site": {"office": 0.5, "warehouse": 0.5},
        "painkillers": {"no": 1 - taking.mean(), "yes": taking.mean()},
        "pressure": {"no": 1 - pressed.mean(), "yes": pressed.mean()},
        "reason": {
            **dict(zip(REASONS, map(float, reasons), strict=True)),
            "does not apply": 1 - taking.mean(),
        },
    }


def people(n: int, rng: np.random.Generator) -> list[Person]:
    """True answers of n people."""
    found = []
    for _ in range(n):
        site = int(rng.integers(2))
        took = bool(rng.random() < TAKING[site])
        pressed = bool(rng.random() < PRESSED[site][took])
        answers = {
            "site": SITES[site],
            "painkillers": "Yes" if took else "No",
            "pressure": "Yes" if pressed else "No",
        }
        if took:
            answers["reason"] = str(rng.choice(REASONS, p=REASON_SHARES[site]))
        found.append({TEXTS[name]: answer for name, answer in answers.items()})
    return found


def true_codes(everybody: Sequence[Person], schema: Schema) -> Codes:
    """True answers as codes; people who are not asked a question have its last category."""
    labels = [
        [person.get(TEXTS[a.name], a.categories[-1]).lower() for a in schema]
        for person in everybody
    ]
    codes = [
        [a.categories.index(own) for a, own in zip(schema, row, strict=True)] for row in labels
    ]
    return np.array(codes, np.uint8).reshape(len(codes), len(schema))


# People answer ------------------------------------------------------------------------------------

#: Answers as a person does, page by page, but at once. Chance is fixed by a seed.
_ANSWERS = """async ([answers, seed]) => {
  let state = BigInt(seed);
  const next = () => {
    state = BigInt.asUintN(64, state * 6364136223846793005n + 1442695040888963407n);
    return state >> 33n;
  };
  crypto.getRandomValues = (words) => {
    words.forEach((_, i) => (words[i] = (next() << 32n) | next()));
    return words;
  };
  const head = () => document.querySelector("h1").textContent;
  const left = new Map(Object.entries(answers));
  while (head() !== "This will be sent") {
    const before = document.querySelector("form");
    if (left.has(head())) {
      const wanted = left.get(head());
      left.delete(head());
      [...document.querySelectorAll("label")].find((one) => one.textContent === wanted).click();
    }
    document.querySelector("button[type=submit]").click();
    if (document.querySelector("form") === before) return `stopped at ${head()}`;
  }
  if (left.size) return `not asked: ${[...left.keys()]}`;
  [...document.querySelectorAll("button")].find((one) => one.textContent === "Send").click();
  while (!head().startsWith("Stored")) await new Promise((done) => setTimeout(done, 2));
  return "stored";
}"""


def answer(
    page: Page,
    address: str,
    everybody: Sequence[Person],
    rng: np.random.Generator,
    stored: Callable[[Person], None] = lambda person: None,
) -> None:
    """People answer one after the other on one device, which they pass on.

    `stored` is called when the answers of a person are stored.
    """
    page.goto(address)
    for person in everybody:
        page.wait_for_selector("h1")
        seed = str(rng.integers(1 << 62))
        assert page.evaluate(_ANSWERS, [person, seed]) == "stored"
        stored(person)
        with page.expect_navigation():
            page.get_by_role("button", name="Someone else is answering").click()
        page.get_by_role("button", name="I have not answered yet").click()


# The newcomer -------------------------------------------------------------------------------------


@dataclass
class GuideWalk:
    """One walk through the guide; `shoot` takes its pictures, `wait` is called for the answers."""

    browser: Browser
    running: Both
    shoot: Callable[[Page, str], None]
    wait: Callable[[str], None]
    options: dict[str, object] = field(default_factory=dict)
    files: list[Path] = field(default_factory=list)
    address: str = ""
    #: What the code for a notebook prints.
    printed: str = ""

    def __post_init__(self) -> None:
        context = device(self.browser, **({"viewport": WIDE} | self.options))
        context.set_default_timeout(LEARNT)
        self.pages = [context.new_page()]

    @property
    def page(self) -> Page:
        """The tab that the newcomer looks at."""
        return self.pages[-1]

    def follow(self) -> None:
        """Do everything that the guide says."""
        for step in steps(GUIDE):
            try:
                self._do(step)
            except Exception as error:
                error.add_note(f"{step}, at {self.page.url}")
                raise

    def _do(self, step: GuideStep) -> None:
        match step.way:
            case "picture":
                self.shoot(self.page, step.label)
            case "outside":
                self._outside(step.label)
            case "download":
                with self.page.expect_download() as wanted:
                    target(self.page, step.label).click()
                made = wanted.value
                self.files.append(made.path().with_name(made.suggested_filename))
                made.save_as(self.files[-1])
            case "press" if step.label == "Preview":
                with self.page.expect_popup() as opened:
                    do(self.page, step)
                self.pages.append(opened.value)
            case _:
                do(self.page, step)

    def _outside(self, told: str) -> None:
        if told.startswith("Open the link that"):
            self.page.goto(self.running.link)
        elif told == "Open the page for respondents":
            link = self.page.get_by_role("link", name="/s/")
            self.address = link.get_attribute("href") or ""
            self.pages.append(device(self.browser, viewport=PHONE).new_page())
            self.page.goto(self.address)
        elif told == "Open the file in the browser":
            self.pages.append(self.page.context.new_page())
            self.page.goto(self.files[-1].as_uri())
        elif told == "Close this tab":
            self.pages.pop().close()
        elif told == "Run this code in a notebook":
            (code,) = [
                code for language, code in blocks("docs/studio-guide.md") if language == "python"
            ]
            token = self.page.locator("main code", has_text="tacit_").inner_text()
            code = textwrap.dedent(code).replace("TOKEN", token)
            code = code.replace("http://127.0.0.1:8001", self.running.studio)
            self.printed = printed(code, self.files[-1].parent)
        elif told == "Wait for the answers":
            self.wait(self.address)
        else:
            raise AssertionError(f"the guide says something else: {told}")
