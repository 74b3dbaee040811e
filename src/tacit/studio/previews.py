"""Previews: the respondent's page of a draft at a secret address; nothing of it is stored.

The page of respondents sends no cookies, so a preview cannot ask who looks at it. Its address
contains a random secret instead, which only those who made the preview know.
"""

from __future__ import annotations

import secrets
import time
from collections import OrderedDict
from collections.abc import Callable
from dataclasses import dataclass, field
from threading import Lock

from tacit.survey import Published

#: Seconds for which a preview works, and how many there may be.
PREVIEW_SECONDS, MOST_PREVIEWS = 3600.0, 50


@dataclass
class Previews:
    """Surveys by the secret in their address, in memory only."""

    now: Callable[[], float] = time.monotonic
    _kept: OrderedDict[str, tuple[float, Published]] = field(default_factory=OrderedDict)
    _lock: Lock = field(default_factory=Lock)

    def add(self, survey: Published) -> str:
        """The secret of a new preview; it is open on any day."""
        terms = {"opens": None, "closes": None, "quota": None}
        shown = Published(survey.survey.model_copy(update=terms))
        secret = secrets.token_urlsafe(24)
        with self._lock:
            self._kept[secret] = (self.now() + PREVIEW_SECONDS, shown)
            while len(self._kept) > MOST_PREVIEWS:
                self._kept.popitem(last=False)
        return secret

    def get(self, secret: str) -> Published | None:
        """The survey of a preview; None if there is none, or no longer."""
        with self._lock:
            until, survey = self._kept.get(secret, (0.0, None))
            return survey if self.now() < until else None
