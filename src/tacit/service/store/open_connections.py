"""The connections that an engine has open, for whoever must reach them from another thread."""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import Any

from sqlalchemy import Engine, event


class OpenConnections:
    """Follows the driver's connections of an engine from their opening to their end.

    Made before anything else listens to the engine, so that a connection is known before it is
    used.
    """

    def __init__(self, engine: Engine) -> None:
        self._lock = threading.RLock()  # a connection may be closed by the garbage collector
        self._open: dict[int, Any] = {}
        event.listen(engine, "connect", self._opened)
        event.listen(engine, "close", self._closes)

    def each(self, act: Callable[[Any], None]) -> None:
        """Do something to every connection; none of them is closed meanwhile."""
        with self._lock:
            for connection in list(self._open.values()):
                act(connection)

    def _opened(self, connection: Any, _: object) -> None:
        with self._lock:
            self._open[id(connection)] = connection

    def _closes(self, connection: Any, _: object) -> None:
        with self._lock:
            self._open.pop(id(connection), None)
