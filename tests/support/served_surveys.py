"""Simulated surveys through the real service: responses over HTTP, intervals from the studio."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import httpx
import numpy as np

from tacit import disguise
from tacit.cli.simulate import send
from tacit.collect.store import Store
from tacit.core.arrays import Array
from tacit.studio.accounts import Role
from tacit.studio.server import studio_of
from tacit.survey import Published, survey_from_dict
from tests.support.serving import started
from tests.support.studio import PASSWORD
from tests.support.studio_process import running

GROUPS: list[dict[str, Any]] = [
    {"questions": ["related"], "family": "related", "theta": "4/5"},
    {"questions": ["forced"], "family": "forced", "theta": "3/4", "forced": ["1/2", "1/2"]},
    {"questions": ["crosswise"], "family": "crosswise", "p": "1/4", "innocent": "Born in spring?"},
    {"questions": ["uniform"], "family": "uniform_perturbation", "q": "1/2"},
    {"questions": ["frapp"], "family": "frapp", "lambda": "6"},
    {"questions": ["two", "together"], "family": "related", "theta": "5/6"},
]
SIZES = {"uniform": 4, "frapp": 3, "plain": 3}


def one_survey(number: int) -> Published:
    """Eight questions under six coins; one is not disguised."""
    names = [name for group in GROUPS for name in group["questions"]]
    questions = [_question(name, SIZES.get(name, 2)) for name in [*names, "plain"]]
    content = {"title": f"Survey {number}", "questions": questions, "groups": GROUPS}
    return Published(survey_from_dict(content, "survey"))


def _question(name: str, size: int) -> dict[str, Any]:
    if size == 2:
        return {"name": name, "kind": "yes_no", "text": f"{name}?"}
    categories = [f"answer {j}" for j in range(size)]
    more = {"sensitive": False} if name == "plain" else {}
    return {"name": name, "kind": "choice", "text": f"{name}?", "categories": categories, **more}


@dataclass(frozen=True)
class ShownInterval:
    """An interval of the studio, the true share, and the share of reports if it is shown."""

    question: str
    category: int
    true: float
    low: float
    high: float
    reported: float | None

    @property
    def covers(self) -> bool:
        """Whether the interval contains the true share."""
        return self.low <= self.true <= self.high


def simulated(folder: Path, surveys: int, respondents: int, seed: int) -> Iterator[ShownInterval]:
    """The intervals that the studio shows for surveys that a server has collected."""
    database = str(folder / "tacit.db")
    published = [one_survey(number) for number in range(surveys)]
    rng = np.random.default_rng(seed)
    with closing(Store(database)) as store:
        for survey in published:
            store.register(survey)
        accounts = studio_of(store, folder / "studio").accounts
        account = accounts.create(accounts.first_link(), "Ada", PASSWORD)
        assert account is not None
        token = accounts.issue_token(account.id, "study", Role.OWNER)
    flags = ["serve", "--database", database, "--port", "0", "--rate", "off", "--open-rate", "off"]
    studio = running(database, folder / "studio", known=True)
    with started(flags, Path(database)) as served, studio as (address, _):
        headers = {"authorization": f"Bearer {token}"}
        with httpx.Client(base_url=address, headers=headers, timeout=60) as client:
            for survey in published:
                shares = _shares(survey, rng)
                columns = [rng.choice(len(p), respondents, p=p) for p in shares.values()]
                true = np.stack(columns, axis=1).astype(np.uint8)
                send(served.origin, survey, disguise(true, survey.design, rng))
                address = f"api/surveys/{survey.slug}"
                client.post(f"{address}/close", json={"confirm": survey.title}).raise_for_status()
                answer = client.get(f"{address}/results")
                assert answer.status_code == 200, answer.text
                content = answer.json()
                assert content["records"] == respondents
                yield from _intervals(content, shares)


def _shares(survey: Published, rng: np.random.Generator) -> dict[str, Array]:
    return {a.name: rng.dirichlet(np.ones(a.size)) for a in survey.design.schema}


def _intervals(content: dict[str, Any], shares: dict[str, Array]) -> Iterator[ShownInterval]:
    for question in content["questions"]:
        name = question["name"]
        for category, (one, true) in enumerate(zip(question["answers"], shares[name], strict=True)):
            limits = float(true), one["low"], one["high"], one["reported"]
            yield ShownInterval(name, category, *limits)
