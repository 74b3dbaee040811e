"""Every error that tacit raises for a mistake of its user.

    TacitError                    the root: catch this one
    ├── SchemaError               an attribute or category is malformed or unknown
    ├── DesignError               groups or coins do not make a design
    │   └── SingularChannelError  the true distribution cannot be estimated
    ├── DataError                 records do not fit the schema or the design
    │   └── MissingAnswersError   records have missing answers where they must be complete
    ├── FileError                 a file is unreadable, truncated or of a newer version
    │   └── SurveyError           a survey file has problems, each with its line
    ├── StoreError                a database of responses cannot be used
    │   ├── Busy                  too many responses are waiting; try again soon
    │   └── Unavailable           the database does not answer; nothing was acknowledged
    ├── ServiceError              the service cannot run: a setting, a port
    ├── EngineError               a database or a cluster could not count
    ├── MemoryLimitError          the work needs more memory than it may take
    └── MissingExtraError         an optional package is not installed

Each message says what was wrong, where, and what is allowed.
"""

from __future__ import annotations

import difflib
from collections.abc import Iterable


class TacitError(ValueError):
    """Root of tacit's errors."""

    @property
    def problems(self) -> tuple[str, ...]:
        """The problems, one message each."""
        return (str(self),)


class SchemaError(TacitError):
    """An attribute or category is malformed or unknown."""


class DesignError(TacitError):
    """Groups or coins do not make a design."""


class SingularChannelError(DesignError):
    """A channel carries no information about the true answers."""


class DataError(TacitError):
    """Records do not fit the schema or the design."""


class MissingAnswersError(DataError):
    """Records have missing answers where they must be complete."""


class FileError(TacitError):
    """A file is unreadable, truncated or of a newer version."""


class SurveyError(FileError):
    """A survey file has problems, one per line of the message."""

    def __init__(self, problems: Iterable[str]) -> None:
        super().__init__("\n".join(" ".join(problem.split()) for problem in problems))

    @property
    def problems(self) -> tuple[str, ...]:
        """Each problem with its file, line and place."""
        return tuple(str(self).split("\n"))


class StoreError(TacitError):
    """A database of responses cannot be used."""


class Busy(StoreError):  # noqa: N818
    """Too many responses are waiting; send the same one again soon."""


class Unavailable(StoreError):  # noqa: N818
    """The database does not answer; sending the same response again stores it once."""


class ServiceError(TacitError):
    """The service cannot run: a setting is wrong, a port is taken."""


class EngineError(TacitError):
    """A database or a cluster could not count: it was lost, or it refused the query."""


class MemoryLimitError(TacitError):
    """The work needs more memory than it may take."""


class MissingExtraError(TacitError):
    """An optional package is not installed; the message names the extra that installs it."""


def unknown(kind: str, name: object, known: Iterable[object], where: str = "") -> str:
    """Message for an unknown name; suggests the nearest known one.

    >>> unknown("attribute", "smoke", ["smokes", "income"])
    "unknown attribute 'smoke'; did you mean 'smokes'?"
    """
    allowed = list(dict.fromkeys(str(item) for item in known))
    near = difflib.get_close_matches(str(name), allowed, n=1)
    if near:
        hint = f"did you mean {near[0]!r}?"
    else:
        shown = ", ".join(repr(item) for item in allowed[:12])
        hint = f"known: {shown}" + (", ..." if len(allowed) > 12 else "")
    return f"unknown {kind} {name!r}{where}; {hint}"
