"""The head of a request as RFC 9112 wants it: what the parser lets through is checked here.

Whatever two programs in a row may understand in two ways is refused, so that a proxy and the
service always agree on where a request ends and whom it is for.
"""

from __future__ import annotations

#: Digits that a length may have: more than any that is taken, fewer than Python refuses to read.
MOST_DIGITS = 19
#: What an authority consists of, without a user (RFC 3986, 3.2).
_IN_HOST = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-._~%!$&'()*+;=:[]"
_FRAMING = frozenset({b"host", b"transfer-encoding", b"content-length"})
_OLD, _NEW = "1.0", "1.1"


class NotHttp(Exception):  # noqa: N818
    """The request is not HTTP as it is read here."""


class Head:
    """What the headers of one request say of its framing and its host."""

    __slots__ = ("_chunked", "_hosts", "_wrong")

    def __init__(self) -> None:
        self._hosts, self._chunked, self._wrong = 0, False, False

    def see(self, name: bytes, value: bytes) -> None:
        """One more header; its name is in lower case."""
        if name not in _FRAMING:
            return
        if name == b"host":
            self._hosts += 1
            self._wrong |= bool(value.translate(None, _IN_HOST))
        elif name == b"content-length":
            self._wrong |= len(value) > MOST_DIGITS
        else:
            self._wrong |= self._chunked or value.lower() != b"chunked"
            self._chunked = True

    def check(self, version: str) -> None:
        """NotHttp if the head is not to be understood in one way."""
        hosts = self._hosts == 1 or (self._hosts == 0 and version == _OLD)
        known = version == _NEW or (version == _OLD and not self._chunked)
        if self._wrong or not hosts or not known:
            raise NotHttp
