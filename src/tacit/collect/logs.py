"""Structured logs: start, stop, errors and counts; never a submission, an address or a key."""

from __future__ import annotations

import asyncio
import logging
import sys
import time
import traceback
from pathlib import Path
from typing import Any

import structlog

#: Below this level uvicorn logs every malformed request.
_UVICORN_LEVEL = logging.ERROR
#: Seconds between two log lines of a frequent event.
_REPEAT = 60.0


def set_up(kind: str = "auto") -> None:
    """Log to standard error as `json` or `console`; `auto` is console on a terminal, else json."""
    for_people = kind == "console" or (kind == "auto" and sys.stderr.isatty())
    last: Any = (
        structlog.dev.ConsoleRenderer() if for_people else structlog.processors.JSONRenderer()
    )
    faults: list[Any] = [] if for_people else [structlog.processors.format_exc_info]
    shared: list[Any] = [
        structlog.processors.add_log_level,
        structlog.processors.TimeStamper(fmt="iso", utc=True),
    ]
    structlog.configure(
        processors=[*shared, *faults, last],
        logger_factory=structlog.PrintLoggerFactory(sys.stderr),
        cache_logger_on_first_use=False,
    )
    _adopt_uvicorn([*shared, structlog.stdlib.ExtraAdder()], [*faults, last])


def log() -> Any:
    """The service's logger."""
    return structlog.get_logger()


class OncePerMinute:
    """Limits a log event to one line per minute."""

    def __init__(self) -> None:
        self._next = 0.0

    def now(self) -> bool:
        """Whether a line may be logged now."""
        now = time.monotonic()
        if now < self._next:
            return False
        self._next = now + _REPEAT
        return True


def fault(error: BaseException) -> None:
    """Log the type and place of an unexpected error; not its message, which may hold data."""
    calls = traceback.extract_tb(error.__traceback__)
    where = [f"{Path(call.filename).name}:{call.lineno}" for call in calls]
    log().error("fault", kind=type(error).__name__, where=where)


def loop_fault(loop: asyncio.AbstractEventLoop, context: dict[str, Any]) -> None:
    """`fault` as the exception handler of an event loop."""
    fault(context.get("exception") or RuntimeError())


def _adopt_uvicorn(before: list[Any], after: list[Any]) -> None:
    """Log uvicorn's errors in the same format; switch its access log off."""
    formatter = structlog.stdlib.ProcessorFormatter(
        foreign_pre_chain=before,
        processors=[structlog.stdlib.ProcessorFormatter.remove_processors_meta, *after],
    )
    handler = logging.StreamHandler(sys.stderr)
    handler.setFormatter(formatter)
    errors = logging.getLogger("uvicorn.error")
    errors.handlers, errors.propagate = [handler], False
    errors.setLevel(_UVICORN_LEVEL)
    access = logging.getLogger("uvicorn.access")
    access.handlers, access.propagate = [], False
