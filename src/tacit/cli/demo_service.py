"""The service in `tacit demo`: a survey is published, served, answered over HTTP and estimated."""

from __future__ import annotations

import re
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path
from typing import IO, TYPE_CHECKING, Any

import numpy as np

from tacit.arrays import Codes
from tacit.cli.respondents import send
from tacit.errors import ServiceError
from tacit.record_disguise import disguise
from tacit.schema import Schema

if TYPE_CHECKING:
    from tacit.survey import Published

#: The question that is asked over HTTP.
ASKED = "marital"
#: How many people are asked.
RESPONDENTS = 400
_SECONDS = 60.0


class Service:
    """A server of its own that is starting; `collect` needs it and waits for it."""

    def __init__(self, folder: Path, published: Published) -> None:
        self.published = published
        self._database = folder / "tacit.db"
        self._log = (folder / "log").open("w+")
        arguments = [str(folder / "published.json"), "--database", str(self._database)]
        self._process = subprocess.Popen(
            [sys.executable, "-m", "tacit", "serve", *arguments, "--port", "0", "--rate", "off"],
            stdout=subprocess.PIPE,
            stderr=self._log,
            text=True,
        )

    def collect(self, reported: Codes) -> Codes:
        """Send records over HTTP, stop the server, and return what it stored."""
        from tacit.service.store import Store

        send(self._url(), self.published, reported)
        self._process.terminate()
        self._process.wait(_SECONDS)
        with closing(Store(self._database)) as store:
            return store.codes(self.published.survey.fingerprint)

    def end(self) -> None:
        """Leave nothing running."""
        if self._process.poll() is None:
            self._process.kill()
        self._process.wait(_SECONDS)
        if self._process.stdout is not None:
            self._process.stdout.close()
        self._log.close()

    def _url(self) -> str:
        output: IO[str] | None = self._process.stdout
        line = output.readline() if output is not None else ""
        found = re.search(r"http://[\d.]+:\d+", line)
        if found is None:
            self._log.seek(0)
            raise ServiceError(f"the service did not start: {self._log.read().strip()}")
        return found[0]


@contextmanager
def serving(schema: Schema) -> Iterator[Service]:
    """Publish a survey of one attribute and start a server for it, with a database of its own."""
    from tacit.survey import publish, survey_from_dict

    with tempfile.TemporaryDirectory() as folder:
        published = publish(survey_from_dict(_survey(schema)), Path(folder) / "published.json")
        service = Service(Path(folder), published)
        try:
            yield service
        finally:
            service.end()


def answers(true: Codes, schema: Schema, service: Service, seed: int) -> tuple[Codes, Codes]:
    """True records of those who are asked, and what each one's own device reports."""
    asked = true[:RESPONDENTS, [schema.index(ASKED)]]
    return asked, disguise(asked, service.published.design, np.random.default_rng(seed))


def _survey(schema: Schema) -> dict[str, Any]:
    """The file that `tacit survey publish` would read."""
    question = {
        "name": ASKED,
        "kind": "choice",
        "text": "Are you married?",
        "categories": list(schema[ASKED].categories),
    }
    group = {"questions": [ASKED], "family": "uniform_perturbation", "q": "2/3"}
    return {"title": "Marriage", "questions": [question], "groups": [group]}
