"""The templates of pages and reports; everything they show is escaped."""

from __future__ import annotations

import math
import re
from datetime import UTC, datetime
from functools import cache

from jinja2 import Environment, PackageLoader, StrictUndefined

from tacit.output.number_text import number_of
from tacit.studio.charts import interval_text, percent, ratio_text, row_height, wrapped
from tacit.survey.groups import GROUP_FAMILIES
from tacit.survey.questions import QUESTION_KINDS

#: What kinds of questions and families of groups mean, in forms.
CHOICE_WORDS = {
    **{kind: question.meanings[kind] for kind, question in QUESTION_KINDS.items()},
    **{family: group.meaning for family, group in GROUP_FAMILIES.items()},
}
#: Hints for keys whose explanation needs an example.
KEY_HINTS = {
    "name": "It is used in results and files; respondents do not see it.",
    "theta": "The probability that the true answer is sent, such as 5/6. A lower one protects "
    "respondents better and makes results less precise.",
}


_PROBLEM = re.compile(r"survey:(\d+): (?:(question|group)s\[(\d+)\](?:\.([^ :]+))?: )?")


def in_words(name: str) -> str:
    """A kind or a family with its meaning.

    >>> in_words("yes_no"), in_words("once")
    ('yes_no: yes or no', 'once')
    """
    return f"{name}: {CHOICE_WORDS[name]}" if name in CHOICE_WORDS else name


def hint(name: str, explanation: str) -> str:
    """The explanation of a key, with an example or a consequence if there is one.

    >>> hint("name", "The name of the attribute.")
    'The name of the attribute. It is used in results and files; respondents do not see it.'
    """
    return " ".join(filter(None, (explanation, KEY_HINTS.get(name))))


def sentence(text: str) -> str:
    """A text of the library as a sentence of a page; the name of a question stays as it is.

    >>> sentence("the tree has no split"), sentence("site: is it asked?")
    ('The tree has no split.', 'site: is it asked?')
    """
    if not text.split(" ", 1)[0].endswith(":"):
        text = text[:1].upper() + text[1:]
    return text if text[-1:] in ".!?)" else f"{text}."


def in_place(problem: str) -> str:
    """A problem of a draft, with the number of the question or group as the pages count them.

    >>> in_place("survey:9: questions[1].text: a text is missing")
    'Question 2, text (line 9): a text is missing'
    >>> in_place("survey:3: groups[0]: theta is missing")
    'Group 1 (line 3): theta is missing'
    >>> in_place("survey:3: questions: needs at least 1 item, got 0")
    'It needs a question.'
    """
    if problem.endswith(": questions: needs at least 1 item, got 0"):
        return "It needs a question."
    match = _PROBLEM.match(problem)
    if match is None:
        return problem
    line, part, number, key = match.groups()
    text = problem[match.end() :]
    if part is None:
        return f"Line {line}: {text}"
    return f"{part.capitalize()} {int(number) + 1}{f', {key}' if key else ''} (line {line}): {text}"


def utc_text(seconds: float) -> str:
    """A time of day, UTC."""
    return datetime.fromtimestamp(seconds, UTC).strftime("%Y-%m-%d %H:%M:%S")


@cache
def page_templates() -> Environment:
    """The templates in the folder `templates`; an unknown name in one is an error."""
    templates = Environment(
        loader=PackageLoader("tacit.studio"),
        autoescape=True,
        trim_blocks=True,
        undefined=StrictUndefined,
    )
    words = (number_of, in_words, hint, interval_text)
    templates.globals |= {word.__name__: word for word in words}
    templates.filters |= {
        "in_place": in_place,
        "sentence": sentence,
        "utc": utc_text,
        "percent": percent,
        "wrapped": wrapped,
        "row_height": row_height,
        "log2": math.log2,
        "ratio": ratio_text,
    }
    return templates
