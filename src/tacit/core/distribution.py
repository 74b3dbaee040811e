"""The name on the Python registry, and a warning if the other project of our import name is there.

`tacit` on the registry is another project; this one is `tacit-survey`. Both install a package
called `tacit`, so whoever installs both gets a mixture of their files.
"""

from __future__ import annotations

import os
import sys

#: What `pip install` needs; the import name and the command are `tacit`.
DISTRIBUTION = "tacit-survey"


def warn_about_namesake() -> None:
    """Warn if the distribution `tacit` is installed beside this package or in site-packages.

    It only lists folders: `importlib.metadata` would make importing tacit several times slower.
    """
    sites = [path for path in sys.path if path.endswith(("site-packages", "dist-packages"))]
    for folder in dict.fromkeys([os.path.dirname(os.path.dirname(__file__)), *sites]):
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
