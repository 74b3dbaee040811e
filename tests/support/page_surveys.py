"""Surveys that tests of the respondent's page answer: every kind of question, family and device."""

from __future__ import annotations

import json
from functools import cache
from typing import Any

from tacit.survey import Published, survey_from_dict, survey_from_text

EVERY_KIND = """
title: Work and health
introduction: A short survey about what people would rather not say.
questions:
  - {name: smokes, kind: yes_no, text: "Do you smoke?", help: "Now and then counts too."}
  - name: income
    kind: ordered
    text: What do you earn in a month?
    categories: [low, middle, high]
    labels: {low: Up to 2000, middle: 2001 to 4000, high: More than 4000}
  - name: drinks
    kind: number
    text: How many alcoholic drinks do you have in a week?
    edges: [0, 7]
    categories: [none, some, many]
    labels: {none: None, some: 1 to 7, many: More than 7}
  - name: worries
    kind: multiple
    text: Which of these keep you awake at night?
    categories: [pay, job, health]
    labels: {pay: My pay, job: Losing my job, health: My health}
  - {name: stolen, kind: yes_no, text: "Have you taken home something that belongs to work?"}
  - {name: taxes, kind: yes_no, text: "Have you ever left out income in a tax return?"}
  - name: drug
    kind: choice
    text: Which of these have you tried?
    categories: [first, second]
    labels: {first: Neither of them, second: One or both, p: Report P, q: Report Q, r: Report R}
  - {name: ill, kind: yes_no, text: "Have you called in sick without being ill?"}
  - {name: late, kind: yes_no, text: "Have you left work early without saying so?"}
  - name: region
    kind: choice
    sensitive: false
    text: Where do you live?
    categories: [north, south, east, west]
  - {name: age, kind: number, sensitive: false, text: "How old are you?", edges: [20, 40, 60]}
groups:
  - {questions: [smokes], family: related, theta: 5/6}
  - {questions: [income], family: uniform_perturbation, q: 1/2}
  - {questions: [drinks], family: forced, theta: 1/2, forced: [1/3, 1/3, 1/3]}
  - {questions: [worries], family: frapp, lambda: 6}
  - questions: [stolen]
    family: unrelated
    theta: 2/3
    personal:
      stolen:
        text: Is your mother's birthday in the first half of the year?
        distribution: [1/2, 1/2]
        answers: ["July to December", "January to June"]
  - questions: [taxes]
    family: crosswise
    p: 1/4
    innocent: Were you born in January, February or March?
  - questions: [drug]
    family: matrix
    matrix: [[3/4, 1/8], [1/8, 3/4], [1/8, 1/8]]
    reported: [p, q, r]
  - {questions: [ill, late], family: related, theta: 3/4}
practice:
  text: Do you like chocolate?
  answers: ["No", "Yes"]
comprehension:
  - text: Who can see your true answers?
    answers: [Those who run the survey, Only I]
    correct: 2
    explanation: They are disguised on your device, before anything is sent.
"""

_OWN = """
title: Rules of the {device}
device: {device}
questions:
  - {{name: a, kind: yes_no, text: "Question a?"}}
  - {{name: b, kind: yes_no, text: "Question b?", help: "With help."}}
  - {{name: c, kind: yes_no, text: "Question c?"}}
  - {{name: d, kind: choice, text: "Question d?", categories: [x, y, z]}}
  - {{name: e, kind: choice, text: "Question e?", categories: [x, y, z]}}
  - {{name: f, kind: yes_no, text: "Question f?"}}
  - {{name: g, kind: yes_no, text: "Question g?"}}
  - {{name: h, kind: multiple, text: "Question h?", categories: [one, two]}}
  - {{name: open, kind: number, sensitive: false, text: "How many?", edges: [1, 2.5]}}
groups:
{groups}
practice: {{text: "Do you like chocolate?", answers: ["No", "Yes"]}}
"""
_PERSONAL = '{{{0}: {{text: "Personal {0}?", distribution: [{1}, {2}], answers: [Before, After]}}}}'
#: What each device makes of the questions above.
_GROUPS: dict[str, list[str]] = {
    "coin": [
        "{questions: [a], family: forced, theta: 1/2, forced: [0, 1]}",
        "{questions: [b], family: unrelated, theta: 1/2, personal: "
        + _PERSONAL.format("b", "3/4", "1/4")
        + "}",
        "{questions: [c], family: crosswise, p: 1/3, innocent: 'Innocent c?'}",
        "{questions: [d], family: forced, theta: 1/2, forced: [0, 1, 0]}",
        "{questions: [e], family: matrix, matrix: [[1/2, 0, 1/2], [1/2, 1/2, 0], [0, 1/2, 1/2]]}",
        "{questions: [f, g], family: forced, theta: 1/2, forced: [1, 0]}",
        "{questions: [h], family: matrix, reported: [u, v, w, t], matrix: [[1/2, 0, 0, 1/2], "
        "[1/2, 1/2, 0, 0], [0, 1/2, 1, 0], [0, 0, 0, 1/2]]}",
    ],
    "die": [
        "{questions: [a], family: related, theta: 5/6}",
        "{questions: [b], family: unrelated, theta: 2/3, personal: "
        + _PERSONAL.format("b", "3/4", "1/4")
        + "}",
        "{questions: [c], family: crosswise, p: 1/4, innocent: 'Innocent c?'}",
        "{questions: [d], family: forced, theta: 1/2, forced: [1/3, 1/3, 1/3]}",
        "{questions: [e], family: related, theta: 2/3}",
        "{questions: [f, g], family: related, theta: 2/3}",
        "{questions: [h], family: frapp, lambda: 5, throw: each}",
    ],
    "birth_month": [
        "{questions: [a], family: related, theta: 3/4}",
        "{questions: [b], family: uniform_perturbation, q: 2/3}",
        "{questions: [c], family: crosswise, p: 1/4, innocent: 'Innocent c?'}",
        "{questions: [d], family: related, theta: 5/6}",
        "{questions: [e], family: matrix, reported: [u, v, w, t], matrix: [[3/4, 1/12, 1/12], "
        "[1/12, 3/4, 1/12], [1/12, 1/12, 3/4], [1/12, 1/12, 1/12]]}",
        "{questions: [f, g], family: uniform_perturbation, q: 2/3}",
        "{questions: [h], family: matrix, matrix: [[3/4, 1/12, 1/12, 1/12], [1/12, 3/4, 1/12, "
        "1/12], [1/12, 1/12, 3/4, 1/12], [1/12, 1/12, 1/12, 3/4]]}",
    ],
}
DEVICES = tuple(_GROUPS)


@cache
def every_kind() -> Published:
    """Every kind of question and every family, disguised by the page."""
    return Published(survey_from_text(EVERY_KIND, "every_kind.yaml"))


@cache
def own_device(device: str) -> Published:
    """Every family that a device of the respondent's can make."""
    groups = "\n".join(f"  - {group}" for group in _GROUPS[device])
    return Published(survey_from_text(_OWN.format(device=device, groups=groups), f"{device}.yaml"))


def published(survey: dict[str, Any]) -> Published:
    """A survey from plain values; what is not said is as small as it can be."""
    return Published(survey_from_dict(json.loads(json.dumps({"title": "Survey"} | survey))))


def yes_no(name: str, **more: Any) -> dict[str, Any]:
    """A yes/no question."""
    return {"name": name, "kind": "yes_no", "text": f"Question {name}?"} | more


_ONE = {
    "questions": [yes_no("a")],
    "groups": [{"questions": ["a"], "family": "related", "theta": "3/4"}],
}
OPEN = published(_ONE | {"title": "Open"})
INVITED = published(_ONE | {"title": "Invited", "access": "invited"})
FULL = published(_ONE | {"title": "Full", "quota": 1})
GERMAN = published(_ONE | {"title": "Offen", "languages": ["de"]})
THROWN = published(_ONE | {"title": "Thrown", "device": "birth_month"})
#: Numbers that may not be all that one can type: edges, and limits if there are any.
LIMITS: list[dict[str, Any]] = [
    {"edges": [20, 40]},
    {"edges": [20, 40], "minimum": 16},
    {"edges": [20, 40], "maximum": 120},
    {"edges": [-5, 5], "maximum": 120},
    {"edges": [-5, 5]},
    {"edges": [20, 40], "minimum": 16, "maximum": 120},
]
NUMBERS = published(
    {
        "title": "Numbers",
        "questions": [
            {
                "name": f"n{i}",
                "kind": "number",
                "text": f"Number {i}?",
                "sensitive": False,
                **limits,
            }
            for i, limits in enumerate(LIMITS)
        ]
        + [yes_no("a")],
        "groups": [{"questions": ["a"], "family": "related", "theta": "3/4"}],
    }
)
#: One throw for questions whose personal ones are not equally common.
PAIR = published(
    {
        "title": "Pair",
        "questions": [yes_no("a"), yes_no("b"), yes_no("c")],
        "groups": [
            {"questions": ["a", "b", "c"], "family": "unrelated", "theta": "1/2", "personal": {
                "a": {"text": "Personal a?", "distribution": ["1/2", "1/2"]},
                "b": {"text": "Personal b?", "distribution": ["49/50", "1/50"]},
                "c": {"text": "Personal c?", "distribution": ["1/2", "1/2"]},
            }},
        ],
    }
)  # fmt: skip
_DEGREES = {"kind": "ordered", "categories": ["1", "2", "3"]}
#: Two questions with categories of the same names, of which one has labels.
DEGREES = published(
    {
        "title": "Degrees",
        "questions": [
            {
                "name": "a",
                "text": "How often?",
                "labels": {"1": "Never", "3": "Always"},
                **_DEGREES,
            },
            {"name": "b", "text": "How many?", **_DEGREES},
        ],
        "groups": [{"questions": ["a", "b"], "family": "related", "theta": "2/3"}],
        "labels": {"2": "Two"},
    }
)
#: theta = 0: what is sent is never what was answered.
OPPOSITE = published(
    {
        "title": "Opposite",
        "questions": [
            yes_no("a", sensitive=False),
            {"name": "b", "kind": "multiple", "text": "B?", "categories": ["u", "v"],
             "sensitive": False},
            {"name": "c", "kind": "number", "text": "C?", "edges": [10], "sensitive": False},
        ],
        "groups": [{"questions": ["a", "b", "c"], "family": "related", "theta": 0}],
    }
)  # fmt: skip
#: theta = 0: what is kept of a disguised answer is never the answer; b and c share a throw.
RELOADED = published(
    {
        "title": "Reloaded",
        "questions": [
            {"name": "place", "kind": "choice", "text": "Where?", "categories": ["north", "south"],
             "sensitive": False},
            *(yes_no(name, sensitive=False) for name in "abcd"),
        ],
        "groups": [
            {"questions": ["a", "d"], "family": "related", "theta": 0, "throw": "each"},
            {"questions": ["b", "c"], "family": "related", "theta": 0},
        ],
        "practice": {"text": "Try?", "answers": ["No", "Yes"]},
    }
)  # fmt: skip
_TEAM = {
    "questions": [
        {"name": "team", "kind": "choice", "text": "Which team?", "categories": ["north", "south"],
         "sensitive": False},
        yes_no("a", sensitive=False),
        yes_no("b"),
    ],
    "groups": [
        {"questions": ["a"], "family": "related", "theta": 0},
        {"questions": ["b"], "family": "related", "theta": "3/4"},
    ],
}  # fmt: skip
#: Two waves with links and two without; the team is sent as it is, `a` always as its opposite.
TEAM = published(_TEAM | {"title": "Team", "access": "invited"})
TEAM_WAVE = published(_TEAM | {"title": "Team, second wave", "access": "invited"})
TEAM_OPEN = published(_TEAM | {"title": "Team, open"})
TEAM_OPEN_WAVE = published(_TEAM | {"title": "Team, open, second wave"})
_LABELS = {"no": {"en": "No", "fr": "Non"}, "yes": {"en": "Yes", "fr": "Oui"}}
FRENCH = published(
    {
        "title": {"en": "Two languages", "fr": "Deux langues"},
        "languages": ["en", "fr"],
        "access": "invited",
        "labels": _LABELS,
        "questions": [yes_no("a", text={"en": "Do you smoke?", "fr": "Fumez-vous ?"})],
        "groups": [{"questions": ["a"], "family": "related", "theta": "3/4"}],
    }
)
_TWO = FRENCH.survey.to_dict() | {"access": "open"}
#: Not open yet, and closed.
EARLY = published(_TWO | {"opens": "2999-03-01"})
LATE = published(_TWO | {"closes": "2001-03-31"})
SCRIPT = "<script>window.harmed = 1</script>"
IMAGE = '<img src=x onerror="window.harmed = 1">'
EMOJI = "🎲🙂 e\u0301 👩‍👩‍👧"
RIGHT_TO_LEFT = "هل تدخن؟"
HOSTILE = published(
    {
        "title": f"{SCRIPT} {IMAGE}",
        "introduction": "{n} ${1} %s \\u202e javascript:window.harmed=1 " + SCRIPT,
        "languages": ["ar"],
        "questions": [
            {"name": "a", "kind": "yes_no", "text": RIGHT_TO_LEFT, "help": IMAGE},
            {"name": "__proto__", "kind": "choice", "text": EMOJI, "categories": [IMAGE, "😀"]},
            {"name": "constructor", "kind": "choice", "text": "?", "categories": ["valueOf", "x"]},
            {"name": '"><b>', "kind": "multiple", "text": "x" * 3000,
             "categories": ["<i>", "&amp;", "valueOf"]},
        ],
        "groups": [
            {"questions": ["a", "__proto__", "constructor"], "family": "related", "theta": "3/4",
             "throw": "each"},
            {"questions": ['"><b>'], "family": "frapp", "lambda": 3},
        ],
        "practice": {"text": SCRIPT, "answers": [IMAGE, RIGHT_TO_LEFT], "explanation": SCRIPT},
        "comprehension": [
            {"text": SCRIPT, "answers": [IMAGE, "ok"], "correct": 2, "explanation": IMAGE}
        ],
    }
)  # fmt: skip


def _alike(title: str, n: int) -> Published:
    """So many yes/no questions, each with a throw of its own."""
    names = [f"q{i}" for i in range(n)]
    group = {"questions": names, "family": "related", "theta": "3/4", "throw": "each"}
    return published(
        {"title": title, "questions": [yes_no(name) for name in names], "groups": [group]}
    )


LONG, FORTY = _alike("Long", 200), _alike("Forty", 40)
MANY = [f"Place {i}" for i in range(998)] + ["Zürich", "東京"]
WIDE = published(
    {
        "title": "Wide",
        "questions": [
            {"name": "place", "kind": "choice", "text": "Which place?", "categories": MANY},
            {"name": "been", "kind": "multiple", "text": "Where have you been?",
             "categories": MANY[:60]},
        ],
        "groups": [
            {"questions": ["place"], "family": "uniform_perturbation", "q": "1/2"},
            {"questions": ["been"], "family": "related", "theta": "3/4", "throw": "each"},
        ],
    }
)  # fmt: skip


#: A multiple choice of which one answer is disguised and one is not.
SPLIT = published(
    {
        "title": "Split",
        "questions": [
            {"name": "a", "kind": "multiple", "text": "Which?", "sensitive": False,
             "categories": ["hidden", "shown"]},
        ],
        "groups": [
            {"questions": ["a.hidden"], "family": "unrelated", "theta": "1/2",
             "personal": {"a.hidden": {"text": "Personal?", "distribution": ["1/2", "1/2"]}}},
        ],
        "practice": {"text": "Try?", "answers": ["No", "Yes"]},
    }
)  # fmt: skip
HALF = published(
    {
        "title": "Half",
        "questions": [
            {"name": "a", "kind": "multiple", "text": "Which?", "sensitive": False,
             "categories": ["hidden", "shown", "other"]},
        ],
        "groups": [{"questions": ["a.hidden", "a.other"], "family": "related", "theta": 0,
                    "throw": "each"}],
    }
)  # fmt: skip


def every_survey() -> list[Published]:
    """All that the server of the tests serves."""
    return [
        *(INVITED, OPEN, FULL, OPPOSITE, FRENCH, HOSTILE, LONG, WIDE, SPLIT, HALF, every_kind()),
        *(THROWN, PAIR, DEGREES, EARLY, LATE),
        *(RELOADED, FORTY, GERMAN, NUMBERS, TEAM, TEAM_WAVE, TEAM_OPEN, TEAM_OPEN_WAVE),
        *map(own_device, DEVICES),
    ]
