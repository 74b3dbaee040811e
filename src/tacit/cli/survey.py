"""`tacit survey` and `tacit backup`: survey files, and the surveys of a database."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import date
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any
from urllib.parse import urlsplit

from typer import Argument, Option, echo

from tacit import survey as surveys
from tacit.cli import commands, show
from tacit.cli.arguments import AsJson, DatabaseOption, ModelFile, PublishedFile, open_store
from tacit.cli.notes import note
from tacit.cli.simulate import simulate
from tacit.core.bounds import DesignReports
from tacit.core.channel.numbers import sum_up
from tacit.core.design import Design
from tacit.core.label_codes import absent_cells
from tacit.errors import DataError, FileError, SchemaError, SurveyError
from tacit.output import rounding
from tacit.output.number_text import number_of
from tacit.output.table import Table
from tacit.records import Origin, files, read_text
from tacit.records.paths import SUFFIXES

if TYPE_CHECKING:
    from tacit.privacy import Report


@commands.CommandGroup
def survey_commands() -> None:
    """Start, check and publish a survey file.

    Example: [bold]tacit survey new survey.yaml[/bold]
    """


@survey_commands.command("invite")
def invite(
    *,
    file: PublishedFile,
    n: int = Argument(metavar="N", min=1, max=1_000_000),
    database: DatabaseOption,
    base_url: str,
    out: Path,
) -> None:
    """Make one-time links to a survey and write them to a file that only you can read.

    A link is shown once: only its hash is kept, until it is used.

    Example: [bold]tacit survey invite published.json 200 --database survey.db
    --base-url https://survey.example.org --out links.csv[/bold]

    Parameters
    ----------
    n
        How many links.
    base_url
        Where the survey is served: https://HOST.
    out
        The file of links to write: .csv.
    """
    published = surveys.read_published(file)
    if published.survey.access != "invited":
        raise SurveyError([f"{file}: the survey is open to anyone; links need access: invited"])
    base = _base(base_url)
    if out.suffix.lower() != ".csv":
        raise FileError(f"{out}: links are written as CSV; name it .csv")
    if out.exists():  # its links could not be shown again
        raise FileError(f"{out}: already exists; write to another file")
    files.check_out(out)
    fingerprint = published.survey.fingerprint
    with open_store(database) as store:
        store.register(published)
        tokens = store.invite(fingerprint, n)
        try:
            links = (f"{base}/s/{published.slug}/#{token}\n" for token in tokens)
            files.write_text(out, "link\n" + "".join(links), private=True)
        except BaseException:
            store.revoke(fingerprint, tokens)
            raise
    echo(f"wrote {out}: {number_of(n, 'one-time link')}")


@survey_commands.command("close")
def close(file: PublishedFile, database: DatabaseOption) -> None:
    """Close a survey for good; a running server stops taking answers at once.

    Example: [bold]tacit survey close published.json --database survey.db[/bold]
    """
    fingerprint = surveys.read_published(file).survey.fingerprint
    with open_store(database, there=True) as store:
        store.close_survey(fingerprint)
        records = store.state(fingerprint).records
    echo(f"closed: {number_of(records, 'record')}")


def backup(*, database: DatabaseOption, out: str) -> None:
    """Copy a database as it is at this moment, while it is served.

    The copy is a database itself: serve it, export from it, or copy it back.

    Example: [bold]tacit backup --database survey.db --out backup.db[/bold]

    Parameters
    ----------
    out
        A new file, or the address of an empty database.
    """
    with open_store(database, there=True) as store:
        store.backup(out)
    echo(f"wrote {out.partition('://')[0] + '://...' if '://' in out else out}")


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


# tacit survey export


_STATISTICS = (".sav", ".dta")


@survey_commands.command("export")
def export(
    *,
    file: PublishedFile,
    database: DatabaseOption,
    out: Path,
    labels: bool = False,
    codebook: Path | None = None,
    r_script: Path | None = None,
    texts: Path | None = None,
) -> None:
    """Write the reported records of a survey, in random order.

    The file does not say who answered, when, or by which link. tacit estimate reads it together
    with the published survey, unless it has labels or is for another program.

    Example: [bold]tacit survey export published.json --database survey.db --out reported.csv[/bold]

    Example: [bold]tacit survey export published.json --database survey.db --out reported.sav
    --codebook codebook.md[/bold]

    Parameters
    ----------
    out
        Where to write: .csv, .csv.gz, .parquet, .sav or .dta.
    labels
        Write the texts of answers instead of the names of categories; .sav and .dta always have
        both.
    codebook
        Also write a codebook (Markdown): .md.
    r_script
        Also write an R script that reads the file: .R.
    texts
        Also write the free texts, apart from records: .csv.
    """
    from tacit.studio import record_files

    published = surveys.read_published(file)
    allowed = (*SUFFIXES, *_STATISTICS)
    kind = next((suffix for suffix in allowed if out.name.lower().endswith(suffix)), None)
    if kind is None:
        raise FileError(f"{out}: unknown suffix {out.suffix!r}; allowed: {', '.join(allowed)}")
    for path, suffix in ((codebook, ".md"), (r_script, ".R"), (texts, ".csv")):
        if path is not None and path.suffix.lower() != suffix.lower():
            raise FileError(f"{path}: must be named {suffix}")
        files.check_apart(path, file, out)
    files.check_apart(out, file)
    fingerprint = published.survey.fingerprint
    if texts is not None and not published.survey.free_texts:
        raise DataError(f"{file}: the survey has no free texts; leave out --texts")
    with open_store(database, there=True) as store:
        codes, state = store.codes(fingerprint), store.state(fingerprint)
        free_texts = store.texts(fingerprint)
    if not len(codes):
        raise DataError(f"no answers yet to {file}: nothing to export")
    if labels or kind in _STATISTICS:
        content = record_files.LabelledRecords(published, codes).file(kind, labels)
        files.write_bytes(out, content, private=True)
    else:
        origin = Origin(published.fingerprint, published.title)
        present, absent = absent_cells(codes, published.design.reported)
        with files.writing_records(out, published.design.reported, origin=origin) as write:
            write(present, absent=absent)
    if codebook is not None:
        files.write_text(codebook, record_files.codebook(published, len(codes)))
    if r_script is not None:
        files.write_text(r_script, record_files.r_script(published, out.name, kind, labels))
    echo(f"wrote {out}: {number_of(len(codes), 'record')}")
    if texts is not None:
        files.write_text(texts, Table(("question", "text"), free_texts).csv(), private=True)
        echo(f"wrote {texts}: {number_of(len(free_texts), 'text')}")
    if state.open:
        note("the survey is open; comparing two exports reveals which records arrived in between")


# tacit survey round


@survey_commands.command("round")
def accuracy_round(
    *, file: PublishedFile, model_file: ModelFile, out: Path, theta: str = "3/4"
) -> None:
    """Write a survey in which devices test a model, and report only whether it was right.

    Each device asks what the model needs and what it predicts. These answers never leave it;
    whether the model was right is sent in disguise. The estimated share of yes is the accuracy.

    Example: [bold]tacit survey round published.json tree.json --out round.json[/bold]

    Parameters
    ----------
    out
        The survey file to write: .json.
    theta
        Probability that a device reports the truth, such as 3/4.
    """
    from tacit.studio import accuracy_round as rounds  # scikit-learn is slow to start

    if out.suffix.lower() != ".json":
        raise FileError(f"{out}: the survey is written as JSON; name it .json")
    files.check_apart(out, file, model_file)
    published = surveys.read_published(file)
    try:
        survey = rounds.accuracy_round(published, read_text(model_file), theta)
    except SurveyError as error:
        raise SurveyError([f"--theta: {error.problems[0]}"]) from None
    except FileError as error:
        raise FileError(f"{model_file}: {error}") from None
    assert survey.model is not None
    files.write_text(out, survey.to_json())
    questions = number_of(len(survey.model.questions) + 1, "question")
    echo(f"wrote {out}: {questions} that stay on the device, 1 report whether the model is right")
    echo(f"publish it: tacit survey publish {out} --out published-{out.name}")


# tacit survey status


@survey_commands.command("status")
def status(
    *,
    database: DatabaseOption,
    file: Path | None = Argument(None, metavar="[PUBLISHED]"),
    output: show.Format,
) -> None:
    """Show the surveys of a database: open or closed, records, links issued and unused.

    Example: [bold]tacit survey status --database survey.db[/bold]

    Parameters
    ----------
    file
        A published survey; all if left out.
    """
    chosen = None if file is None else [surveys.read_published(file)]
    summaries: list[dict[str, Any]] = []
    rows = []
    with open_store(database, there=True) as store:
        for published in chosen or store.published():
            state = store.state(published.survey.fingerprint)
            summary = {
                "title": published.title,
                "slug": published.slug,
                "fingerprint": published.fingerprint,
                "survey_fingerprint": published.survey.fingerprint,
                "access": published.survey.access,
                "open": state.open,
                "records": state.records,
                "links_issued": state.issued,
                "links_unused": state.remaining,
            }
            summaries.append(summary)
            invited = published.survey.access == "invited"
            links = (f"{state.issued:,}", f"{state.remaining:,}") if invited else ("", "")
            word, address = "open" if state.open else "closed", f"/s/{published.slug}/"
            rows.append((published.title, address, word, f"{state.records:,}", *links))
    heads = ("survey", "address", "state", "records", "links issued", "links unused")
    columns = {name: [summary[name] for summary in summaries] for name in (summaries or [{}])[0]}
    content = {"tacit": "survey-status", "version": 1, "surveys": summaries}
    output.show(show.Printout(content, [Table(heads, rows, align="lllrrr")], columns))


# survey files


survey_commands.command("simulate")(simulate)

SurveyFile = Annotated[Path, Argument(metavar="SURVEY", help="A survey file (YAML or JSON).")]
_MOST_SHOWN = 12


@survey_commands.command("new")
def new(
    *,
    out: Path = Argument(metavar="OUT"),
    open_to_all: bool = Option(True, "--open/--invited"),
    start: str | None = Option(None, metavar="DAY"),
    end: str | None = Option(None, metavar="DAY"),
    languages: str = "en,de",
) -> None:
    """Write a commented example survey to edit; never overwrites an existing file.

    Example: [bold]tacit survey new survey.yaml --languages en,fr[/bold]

    Example: [bold]tacit survey new survey.yaml --invited --start 2027-03-01[/bold]

    Parameters
    ----------
    out
        The survey file to write.
    open_to_all
        Anyone may answer, or only by a one-time link.
    start
        First day; open at once if left out.
    end
        Last day; open until closed if left out.
    languages
        Languages of the texts: any of en, de, fr, es.
    """
    if out.suffix.lower() not in (".yaml", ".yml"):
        raise FileError(f"{out}: the example is YAML; name it .yaml or .yml")
    if out.exists():
        raise FileError(f"{out}: already exists; write to another file")
    access = "open" if open_to_all else "invited"
    opens, closes = _day("--start", start), _day("--end", end)
    if opens and closes and opens > closes:
        raise SchemaError(f"--end: {end} is before --start {start}")
    spoken = [part.strip() for part in languages.split(",")]
    files.write_text(out, surveys.example(spoken, access, opens, closes))
    echo(f"wrote {out}: edit it, then run: tacit survey check {out}")


def _day(option: str, given: str | None) -> date | None:
    try:
        return None if given is None else date.fromisoformat(given)
    except ValueError:
        raise SchemaError(f"{option}: must be a day such as 2027-03-01, got {given!r}") from None


@survey_commands.command("check")
def check(
    *, file: SurveyFile, respondents: int = Option(1000, min=1), as_json: AsJson = False
) -> None:
    """Check a survey file: list its errors, or show its privacy and the precision to expect.

    Exit status 2, and a line with file, line and place for each problem.

    Example: [bold]tacit survey check survey.yaml --respondents 2000[/bold]

    Parameters
    ----------
    respondents
        How many people you plan to ask.
    """
    from tacit.privacy import report
    from tacit.privacy.report_text import wording_of

    survey = surveys.read_survey(file)
    planned = surveys.widths(survey.design, respondents)
    if not as_json:  # the rest is slow for a large survey
        _render_check(file, survey, planned)
    private = report(survey.design, wording=wording_of(survey))
    if as_json:
        echo(show.json_text(_check_summary(survey, private, planned)))
        return
    out = show.console()
    out.print("How private an answer is:")
    for sentence in (*_waves(survey), *private.sentences):
        out.print(sentence)
    for warning in private.warnings:
        if warning != private.disclosure.warning:
            out.print(f"\nwarning: {warning}")


@survey_commands.command("publish")
def publish_file(*, file: SurveyFile, out: Path) -> None:
    """Freeze a survey with its design; print the design's fingerprint and the page's address.

    What is published is never overwritten; publishing the same again changes nothing.

    Example: [bold]tacit survey publish survey.yaml --out published.json[/bold]

    Parameters
    ----------
    out
        The published survey to write (JSON).
    """
    files.check_apart(out, file)
    survey = surveys.read_survey(file)
    there = out.exists()
    published = surveys.publish(survey, out)
    echo(f"{'unchanged' if there else 'wrote'} {out}")
    echo(f"fingerprint {published.fingerprint}")
    echo(f"address     /s/{published.slug}/")


@survey_commands.command("preview")
def preview(
    *, file: SurveyFile, host: str = "127.0.0.1", port: int = Option(0, min=0, max=65535)
) -> None:
    """Show the page of a survey file in a browser, on any day; nothing is stored.

    Ctrl-C stops it.

    Example: [bold]tacit survey preview survey.yaml[/bold]

    Parameters
    ----------
    host
        Address to listen on.
    port
        Port; 0 for any free one.
    """
    from tacit.collect.server import preview as run

    run(surveys.Published(surveys.read_survey(file)), host, port, _print_addresses)


def _print_addresses(addresses: Sequence[tuple[str, surveys.Published]]) -> None:
    """Print the address; as in an invitation, it has a token if the survey needs one."""
    for address, published in addresses:
        token = "#preview" if published.survey.access == "invited" else ""
        echo(f"preview: nothing is stored; open {address}{token} and stop with Ctrl-C")


@survey_commands.command("schema")
def schema() -> None:
    """Print the JSON Schema of survey files, for editors.

    Example: [bold]tacit survey schema[/bold]
    """
    echo(surveys.json_schema(), nl=False)


def _check_summary(
    survey: surveys.Survey, private: Report, planned: tuple[surveys.Width, ...]
) -> dict[str, Any]:
    design, waves = survey.design, survey.waves or 1
    reports = DesignReports(design, waves=waves)
    shares = {name: private.prior.table([name])[:, 0].tolist() for name in design.schema.names}

    def of_all_waves(epsilon: float | None) -> float | None:
        return None if epsilon is None else sum_up([epsilon] * waves)

    return {
        "tacit": "survey-check",
        "version": 1,
        "fingerprint": design.fingerprint,
        "survey_fingerprint": survey.fingerprint,
        "warnings": list(private.warnings),
        "waves": waves,
        "respondents": planned[0].respondents,
        "attributes": [
            {
                "name": width.attribute,
                "categories": list(design.schema[width.attribute].categories),
                "asked_if": design.asked_if.get(width.attribute),
                "epsilon": of_all_waves(private.epsilon.attributes[width.attribute]),
                "stderr": {"worst": width.worst, "0.1": width.at_tenth, "0.5": width.at_half},
            }
            for width in planned
        ],
        "groups": [
            {
                "attributes": list(group.attributes),
                "coin": group.coin.to_dict(),
                "epsilon": of_all_waves(epsilon),
            }
            for group, epsilon in zip(design.groups, private.epsilon.groups, strict=True)
        ],
        "record": {
            "epsilon": of_all_waves(private.epsilon.record),
            "epsilon_disguised": of_all_waves(private.epsilon_disguised),
            "bound": min(reports.bound(name, p).accuracy for name, p in shares.items()),
        },
        "sentences": [*_waves(survey), *private.sentences],
    }


def _render_check(file: Path, survey: surveys.Survey, planned: tuple[surveys.Width, ...]) -> None:
    from tacit.privacy import prior_of
    from tacit.privacy.report import NOT_KNOWN

    out = show.console()
    if not prior_of(None, survey.design).ties_all:
        out.print(f"warning: {NOT_KNOWN}\n")
    questions = number_of(len(survey.questions), "question")
    attributes = number_of(len(survey.design.schema), "attribute")
    out.print(f"{file}: {questions}, {attributes}, {', '.join(survey.languages)}")
    out.print(f"{survey.terms}; thrown by: {survey.device.replace('_', ' ')}")
    out.print(f"fingerprint {survey.design.fingerprint}\n")
    rows = [
        [q.name, q.kind.replace("_", "/"), "yes" if q.sensitive else "no", _few(q.answers)]
        for q in survey.questions
    ]
    show.print_table(Table(("question", "kind", "sensitive", "answers"), rows, align="llll"))
    for condition in survey.design.conditions:
        out.print(f"{condition.attribute} is asked if {condition}; else it does not apply")
    if survey.design.conditions:
        out.print("“Does not apply” is disguised as any other answer to the question.\n")
    optional = tuple(question.name for question in survey.questions if question.optional)
    if optional:
        out.print(f"optional: {_few(optional)}. Missing answers are visible, not disguised.\n")
    texts = tuple(text.name for text in survey.free_texts or ())
    if texts:  # sent undisguised, like answers to questions that are not sensitive
        apart = "They are not disguised, but stored apart from records."
        out.print(f"free texts: {_few(texts)}. {apart}\n")
    waves = survey.waves or 1
    epsilon = "epsilon" if waves == 1 else f"epsilon, {waves} waves"
    heads = ("group", "attributes", "coin", epsilon)
    show.print_table(Table(heads, _group_rows(survey.design, waves), align="rllr"))
    for meaning in survey.design.report_meanings:
        out.print(meaning)
    out.print()
    rows = []
    for width in planned:
        halves = (width.half(s) for s in (width.at_tenth, width.at_half, width.worst))
        shown = ("not known" if h is None else f"± {100 * h:.1f}" for h in halves)
        rows.append([width.attribute, *shown])
    n = number_of(planned[0].respondents, "respondent")
    title = f"95 % intervals of a share from {n}, in points of 100:"
    show.print_table(Table(("attribute", "share 10 %", "share 50 %", "at worst"), rows, title))


def _waves(survey: surveys.Survey) -> tuple[str, ...]:
    """What all waves together reveal; those sentences that follow are about one."""
    from tacit.survey.disclosure_bound import (
        waves_sentence,  # checks survey files, which loads slowly
    )

    return () if survey.waves is None else (waves_sentence(survey.design, survey.waves),)


def _few(names: tuple[str, ...]) -> str:
    """The first names, and the total number."""
    if len(names) <= _MOST_SHOWN:
        return ", ".join(names)
    return f"{', '.join(names[:_MOST_SHOWN])}, ... ({len(names):,} in all)"


def _group_rows(design: Design, waves: int) -> list[list[str]]:
    def epsilon(names: tuple[str, ...]) -> str:
        return rounding.epsilon(sum_up([design.channel(names).epsilon] * waves))

    rows = [
        [str(number), _few(group.attributes), str(group.coin), epsilon(group.attributes)]
        for number, group in enumerate(design.groups, start=1)
    ]
    disguised = [g for g in design.groups if g.disguised]
    if 0 < len(disguised) < len(design.groups):
        names = tuple(name for group in disguised for name in group.attributes)
        rows.append(["", "all disguised answers", "", epsilon(names)])
    return [*rows, ["", "the whole record", "", epsilon(design.schema.names)]]
