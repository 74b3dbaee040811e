"""`tacit survey invite` and `close`, `tacit backup`: commands on a database."""

from __future__ import annotations

from contextlib import closing
from pathlib import Path
from typing import TYPE_CHECKING, Annotated
from urllib.parse import urlsplit

import typer

from tacit.errors import FileError, SurveyError
from tacit.output.number_text import number_of
from tacit.records import check_out, write_text

if TYPE_CHECKING:
    from tacit.collect.store import Store

PublishedFile = Annotated[
    Path, typer.Argument(metavar="PUBLISHED", help="A published survey (JSON).")
]
DatabaseOption = Annotated[
    str, typer.Option(envvar="TACIT_DATABASE", help="A file, or postgresql://USER@HOST/NAME.")
]
_MOST_LINKS = 1_000_000


def invite(
    file: PublishedFile,
    n: Annotated[int, typer.Argument(metavar="N", min=1, max=_MOST_LINKS, help="How many links.")],
    database: DatabaseOption,
    base_url: Annotated[str, typer.Option(help="Where the survey is served: https://HOST.")],
    out: Annotated[Path, typer.Option(help="The file of links to write: .csv.")],
) -> None:
    """Make one-time links to a survey and write them to a file that only you can read.

    A link is shown once: only its hash is kept, until it is used.

    Example: [bold]tacit survey invite published.json 200 --database survey.db
    --base-url https://survey.example.org --out links.csv[/bold]
    """
    from tacit.survey import read_published

    published = read_published(file)
    if published.survey.access != "invited":
        raise SurveyError([f"{file}: the survey is open to anyone; links need access: invited"])
    base = _base(base_url)
    if out.suffix.lower() != ".csv":
        raise FileError(f"{out}: links are written as CSV; name it .csv")
    if out.exists():  # its links could not be shown again
        raise FileError(f"{out}: already exists; write to another file")
    check_out(out)
    fingerprint = published.survey.fingerprint
    with open_store(database) as store:
        store.register(published)
        tokens = store.invite(fingerprint, n)
        try:
            links = (f"{base}/s/{published.slug}/#{token}\n" for token in tokens)
            write_text(out, "link\n" + "".join(links), private=True)
        except BaseException:
            store.revoke(fingerprint, tokens)
            raise
    typer.echo(f"wrote {out}: {number_of(n, 'one-time link')}")


def close(file: PublishedFile, database: DatabaseOption) -> None:
    """Close a survey for good; a running server stops taking answers at once.

    Example: [bold]tacit survey close published.json --database survey.db[/bold]
    """
    from tacit.survey import read_published

    fingerprint = read_published(file).survey.fingerprint
    with open_store(database, there=True) as store:
        store.close_survey(fingerprint)
        records = store.state(fingerprint).records
    typer.echo(f"closed: {number_of(records, 'record')}")


def backup(
    database: DatabaseOption,
    out: Annotated[str, typer.Option(help="A new file, or an empty postgresql:// database.")],
) -> None:
    """Copy a database as it is at this moment, while it is served.

    The copy is a database itself: serve it, export from it, or copy it back.

    Example: [bold]tacit backup --database survey.db --out backup.db[/bold]
    """
    with open_store(database, there=True) as store:
        store.backup(out)
    typer.echo(f"wrote {out.partition('://')[0] + '://...' if '://' in out else out}")


def open_store(url: str, there: bool = False) -> closing[Store]:
    """The database of responses, for a with statement; with `there`, it must exist."""
    from tacit.collect.store import Store

    return closing(Store(url, must_exist=there))


def _base(url: str) -> str:
    """The server's address, without a slash at its end."""
    try:
        parts = urlsplit(url)
        sound = parts.scheme in ("http", "https") and parts.hostname and parts.port != 0
    except ValueError:
        sound = False
    if not sound or parts.query or parts.fragment or any(letter.isspace() for letter in url):
        raise FileError(f"--base-url {url}: must be an address such as https://survey.example.org")
    return url.rstrip("/")
