"""Somebody on the network sees the length of what is sent, and learns nothing from it.

Real TLS between Chromium and the server; the eavesdropper sees the lengths of the TLS records.
Negative controls: without the padding the same attack tells the answers apart.
"""

from __future__ import annotations

import http.client
import json
import random
import secrets
import ssl
from collections.abc import Iterator, Sequence
from typing import Any

import pytest
from playwright.sync_api import Browser, Page
from scipy.stats import fisher_exact

from tacit.collect.padding import padded, submission_length
from tacit.survey import Published
from tacit.survey.survey import missing_together
from tests.support.browser import Served, device, serving
from tests.support.chance import FALSE_ALARM
from tests.support.eavesdropper import Eavesdropper, eavesdropping
from tests.support.optional_surveys import OPTIONAL
from tests.support.page_surveys import HOSTILE, INVITED, OPEN, THROWN, every_kind, published
from tests.support.respondent import Respondent

#: Labels of one to twelve bytes a letter, short and long ones.
AWKWARD = published(
    {
        "title": "Größe",
        "questions": [
            {"name": "größe", "kind": "choice", "text": "?",
             "categories": ["nein", "häufig", "🎲 👩‍👩‍👧", 'say "no" \\ yes', "x" * 100, "東京"]},
            {"name": "b", "kind": "multiple", "text": "?", "categories": ["ä", "zwei Wörter"]},
            {"name": "c", "kind": "choice", "text": "?", "categories": ["first", "second"]},
        ],
        "groups": [
            {"questions": ["größe"], "family": "uniform_perturbation", "q": "1/2"},
            {"questions": ["b"], "family": "related", "theta": "3/4", "throw": "each"},
            {"questions": ["c"], "family": "matrix", "reported": ["p", "bien autre chose", "r"],
             "matrix": [["3/4", "1/8"], ["1/8", "3/4"], ["1/8", "1/8"]]},
        ],
    }
)  # fmt: skip
SURVEYS = (INVITED, OPEN, AWKWARD, HOSTILE, THROWN, every_kind(), OPTIONAL)
#: Respondents whose answers are guessed: with 16 of each, a chance guess of all is one in 6e8.
GUESSED = 16

PREPARE = """
async () => {
  const [{ bodyOf, deliver, newKey }, { readDesign }] = await Promise.all(
    ["send", "disguise"].map((name) => import(`/page/${name}.js`)),
  );
  const published = await (await fetch("survey.json")).json();
  const page = { published, design: readDesign(published.design) };
  window.send = async (given, unpadded) => {
    const answers = [];
    for (const { record, token } of JSON.parse(given)) {
      let body = bodyOf(page, { key: newKey(), token, record });
      if (unpadded) body = body.replace(/,"padding":" *"/, "");
      answers.push(await deliver(body, () => {}));
    }
    return answers;
  };
}
"""


@pytest.fixture(scope="module")
def served(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Served]:
    with serving(SURVEYS, tmp_path_factory.mktemp("served")) as found:
        yield found


@pytest.fixture(scope="module")
def ear(served: Served, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Eavesdropper]:
    with eavesdropping(served.origin, tmp_path_factory.mktemp("tls")) as found:
        yield found


@pytest.fixture(scope="module")
def page(browser: Browser) -> Iterator[Page]:
    """One for all tests that only call its functions."""
    context = device(browser, ignore_https_errors=True)
    yield context.new_page()
    context.close()


def secure(ear: Eavesdropper, survey: Published) -> str:
    return f"https://127.0.0.1:{ear.port}/s/{survey.slug}/"


def records(survey: Published) -> list[dict[str, str | None]]:
    """Every category of every attribute at least once, beside first and beside last ones.

    Missing answers too, where they are allowed.
    """
    reported = [(a.name, [str(label) for label in a.categories]) for a in survey.design.reported]
    missing = missing_together(survey.survey)
    found: list[dict[str, str | None]] = []
    for end in (0, -1):
        plain: dict[str, str | None] = {name: labels[end] for name, labels in reported}
        found += [plain | {name: label} for name, labels in reported for label in labels]
        found += [plain | dict.fromkeys(names) for names in missing]
    return found


def tokens(survey: Published) -> Iterator[str | None]:
    """A token for each record, where the survey asks for one; as long as real ones."""
    while True:
        yield secrets.token_urlsafe(16) if survey is INVITED else None


def opens(page: Page, ear: Eavesdropper, survey: Published) -> None:
    """A page that can send records of a survey."""
    page.goto(secure(ear, survey))
    page.wait_for_selector("h1")
    page.evaluate(PREPARE)


def lengths_from_page(
    page: Page, ear: Eavesdropper, survey: Published, sent: Sequence[Any], unpadded: bool = False
) -> list[int]:
    """The lengths of the TLS records in which the page's own code sends each record.

    It sends one after the other; if there are as many TLS records, each of them holds one.
    """
    right = {"refused": True, "type": "link-used"} if survey is INVITED else {"stored": True}
    wanted = {"refused": True, "type": "malformed"} if unpadded else right
    given = [
        {"record": record, "token": token}
        for record, token in zip(sent, tokens(survey), strict=False)
    ]
    ear.overheard()
    found = page.evaluate(f"given => window.send(given, {int(unpadded)})", json.dumps(given))
    lengths = ear.overheard()
    assert found == [wanted] * len(sent)
    assert len(lengths) == len(sent)
    return list(lengths)


def tells(lengths: Sequence[Any], answers: Sequence[str]) -> bool:
    """Whether lengths tell two answers apart: Fisher's exact test; wrong once in a million."""
    first, shortest = answers[0], min(lengths)
    table = [[0, 0], [0, 0]]
    for length, answer in zip(lengths, answers, strict=True):
        table[answer == first][length == shortest] += 1
    return bool(fisher_exact(table).pvalue < FALSE_ALARM)


@pytest.mark.parametrize("survey", SURVEYS, ids=lambda survey: survey.slug)
def test_every_record_that_the_page_can_send_has_the_same_length(
    page: Page, ear: Eavesdropper, survey: Published
) -> None:
    opens(page, ear, survey)
    lengths = lengths_from_page(page, ear, survey, records(survey))
    assert len(lengths) > 2
    assert len(set(lengths)) == 1
    # Negative control: without the padding the lengths differ.
    assert len(set(lengths_from_page(page, ear, survey, records(survey), unpadded=True))) > 1


def test_a_guess_from_the_length_is_no_better_than_chance(page: Page, ear: Eavesdropper) -> None:
    answers = ["yes", "no"] * GUESSED
    random.Random(5).shuffle(answers)
    sent = [{"a": answer} for answer in answers]
    opens(page, ear, OPEN)
    assert not tells(lengths_from_page(page, ear, OPEN, sent), answers)
    # Negative control: the attack works where it can.
    assert tells(lengths_from_page(page, ear, OPEN, sent, unpadded=True), answers)


def test_an_eavesdropper_cannot_tell_the_answers_of_respondents_apart(
    browser: Browser, ear: Eavesdropper
) -> None:
    """The whole page as people use it; with an own device, the answer given is what is sent."""
    lengths = {}
    for answer in ("Yes", "No"):
        context = device(browser, ignore_https_errors=True)
        person = Respondent(context.new_page())
        person.opens(secure(ear, THROWN))
        person.goes_on()
        person.chooses(answer)
        person.goes_on()
        ear.overheard()
        person.presses("Send")
        person.reaches("Stored. Thank you!")
        lengths[answer] = ear.overheard()
        context.close()
    assert lengths["Yes"] == lengths["No"] != ()


def lengths_from_python(
    ear: Eavesdropper, survey: Published, bodies: Sequence[bytes]
) -> list[tuple[int, ...]]:
    """The same for a program that sends over one connection."""
    unchecked = ssl.create_default_context()
    unchecked.check_hostname, unchecked.verify_mode = False, ssl.CERT_NONE
    line = http.client.HTTPSConnection("127.0.0.1", ear.port, context=unchecked)
    lengths = []
    for body in bodies:
        ear.overheard()
        kind = {"Content-Type": "application/json"}
        line.request("POST", f"/s/{survey.slug}/responses", body, kind)
        line.getresponse().read()
        lengths.append(ear.overheard())
    line.close()
    return lengths[1:]  # the first ones belong to the handshake


@pytest.mark.parametrize("survey", [OPEN, AWKWARD, every_kind()], ids=lambda survey: survey.slug)
def test_every_record_that_a_program_sends_has_the_same_length(
    ear: Eavesdropper, survey: Published
) -> None:
    sent = [
        {"fingerprint": survey.fingerprint, "key": secrets.token_hex(16), "record": record}
        for record in [records(survey)[0], *records(survey)]
    ]
    length = submission_length(survey)
    lengths = lengths_from_python(ear, survey, [padded(each, length) for each in sent])
    assert len(set(lengths)) == 1
    control = lengths_from_python(ear, survey, [json.dumps(each).encode() for each in sent])
    assert len(set(control)) > 1
