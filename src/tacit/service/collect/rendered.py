"""Answers that were rendered before they are sent: one write, no header looked at again.

Uvicorn checks, lowers and joins every header of every answer, which costs as much as all else
that the application does. Ours are the same bytes each time.
"""

from __future__ import annotations

from typing import Any

from uvicorn.protocols.http.httptools_impl import RequestResponseCycle

from tacit.service.collect.answers import RENDERED


class Cycle(RequestResponseCycle):
    """One request and its answer."""

    _whole = False

    async def send(self, message: Any) -> None:
        """As uvicorn, but an answer that comes rendered is sent whole with its first message."""
        if self._whole:
            return
        rendered = message.get(RENDERED)
        if rendered is None or not self._plain():
            await super().send(message)
            return
        line, rest = rendered
        usual = b"".join(b"%b: %b\r\n" % header for header in self.default_headers)
        self.transport.write(line + usual + rest)
        self.response_started = self.response_complete = self._whole = True
        self.waiting_for_100_continue = False
        self.message_event.set()
        self.on_response()

    def _plain(self) -> bool:
        """Whether nothing stands against writing at once."""
        return (
            self.keep_alive
            and not self.disconnected
            and not self.response_started
            and not self.flow.write_paused
            and self.scope["method"] != "HEAD"
        )
