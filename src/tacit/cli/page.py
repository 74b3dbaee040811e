"""`tacit page`: the hashes of the respondent's page, and whether a server sends that page."""

from __future__ import annotations

import hashlib
from typing import Annotated

import typer

from tacit import __version__
from tacit.cli import show
from tacit.cli.arguments import AsJson, command_group
from tacit.output.number_text import number_of
from tacit.output.table import Table

page_commands = command_group(
    "Check that a server sends the respondent's page as it was released.\n\n"
    "Example: [bold]tacit page verify https://survey.example.org/s/0123456789abcdef/[/bold]"
)

#: The page is not the released one.
DIFFERS = 1


@page_commands.command("manifest")
def manifest(as_json: AsJson = False) -> None:
    """Print the hash of every file of the respondent's page, as this version of tacit serves it.

    The hashes are written as in the page's integrity attributes. --json adds them in hexadecimal,
    as sha256sum prints them.

    Example: [bold]tacit page manifest[/bold]
    """
    from tacit.collect.page import integrity
    from tacit.collect.page import manifest as page_files

    sent = page_files()
    if as_json:
        files = {
            name: {
                "integrity": integrity(data),
                "sha256": hashlib.sha256(data).hexdigest(),
                "bytes": len(data),
            }
            for name, data in sent.items()
        }
        told = {"tacit": "page-manifest", "version": __version__, "files": files}
        typer.echo(show.json_text(told))
        return
    rows = [(name, integrity(data)) for name, data in sent.items()]
    show.console().print(show.table(Table(("file", "integrity"), rows, align="ll")))


@page_commands.command("verify")
def verify(
    url: Annotated[str, typer.Argument(metavar="URL", help="The address of a survey's page.")],
    as_json: AsJson = False,
) -> None:
    """Fetch a survey's page with all its files and compare it with the page of this version.

    Exit status 0: the server sends the released page; 1: it does not.

    Example: [bold]tacit page verify https://survey.example.org/s/0123456789abcdef/[/bold]
    """
    from tacit.collect.verification import ALLOWED_HEADERS
    from tacit.collect.verification import verify as found_at

    found = found_at(url)
    wrong = sum(not finding.right for finding in found)
    if as_json:
        told = {"tacit": "page-verification", "version": __version__, "right": not wrong}
        told["allowed_headers"] = ALLOWED_HEADERS
        typer.echo(show.json_text({**told, "findings": [vars(finding) for finding in found]}))
    else:
        rows = [(f.name, "ok" if f.right else "WRONG", f.told) for f in found]
        out = show.console()
        out.print(show.table(Table(("checked", "", "found"), rows, align="lll")))
        said = f"The server sent the page of tacit {__version__}."
        if wrong:
            said = (
                f"{number_of(wrong, 'difference')} from the page of tacit {__version__}. If the "
                "server runs another version, check with that version; otherwise do not answer "
                "there."
            )
        if any("not allowed" in finding.told for finding in found):
            out.print(f"Headers that are allowed: {', '.join(ALLOWED_HEADERS)}.")
        out.print(said)
    if wrong:
        raise typer.Exit(DIFFERS)
