"""Optional packages: which extra installs each, and the error if one is missing."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from tacit.core.distribution import DISTRIBUTION
from tacit.errors import MissingExtraError

#: The extra that installs a package (`pip install 'tacit-survey[extra]'`), by its import name.
EXTRAS = {
    "alembic": "service",
    "argon2": "studio",
    "duckdb": "scale",
    "formulaic": "formula",
    "httptools": "service",
    "ibis": "scale",
    "jinja2": "studio",
    "matplotlib": "plot",
    "pandas": "formula",
    "prometheus_client": "service",
    "psycopg": "postgres",
    "pydantic_settings": "service",
    "pyreadstat": "studio",
    "pyspark": "spark",
    "python_multipart": "studio",
    "sqlalchemy": "service",
    "starlette": "service",
    "structlog": "service",
    "typst": "studio",
    "uvicorn": "service",
    "uvloop": "service",
    "webauthn": "studio",
}


@contextmanager
def optional_imports() -> Iterator[None]:
    """Turn the failed import of an optional package into an error that says what to install."""
    try:
        yield
    except ModuleNotFoundError as error:
        package = str(error.name).partition(".")[0]
        if package not in EXTRAS:
            raise
        raise MissingExtraError(
            f"{package} is not installed; run: pip install '{DISTRIBUTION}[{EXTRAS[package]}]'"
        ) from None
