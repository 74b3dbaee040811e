"""`tacit design`: check a design file, or start one from data."""

from __future__ import annotations

import math
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from rich.text import Text
from typer import Option, echo

from tacit import Design, Group, Schema, related
from tacit.cli import commands, show
from tacit.cli.arguments import DataFile, DesignFile, split
from tacit.core.frames import is_numeric
from tacit.core.schema import quantiles
from tacit.errors import SchemaError, unknown
from tacit.output import rounding
from tacit.output.number_text import number_of
from tacit.output.table import Table
from tacit.records import check_apart, read_design, read_frame, write_text


@commands.CommandGroup
def design_commands() -> None:
    """Check a design file, or start one from data.

    Example: [bold]tacit design check survey.json[/bold]
    """


@design_commands.command("check")
def check(*, file: DesignFile, output: show.Format) -> None:
    """Show the privacy that a design gives respondents and its cost to the analyst.

    Exit status 2 if the file is not a design, or if a group cannot be reconstructed.

    Example: [bold]tacit design check survey.json[/bold]
    """
    design = read_design(file)
    output.say(f"{file}: {_parts(design)}", f"fingerprint {design.fingerprint}\n")
    output.show(summary(design))
    _require_reconstructable(design)


@design_commands.command("new")
def new(
    *,
    data: DataFile,
    out: Path,
    theta: str = "0.7",
    columns: str | None = None,
    bins: int | None = Option(None, min=2),
) -> None:
    """Start a design from data: one group per attribute, to be edited by hand.

    Example: [bold]tacit design new true.csv --theta 5/6 --bins 4 --out survey.json[/bold]

    Parameters
    ----------
    out
        The design file to write.
    theta
        Probability of the truth, such as 0.7 or 5/6.
    columns
        Columns to ask for; all if left out.
    bins
        Cut numeric columns of more values into this many parts.
    """
    coin = related(theta)
    check_apart(out, data)
    frame = read_frame(data)
    names = frame.column_names if columns is None else split(columns, frame.column_names)
    for name in names:
        if name not in frame.column_names:
            raise SchemaError(unknown("column", name, frame.column_names))
        if names.count(name) > 1:
            raise SchemaError(f"the column {name!r} is named twice; name each column once")
    frame = frame.select(names)
    numeric = [n for n in frame.column_names if is_numeric(frame[n])]
    rules = {n: quantiles(bins) for n in numeric if bins and len(frame[n].unique()) > bins}
    schema = Schema.infer(frame, bins=rules, missing="missing")
    design = Design(schema, [Group([name], coin) for name in schema.names])
    _require_reconstructable(design)
    write_text(out, design.to_json())
    echo(f"wrote {out}: {_parts(design)}, each {coin}")


def _require_reconstructable(design: Design) -> None:
    for group in design.groups:
        design.channel(group.attributes).require_reconstructable()


def _parts(design: Design) -> str:
    groups = number_of(len(design.groups), "group")
    return f"{groups}, {number_of(len(design.schema), 'attribute')}"


def summary(design: Design) -> show.Printout:
    """Privacy and condition of each attribute, each group and the whole record."""
    groups, group_rows, attributes, attribute_rows = [], [], [], []
    for number, group in enumerate(design.groups, start=1):
        figures, shown = _figures(design, group.attributes)
        names, coin = list(group.attributes), group.coin
        groups.append({"attributes": names, "coin": coin.to_dict(), **figures})
        label = Text(", ".join(names) + "\n").append(str(coin), style="dim")
        possible = "yes" if figures["reconstructable"] else "NO"
        group_rows.append([str(number), label, *shown, possible])
    for attribute in design.schema:
        name, categories = attribute.name, list(attribute.categories)
        # An attribute of a joint matrix has no channel of its own: that of its group.
        figures, shown = _figures(design, design.jointly_reported([name]))
        number = design.groups.index(design.group_of(name)) + 1
        attributes.append({"name": name, "categories": categories, "group": number, **figures})
        attribute_rows.append([name, str(number), *shown, ", ".join(map(str, categories))])
    record = design.channel(design.schema.names)
    content = {
        "tacit": "design-check",
        "version": 1,
        "fingerprint": design.fingerprint,
        "groups": groups,
        "attributes": attributes,
        "record": {"epsilon": record.epsilon, "condition": record.condition},
        "notes": list(_notes(design)),
    }
    group_heads = ("group", "attributes, coin", "epsilon", "condition", "reconstructable")
    attribute_heads = ("attribute", "group", "epsilon", "condition", "categories")
    tables = [
        Table(group_heads, group_rows, align="rlrrr"),
        Table(attribute_heads, attribute_rows, align="lrrrl"),
    ]
    whole = f"One record, all its answers together: epsilon {rounding.epsilon(record.epsilon)}."
    return show.Printout(content, tables, below=[whole])


def _figures(design: Design, names: tuple[str, ...]) -> tuple[dict[str, Any], list[str]]:
    """The figures of a channel, and those that are shown, as text."""
    channel = design.channel(names)
    keys = ("epsilon", "condition", "reconstructable")
    condition = "infinite" if math.isinf(channel.condition) else f"{channel.condition:.4g}"
    shown = [rounding.epsilon(channel.epsilon), condition]
    return {key: getattr(channel, key) for key in keys}, shown


def _notes(design: Design) -> Iterator[str]:
    """Explanations of figures that are easily misread."""
    for number, group in enumerate(design.groups, start=1):
        if math.isfinite(design.channel(group.attributes).epsilon):
            continue
        if not group.disguised:
            yield f"group {number} is not disguised: its answers are reported as they are."
        elif group.coin.family == "related" and len(group.attributes) > 1:
            yield (
                f"group {number} answers all its questions truthfully or all untruthfully, so a "
                "record discloses the relation between the answers: its epsilon is infinite, "
                "though each answer alone is protected."
            )
        else:
            yield f"group {number} has reports that rule out some true answers."
