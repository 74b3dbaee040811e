"""A transport that sends head and body of an answer together.

Uvicorn writes them one after the other, and each write is a call of the operating system: half of
all that an answer costs. Writes of one turn of the event loop are sent at its end, in one call.
"""

from __future__ import annotations

import asyncio
from typing import Any


class Corked:
    """What uvicorn uses of a transport, with writes gathered."""

    __slots__ = ("_gathered", "_loop", "_transport")

    def __init__(self, transport: asyncio.Transport, loop: asyncio.AbstractEventLoop) -> None:
        self._transport, self._loop = transport, loop
        self._gathered: list[bytes] = []

    def write(self, data: bytes) -> None:
        """Send this with what else is written in this turn."""
        if not self._gathered:
            self._loop.call_soon(self._flush)
        self._gathered.append(data)

    def close(self) -> None:
        """Send what was written, then close."""
        self._flush()
        self._transport.close()

    def _flush(self) -> None:
        if self._gathered:
            gathered, self._gathered = self._gathered, []
            if not self._transport.is_closing():
                self._transport.write(b"".join(gathered))

    def is_closing(self) -> bool:
        """Whether it is closed or about to be."""
        return self._transport.is_closing()

    def get_extra_info(self, name: str, default: Any = None) -> Any:
        """What the transport knows, such as its peer."""
        return self._transport.get_extra_info(name, default)

    def pause_reading(self) -> None:
        """Take nothing more for now."""
        self._transport.pause_reading()

    def resume_reading(self) -> None:
        """Take more."""
        self._transport.resume_reading()
