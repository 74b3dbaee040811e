"""Surveys with optional questions of every kind, and records of which some answers are missing."""

from __future__ import annotations

import secrets
from datetime import date
from typing import Any

import numpy as np

from tacit import disguise
from tacit.collect.store import Response, Store, packed
from tacit.core.arrays import Codes, Mask
from tacit.core.disguise import absent_reports
from tacit.survey import Published
from tests.support.page_surveys import MANY, published, yes_no

_PERSONAL = {"text": "Is it past noon?", "distribution": ["1/2", "1/2"]}
_KINDS: dict[str, Any] = {
    "title": "Optional",
    "questions": [
        yes_no("a", sensitive=False, optional=True),
        {"name": "b", "kind": "number", "text": "How many?", "edges": [10], "sensitive": False,
         "optional": True},
        {"name": "c", "kind": "multiple", "text": "Which?", "categories": ["u", "v"],
         "sensitive": False, "optional": True},
        {"name": "d", "kind": "choice", "text": "Where?", "categories": MANY[:40],
         "sensitive": False, "optional": True},
        yes_no("e", optional=True, help="Now and then counts."),
        yes_no("f", optional=True),
        {"name": "g", "kind": "choice", "text": "Side?", "categories": ["left", "right"],
         "sensitive": False, "optional": True},
        yes_no("h", sensitive=False),
    ],
    "groups": [
        {"questions": ["a", "b", "h"], "family": "related", "theta": 0, "throw": "each"},
        {"questions": ["c"], "family": "related", "theta": 0},
        {"questions": ["d"], "family": "related", "theta": 0},
        {"questions": ["e"], "family": "unrelated", "theta": "2/3", "personal": {"e": _PERSONAL}},
        {"questions": ["f"], "family": "crosswise", "p": "1/4", "innocent": "Born in spring?"},
    ],
}  # fmt: skip
#: theta = 0: what is sent of an answer is never the answer.
OPTIONAL = published(_KINDS)
#: The same page of a coin: every optional answer is given after a throw.
OPTIONAL_COIN = published(
    {
        "title": "Optional coin",
        "device": "coin",
        "questions": [yes_no("a", optional=True), yes_no("b")],
        "groups": [
            {"questions": ["a", "b"], "family": "forced", "theta": "1/2", "forced": [0, 1],
             "throw": "each"},
        ],
    }
)  # fmt: skip
#: A survey to estimate from.
ANALYSED = published(
    {
        "title": "Analysed",
        "questions": [
            yes_no("smokes", optional=True),
            {"name": "income", "kind": "ordered", "text": "Income?", "optional": True,
             "categories": ["low", "middle", "high"]},
            {"name": "worries", "kind": "multiple", "text": "Worries?", "optional": True,
             "categories": ["pay", "job"]},
            {"name": "place", "kind": "choice", "text": "Where?", "sensitive": False,
             "categories": ["north", "south"], "optional": True},
            {"name": "drug", "kind": "choice", "text": "Tried?", "categories": ["none", "some"]},
        ],
        "groups": [
            {"questions": ["smokes"], "family": "related", "theta": "4/5"},
            {"questions": ["income"], "family": "uniform_perturbation", "q": "1/2"},
            {"questions": ["worries"], "family": "frapp", "lambda": 6},
            {"questions": ["drug"], "family": "matrix", "reported": ["p", "q", "r"],
             "matrix": [["3/4", "1/8"], ["1/8", "3/4"], ["1/8", "1/8"]]},
        ],
    }
)  # fmt: skip
DAY = date(2027, 1, 1)


def true_answers(survey: Published, n: int, seed: int = 1) -> tuple[Codes, Mask]:
    """True answers that depend on each other, and which questions people leave out."""
    rng = np.random.default_rng(seed)
    kind = rng.random(n)
    sizes = survey.design.schema.sizes
    columns = [(kind * size + rng.random(n) / 2).astype(int) % size for size in sizes]
    absent = np.zeros((n, len(sizes)), bool)
    for question in survey.survey.questions:
        if question.optional:
            places = [survey.design.schema.index(a.name) for a in question.attributes]
            absent[:, places] = (rng.random(n) < 0.15)[:, np.newaxis]
    return np.stack(columns, axis=1).astype(np.uint8), absent


def stored_codes(survey: Published, n: int, seed: int = 1) -> Codes:
    """Reported records as the store has them."""
    true, absent = true_answers(survey, n, seed)
    reported = disguise(true, survey.design, np.random.default_rng(seed))
    sizes = np.array(survey.design.reported.sizes)
    return np.where(absent_reports(absent, survey.design), sizes, reported)


def fill(store: Store, survey: Published, codes: Codes) -> None:
    """Register a survey and store these records."""
    store.register(survey)
    fingerprint = survey.survey.fingerprint
    rows = [
        Response(fingerprint, secrets.token_bytes(16), packed(list(map(int, row)), survey.stored))
        for row in codes
    ]
    store.write(rows, DAY)
