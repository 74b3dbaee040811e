"""The system's limit of open files: each connection takes one, and who comes beyond it is lost."""

from __future__ import annotations

import errno
import os

from tacit.service.collect import logs

_HIT = (errno.EMFILE, errno.ENFILE)


def allow_files(wanted: int) -> str | None:
    """Ask the system for so many open files; a warning if it allows fewer."""
    try:
        import resource
    except ImportError:  # not on Windows
        return None
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    most = wanted if hard == resource.RLIM_INFINITY else min(wanted, hard)
    if most > soft != resource.RLIM_INFINITY:
        resource.setrlimit(resource.RLIMIT_NOFILE, (most, hard))
    if most >= wanted:
        return None
    return (
        f"the system allows this process {hard:,} open files, {wanted:,} are needed for all "
        "connections: raise the limit (ulimit -n, LimitNOFILE in systemd) or lower --connections"
    )


class FileWatch:
    """Logs, once a minute at most, that no file can be opened."""

    def __init__(self) -> None:
        self._once_per_minute = logs.OncePerMinute()

    def look(self) -> None:
        """Try whether a connection could be accepted now."""
        try:
            os.close(os.dup(0))
        except OSError as error:
            if error.errno in _HIT and self._once_per_minute.now():
                logs.log().error("out-of-files", why=os.strerror(error.errno))
