"""`tacit page`: the hashes of the respondent's page, and whether a server sends that page."""

from __future__ import annotations

import hashlib
from typing import Any

from typer import Argument, Exit

from tacit import __version__
from tacit.cli import commands, show
from tacit.output.number_text import number_of
from tacit.output.table import Table


@commands.CommandGroup
def page_commands() -> None:
    """Check that a server sends the respondent's page as it was released.

    Example: [bold]tacit page verify https://survey.example.org/s/0123456789abcdef/[/bold]
    """


@page_commands.command("manifest")
def manifest(*, output: show.Format) -> None:
    """Print the hash of every file of the respondent's page, as this version of tacit serves it.

    The hashes are written as in the page's integrity attributes. --json adds them in hexadecimal,
    as sha256sum prints them.

    Example: [bold]tacit page manifest[/bold]
    """
    from tacit.collect import page

    files: dict[str, dict[str, Any]] = {}
    for name, data in page.manifest().items():
        digest = hashlib.sha256(data).hexdigest()
        files[name] = {"integrity": page.integrity(data), "sha256": digest, "bytes": len(data)}
    content = {"tacit": "page-manifest", "version": __version__, "files": files}
    rows = [(name, file["integrity"]) for name, file in files.items()]
    output.show(show.Printout(content, [Table(("file", "integrity"), rows, align="ll")]))


@page_commands.command("verify")
def verify(*, url: str = Argument(metavar="URL"), output: show.Format) -> None:
    """Fetch a survey's page with all its files and compare it with the page of this version.

    Exit status 0: the server sends the released page; 1: it does not.

    Example: [bold]tacit page verify https://survey.example.org/s/0123456789abcdef/[/bold]

    Parameters
    ----------
    url
        The address of a survey's page.
    """
    from tacit.collect import verification

    checks, allowed = verification.verify(url), verification.ALLOWED_HEADERS
    wrong = sum(not finding.right for finding in checks)
    verdict = f"The server sent the page of tacit {__version__}."
    if wrong:
        verdict = (
            f"{number_of(wrong, 'difference')} from the page of tacit {__version__}. If the "
            "server runs another version, check with that version; otherwise do not answer "
            "there."
        )
    below = [verdict]
    if any("not allowed" in finding.told for finding in checks):
        below.insert(0, f"Headers that are allowed: {', '.join(allowed)}.")
    content = {
        "tacit": "page-verification",
        "version": __version__,
        "right": not wrong,
        "allowed_headers": allowed,
        "findings": [vars(finding) for finding in checks],
    }
    rows = [(check.name, "ok" if check.right else "WRONG", check.told) for check in checks]
    table = Table(("checked", "", "found"), rows, align="lll")
    output.show(show.Printout(content, [table], below=below))
    if wrong:
        raise Exit(1)
