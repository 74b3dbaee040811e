"""Records in PostgreSQL: a table of labels, or the responses that a survey service stored.

postgresql://USER@HOST/NAME#TABLE   a table, or SCHEMA.TABLE, counted through Ibis
postgresql://USER@HOST/NAME         the database of the service, which packs the codes of a
                                    response into bytes: they are counted as they are
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any
from weakref import finalize

import numpy as np

from tacit.core.arrays import Codes
from tacit.core.design import Design
from tacit.core.imports import optional_imports
from tacit.core.schema import Schema
from tacit.errors import DataError, EngineError, MissingAnswersError, unknown
from tacit.records.patterns import CountEngine, PatternsBy, PatternTable, sorted_patterns

with optional_imports():
    import psycopg

#: Seconds to wait for the database.
_PATIENCE = 10
_ROWS = 1 << 16


def database_records(url: str, schema: Schema, design: Design | None) -> CountEngine:
    """The records at a URL; responses of the service are those of the design given."""
    address, _, table = url.partition("#")
    if table:
        return _table_records(address, table, schema)
    if design is None:
        raise DataError(f"{shown(url)}: which table? give it as {shown(url)}#TABLE")
    return StoredResponses(address, schema, design.fingerprint)


def shown(url: str) -> str:
    """The address without user, password and parameters."""
    scheme, _, rest = url.partition("://")
    host = rest.partition("#")[0].partition("?")[0].rpartition("@")[2]
    return f"{scheme}://{host}"


@contextmanager
def reaching(url: str) -> Iterator[None]:
    """Turn errors of the database into one line."""
    try:
        yield
    except psycopg.Error as error:
        reason = next(iter(str(error).strip().splitlines()), type(error).__name__)
        raise EngineError(f"{shown(url)}: the database does not answer: {reason}") from None


def _table_records(url: str, name: str, schema: Schema) -> CountEngine:
    """A table of labels; the connection is closed when nobody needs it any more."""
    with optional_imports():
        import ibis

        from tacit.records.ibis_engine import IbisRecords
    with reaching(url):
        connection = psycopg.connect(url, connect_timeout=_PATIENCE, autocommit=True)
        backend: Any = ibis.postgres.from_connection(connection)
    finalize(backend, connection.close)
    space, _, bare = name.rpartition(".")
    try:
        table = backend.table(bare, database=space or None)
    except Exception as error:
        with reaching(url):
            tables = backend.list_tables(database=space or None)
        if bare in tables:
            raise EngineError(f"{shown(url)}: {error}") from error
        raise DataError(f"{shown(url)}: {unknown('table', bare, tables)}") from None
    return IbisRecords(table, schema)


class StoredResponses(CountEngine):
    """The responses to a survey in the database of its service, as they are at this moment.

    The checksums of single records are not compared here: `tacit survey export` does that.
    """

    def __init__(self, url: str, schema: Schema, design: str) -> None:
        super().__init__(schema)
        self._url = url
        self._number, self._records = self._survey(design)

    def patterns(self, names: Sequence[str] | None = None) -> PatternTable:
        sql = "SELECT codes, count(*) FROM responses WHERE survey = %s GROUP BY codes"
        with reaching(self._url), self._connected() as connection:
            rows = connection.execute(sql, [self._number]).fetchall()
        counts = np.array([n for _, n in rows], np.int64)
        table = sorted_patterns(self.schema, self._unpacked([codes for codes, _ in rows]), counts)
        if table.n_records < self._records:
            left = f"{table.n_records:,} of {self._records:,}"
            raise EngineError(f"{shown(self._url)}: only {left} records are left; restore a backup")
        return table if names is None else table.subset(names)

    def patterns_by(self, columns: Sequence[str]) -> PatternsBy:
        raise DataError(f"{shown(self._url)}: the service stores no undisguised columns")

    def blocks(self) -> Iterator[Codes]:
        sql = "SELECT codes FROM responses WHERE survey = %s"
        with (
            reaching(self._url),
            self._connected() as connection,
            connection.cursor(name="responses") as cursor,
        ):
            cursor.execute(sql, [self._number])
            while rows := cursor.fetchmany(_ROWS):
                yield self._unpacked([codes for (codes,) in rows])

    def n_records(self) -> int | None:
        return self._records

    @contextmanager
    def _connected(self) -> Iterator[Any]:
        with psycopg.connect(self._url, connect_timeout=_PATIENCE) as connection:
            connection.execute("SET TRANSACTION READ ONLY")
            yield connection

    def _survey(self, design: str) -> tuple[int, int]:
        """The number of the survey with this design, and how many records it has."""
        sql = "SELECT number, records, published FROM surveys ORDER BY number"
        try:
            with reaching(self._url), self._connected() as connection:
                rows = connection.execute(sql).fetchall()
        except EngineError as error:
            if "surveys" not in str(error):
                raise
            hint = f"give a table as {shown(self._url)}#TABLE"
            raise DataError(f"{shown(self._url)}: is no database of the service; {hint}") from None
        surveys = [row for row in rows if Design.from_json(row[2]).fingerprint == design]
        if len(surveys) != 1:
            many = "no survey" if not surveys else f"{len(surveys)} surveys"
            raise DataError(f"{shown(self._url)}: has {many} with this design; need one")
        number, n_records, _ = surveys[0]
        if not n_records:
            raise DataError(f"{shown(self._url)}: the survey has no answers yet")
        return number, n_records

    def _unpacked(self, stored: Sequence[bytes]) -> Codes:
        """Codes take one byte each, or two; the one after the last category is a missing answer."""
        width, sizes = len(self.schema), np.array(self.schema.sizes)
        joined = b"".join(stored)
        kind = np.dtype("<u2" if len(joined) == 2 * width * len(stored) else "u1")
        if any(len(record) != width * kind.itemsize for record in stored):
            raise EngineError(f"{shown(self._url)}: a record does not have {width} attributes")
        codes = np.frombuffer(joined, kind).reshape(len(stored), width)
        if (codes > sizes).any():
            raise EngineError(f"{shown(self._url)}: a code is not a category of its attribute")
        absent = (codes == sizes).any(axis=0)
        if absent.any():
            name = self.schema.names[int(absent.argmax())]
            raise MissingAnswersError(
                f"{shown(self._url)}: attribute {name!r} has missing answers; this needs complete "
                "records: export them and leave out those with missing answers"
            )
        return codes.astype(kind.newbyteorder("="), copy=False)
