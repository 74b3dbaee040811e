"""Published: a frozen survey with its design and fingerprints, for page, server and analyst."""

from __future__ import annotations

import json
import math
from contextlib import suppress
from copy import deepcopy
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Any

from tacit.core.bounds import Bound, DesignReports
from tacit.core.channel.numbers import sum_up
from tacit.core.design import Design, Group
from tacit.core.label_codes import with_no_answer
from tacit.core.schema import Schema
from tacit.errors import FileError
from tacit.output import rounding
from tacit.output.json_documents import DocumentFormat, fingerprint_of, read_document
from tacit.records import read_described
from tacit.survey.fields import text_in
from tacit.survey.reader import survey_from_dict
from tacit.survey.survey import Survey, optional_attributes

#: Letters of the survey's fingerprint that name it in addresses.
SLUG_LETTERS = 16
_KEYS = ("fingerprint", "survey_fingerprint", "survey", "design")
#: A file of version 1 has no bound, so it is computed when the file is read.
FORMAT = DocumentFormat(
    "published-survey",
    "published survey",
    (_KEYS, (*_KEYS, "disclosure_bound", "disclosure_fingerprint")),
)


@dataclass(frozen=True)
class Published:
    """A survey and the design it was published with; its JSON gives an equal value.

    `frozen_bound` is the disclosure bound as published; None to compute it. A newer version may
    know a better bound, but the one that respondents were shown stays.
    """

    survey: Survey
    frozen_bound: dict[str, Any] | None = field(default=None, compare=False, repr=False)

    @property
    def design(self) -> Design:
        """The design that is promised to respondents."""
        return self.survey.design

    @cached_property
    def stored(self) -> Schema:
        """The schema of stored codes: where an answer may be missing, it has the code after the
        last category."""
        reported, optional = self.design.reported, optional_attributes(self.survey)
        wide = with_no_answer(reported)
        return Schema([(wide if name in optional else reported)[name] for name in reported.names])

    @property
    def fingerprint(self) -> str:
        """The fingerprint of the design, which every record has."""
        return self.design.fingerprint

    @cached_property
    def disclosure_bound(self) -> dict[str, Any]:
        """The most that all answers together may reveal, whatever their dependence."""
        if self.frozen_bound is not None:
            return self.frozen_bound
        return disclosure_bound(self.design, self.survey.waves or 1)

    @property
    def slug(self) -> str:
        """The survey's name in addresses."""
        return self.survey.fingerprint[:SLUG_LETTERS]

    def to_dict(self) -> dict[str, Any]:
        """JSON-ready: the survey, its design, the fingerprints of both and the bound."""
        return {
            **FORMAT.header,
            "fingerprint": self.fingerprint,
            "survey_fingerprint": self.survey.fingerprint,
            "survey": self.survey.to_dict(),
            "design": self.design.to_dict(),
            "disclosure_bound": deepcopy(self.disclosure_bound),
            "disclosure_fingerprint": _fingerprint(self.survey, self.disclosure_bound),
        }

    def to_json(self) -> str:
        """The file that is published."""
        return json.dumps(self.to_dict(), indent=2, ensure_ascii=False) + "\n"

    @property
    def title(self) -> str:
        """The survey's title in its first language."""
        return text_in(self.survey.title, self.survey.languages[0])

    @classmethod
    def from_json(cls, text: str) -> Published:
        """Read a published survey; refused if any part has changed since."""
        data = read_document(text, FORMAT)
        bound = data.get("disclosure_bound")
        published = cls(survey_from_dict(data["survey"], "survey"), bound)
        if Design.from_dict(data["design"]) != published.design:
            raise FileError("the design does not follow from the survey; publish it again")
        for key, fingerprint in (
            ("fingerprint", published.fingerprint),
            ("survey_fingerprint", published.survey.fingerprint),
            ("disclosure_fingerprint", _fingerprint(published.survey, bound)),
        ):
            if key in data and data[key] != fingerprint:
                raise FileError(f"{key} does not match the content, which has changed since")
        return published


def _fingerprint(survey: Survey, bound: dict[str, Any] | None) -> str:
    """SHA-256 of a bound and the fingerprint of the survey that it belongs to."""
    return fingerprint_of([survey.fingerprint, bound])


def read_published(path: str | Path) -> Published:
    """The published survey in a file."""
    return read_described(path, Published.from_json, "published survey")


def publish(survey: Survey, out: str | Path) -> Published:
    """Write a survey to a new file; an existing file is accepted if it is the same survey."""
    from tacit.records import write_text  # Arrow is slow to start

    published = Published(survey)
    if Path(out).exists():
        with suppress(FileError):
            if read_published(out) == published:
                return published
        raise FileError(
            f"{out}: another file exists; a published survey is never overwritten, "
            "publish under another name"
        )
    write_text(out, published.to_json())
    return published


#: Published figures are rounded up to a multiple of one over this.
_STEPS = 1000


def disclosure_bound(design: Design, waves: int = 1) -> dict[str, Any]:
    """The published disclosure bound: what all reported answers together may reveal; JSON-ready.

    For each attribute it is the largest probability that someone guesses the true answer who sees
    a whole reported record and knows how answers depend on each other, if all answers to the
    question are equally likely a priori. It assumes nothing about the dependence and needs no data.
    An undisguised answer may reveal any other, so there are two bounds: from the whole record, and
    from the disguised answers alone. If the same people answer in several waves, someone sees the
    records of all of them; every wave draws anew, so the epsilons of the waves add up (Dwork & Roth
    2014, theorem 3.16).
    """
    disguised = _disguised(design)
    every, hidden = DesignReports(design, None, waves), DesignReports(design, disguised, waves)
    attributes = {
        name: {
            "categories": design.schema[name].size,
            "all": _plain(every.bound(name)),
            "disguised": _plain(hidden.bound(name)) if design.group_of(name) in disguised else None,
        }
        for name in design.schema.names
    }
    counted = {"waves": waves} if waves > 1 else {}
    return {"prior": "uniform", **counted, "attributes": attributes}


def waves_sentence(design: Design, waves: int) -> str:
    """What the reports of all waves together reveal, and those of one wave."""
    if not _disguised(design):
        return f"The same people answer {waves} times, and no answer is disguised."
    own, certainty, together, epsilon = worst_guesses(design, waves)
    own_1, certainty_1, together_1, epsilon_1 = worst_guesses(design, 1)
    return (
        f"The same people answer {waves} times, and chance decides anew each time. Someone who "
        "sees all their reports of one question guesses the true answer right in at most "
        f"{own} of 100 cases and is at most {certainty} % sure (one wave: "
        f"{own_1} and {certainty_1} %), if all answers to it are equally common; from all "
        f"disguised answers, right in at most {together} (one wave: {together_1}). "
        f"Epsilon of an answer is at most {epsilon} (one wave: {epsilon_1})."
    )


def worst_guesses(design: Design, waves: int) -> tuple[int, int, int, str]:
    """The least protected disguised answer after some waves.

    Guesses of 100 and certainty in percent from its own reports, guesses from all disguised ones,
    epsilon.
    """
    disguised = _disguised(design)
    together = DesignReports(design, disguised, waves)
    own = [
        DesignReports(design, [group], waves).bound(name)
        for group in disguised
        for name in group.attributes
    ]
    names = [name for group in disguised for name in group.attributes]
    epsilon = max(design.channel(design.jointly_reported([name])).epsilon for name in names)
    return (
        _percent(max(bound.accuracy for bound in own)),
        _percent(max(bound.worst_posterior for bound in own)),
        _percent(max(together.bound(name).accuracy for name in names)),
        rounding.epsilon(sum_up([epsilon] * waves)),
    )


def _percent(share: float) -> int:
    return math.ceil(100 * _up(share) - 1e-9)


def _disguised(design: Design) -> list[Group]:
    return [group for group in design.groups if group.disguised]


def understates(published: dict[str, Any], design: Design, waves: int = 1) -> bool:
    """Whether a published bound is too small or misses an attribute."""
    computed = disclosure_bound(design, waves)["attributes"]
    claimed = published.get("attributes", {})
    return any(
        (claimed.get(name, {}).get(seen) or {}).get(figure, 0.0) < value
        for name, bounds in computed.items()
        for seen in ("all", "disguised")
        for figure, value in (bounds[seen] or {}).items()
    )


def _plain(bound: Bound) -> dict[str, float]:
    return {"guess": _up(bound.accuracy), "certainty": _up(bound.worst_posterior)}


def _up(share: float) -> float:
    """Rounded up, but a value within 1e-9 of a step is that step."""
    return min(math.ceil(share * _STEPS - 1e-6), _STEPS) / _STEPS
