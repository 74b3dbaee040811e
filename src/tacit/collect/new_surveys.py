"""NewSurveys: serves surveys that were published after the server was started.

The address of an unknown survey makes the server look into the database, at most once per second
whatever arrives, so that nobody can load the database with invented addresses. All requests that
arrive during a look wait for its result.
"""

from __future__ import annotations

import asyncio
import re
import time
from collections.abc import Awaitable, Callable, Collection, MutableMapping, Sequence

from starlette.types import ASGIApp

from tacit.survey import Published
from tacit.survey.published import SLUG_LETTERS

#: The surveys in the database except those with these fingerprints.
SurveySource = Callable[[Collection[str]], Awaitable[Sequence[Published]]]

LOOK_SECONDS = 1.0
_ADDRESS = re.compile(rf"/s/[0-9a-f]{{{SLUG_LETTERS}}}(/|/survey\.json|/responses)?")


class NewSurveys:
    """Adds the addresses of new surveys to those that are served."""

    def __init__(
        self,
        source: SurveySource,
        addresses: MutableMapping[str, ASGIApp],
        of_survey: Callable[[Published], dict[str, ASGIApp]],
        known: Collection[Published],
    ) -> None:
        self._source, self._addresses, self._of_survey = source, addresses, of_survey
        self._known = {survey.survey.fingerprint for survey in known}
        self._not_before = 0.0
        self._look: asyncio.Task[None] | None = None

    async def find(self, path: str) -> ASGIApp | None:
        """What answers an address that was unknown so far; None if it is still unknown."""
        if not _ADDRESS.fullmatch(path):
            return None
        if self._look is None and time.monotonic() >= self._not_before:
            self._look = asyncio.create_task(self._add())
        if self._look is not None:
            await asyncio.shield(self._look)  # a client that leaves does not end it
        return self._addresses.get(path)

    async def _add(self) -> None:
        try:
            for survey in await self._source(self._known):
                self._addresses.update(self._of_survey(survey))
                self._known.add(survey.survey.fingerprint)
        finally:
            self._not_before = time.monotonic() + LOOK_SECONDS
            self._look = None
