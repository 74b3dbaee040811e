"""Imports: names on first use, optional packages by extra, and a warning about our namesake.

`tacit` on the registry is another project; this one is `tacit-survey`. Both install a package
called `tacit`, so installing both mixes their files.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from importlib import import_module
from typing import Any

from tacit.errors import MissingExtraError

#: What `pip install` needs; the import name and the command are `tacit`.
DISTRIBUTION = "tacit-survey"


def warn_about_namesake() -> None:
    """Warn if the distribution `tacit` is installed beside this package or in site-packages.

    It only lists folders: `importlib.metadata` would make importing tacit several times slower.
    """
    sites = [path for path in sys.path if path.endswith(("site-packages", "dist-packages"))]
    beside = os.path.dirname(os.path.dirname(os.path.dirname(__file__)))
    for folder in dict.fromkeys([beside, *sites]):
        try:
            entries = os.listdir(folder)
        except OSError:  # a path that is not there, or a zip file
            continue
        for entry in entries:
            if entry[:5].lower() == "tacit" and _is_namesake(entry.lower()):
                _warn(os.path.join(folder, entry))
                return


def _is_namesake(entry: str) -> bool:
    """Whether a folder or file is the metadata of the distribution `tacit`."""
    name, _, version = entry.removesuffix(".dist-info").removesuffix(".egg-info").partition("-")
    is_metadata = entry.endswith((".dist-info", ".egg-info"))
    return is_metadata and name == "tacit" and (not version or version[0].isdigit())


def _warn(metadata: str) -> None:
    import warnings

    warnings.warn(
        f"the distribution 'tacit' is installed too ({metadata}). It is another project, or a "
        f"version of this one from before it was called {DISTRIBUTION}, and its files overwrite "
        f"ours or ours its. Run: pip uninstall tacit {DISTRIBUTION}, and install {DISTRIBUTION} "
        "again.",
        stacklevel=4,  # the import statement of the user
    )


_PACKAGES = {
    "formula": "formulaic pandas",
    "plot": "matplotlib",
    "postgres": "psycopg",
    "scale": "duckdb ibis",
    "service": (
        "alembic httptools prometheus_client pydantic_settings sqlalchemy starlette structlog "
        "uvicorn uvloop"
    ),
    "spark": "pyspark",
    "studio": "argon2 jinja2 pyreadstat python_multipart typst webauthn",
}
#: The extra that installs a package (`pip install 'tacit-survey[extra]'`), by its import name.
EXTRAS = {name: extra for extra, packages in _PACKAGES.items() for name in packages.split()}


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


def lazy_names(
    package: str, modules: Mapping[str, str], subpackages: str = ""
) -> tuple[Callable[[str], Any], Callable[[], list[str]]]:
    """The `__getattr__` and `__dir__` of a package whose names are imported on first use (PEP 562).

    `import tacit` stays fast, and a survey server never loads the code that reconstructs.
    `modules` maps each module to the names that the package takes from it, separated by spaces:
    they are its `__all__`, unless it has one. `subpackages` are names too. `dir` lists these names
    and no others.
    """
    homes = {name: module for module, names in modules.items() for name in names.split()}
    folders = subpackages.split()
    vars(sys.modules[package]).setdefault("__all__", sorted(homes))

    def load(name: str) -> Any:
        if name in folders:
            return import_module(f"{package}.{name}")
        if name not in homes:
            raise AttributeError(f"module {package!r} has no attribute {name!r}")
        value = getattr(import_module(homes[name]), name)
        setattr(sys.modules[package], name, value)
        return value

    return load, lambda: sorted([*homes, *folders])
