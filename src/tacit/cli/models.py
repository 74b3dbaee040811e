"""Commands on a saved model: `tacit evaluate`, `predict`, `query` and `synthesize`."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import numpy as np
from typer import Option, echo

from tacit import mine
from tacit.cli import show
from tacit.cli.arguments import DataFile, Events, ModelFile, RecordsOut, Tables, event, split
from tacit.cli.sources import DrawnSample, ReportedRecords
from tacit.core.schema import Attribute, Schema
from tacit.errors import DataError
from tacit.evaluate import accuracy, confusion, recall
from tacit.output.number_text import number_of, text
from tacit.reconstruction.estimate import free_names
from tacit.records import Origin, designs, files

if TYPE_CHECKING:
    from tacit.mine.miner import Miner


def evaluate(
    *, model_file: ModelFile, records: ReportedRecords, people: DrawnSample, output: show.Output
) -> None:
    """Test a model on reported records that it was not learnt from.

    Accuracy, confusion table and recall are those on the true records, estimated from reports.

    Example: [bold]tacit evaluate model.json survey.json test.csv[/bold]
    """
    design, design_file = records.design, records.design_file
    model = read_model(model_file)
    if isinstance(model, mine.LatentClass):
        raise DataError(
            f"{model_file}: has latent classes, which no record reports; give a model that "
            "predicts an attribute"
        )
    if model.fingerprint_ != design.fingerprint:
        learnt, given = Origin(model.fingerprint_), designs.read_design_origin(design_file)
        raise DataError(
            f"{model_file}: was learnt under another design ({learnt}), not under {design_file} "
            f"({given}); give the design that the model was learnt under"
        )
    patterns = people.reconstructed(records).patterns
    measures = [measure(model, patterns, design) for measure in (accuracy, confusion, recall)]
    output.show_estimates("evaluation", design.fingerprint, measures, target=model.target)


# `tacit predict`: a model and true records in, their classes out.


def predict(model_file: ModelFile, data: DataFile, out: RecordsOut) -> None:
    """Predict the class of true records: those that you may see, not reported ones.

    Writes the likeliest class and the probability of every class. Columns that the model does
    not know are left out; a column of the class itself is not read.

    Example: [bold]tacit predict model.json known.csv --out predicted.csv[/bold]
    """
    model = read_model(model_file)
    assert model.features_ is not None
    files.check_out(out, data, model_file)
    designs.check_true(data, "a model predicts from true records, those that you may see")
    labels = model.classes_.tolist()
    chances = [f"P({text(label)})" for label in labels]
    name = free_names([str(model.target)], chances)[str(model.target)]
    # There may be a single latent class; an attribute has at least two categories.
    predicted = Schema([Attribute(name, labels if len(labels) > 1 else [0, 1])])
    n_records = 0
    with (
        show.progress("predicting") as tell,
        files.writing_records(out, predicted, beside=chances) as write,
    ):
        for codes in files.read_batches(data, model.features_, tell):
            probabilities = model.predict_proba(codes)
            write(probabilities.argmax(axis=1)[:, None], *probabilities.T)
            n_records += len(codes)
    echo(f"wrote {out}: {number_of(n_records, 'prediction')} of {model.target}")


# `tacit query` and `tacit synthesize`: what a saved joint distribution says, and records of it.


Seed = Annotated[
    int | None, Option(min=0, help="Seed of the synthetic records; random if left out.")
]


def query(
    *,
    model_file: ModelFile,
    table: Tables = None,
    where: Events = None,
    given: str | None = Option(None, metavar="EVENT"),
    output: show.Output,
) -> None:
    """Compute probabilities and tables from a saved joint distribution.

    A saved model of many cells has the standard errors of single attributes and of its edges only;
    those of other queries are then unknown.

    Example: [bold]tacit query joint.json --where smokes=yes --given income=high[/bold]

    Parameters
    ----------
    given
        Only among people for whom this event holds.
    """
    model = read_joint_model(model_file)
    schema = model.features_
    tables = [split(names, schema.names) for names in table or []]
    events = [event(text, schema) for text in where or []]
    condition = None if given is None else event(given, schema, "--given")
    if not tables and not events:
        tables = [[name] for name in schema.names]
    estimates = [model.table(names, condition) for names in tables]
    estimates += [model.probability(allowed, condition) for allowed in events]
    output.show_estimates("estimates", model.fingerprint_, estimates)


def synthesize(
    *, model_file: ModelFile, number: int = Option(metavar="N"), out: RecordsOut, seed: Seed = None
) -> None:
    """Draw synthetic true records from a saved joint distribution.

    Example: [bold]tacit synthesize joint.json --number 10000 --out synthetic.csv[/bold]

    Parameters
    ----------
    number
        How many records.
    """
    check_synthesis(number, out)
    files.check_out(out, model_file)
    model = read_joint_model(model_file)
    write_synthetic(model, number, out, seed)
    echo(f"wrote {out}: {number_of(number, 'synthetic record')}")


def check_synthesis(number: int | None, out: Path | None) -> None:
    """Raise unless a number of records and a file are given, or neither."""
    if number is not None and number < 1:
        raise DataError(f"the number of synthetic records must be 1 or more, got {number}")
    if (number is None) != (out is None):
        raise DataError("give --synthesize N and --records FILE together, or neither")


def write_synthetic(model: mine.ChowLiuTree, number: int, out: Path, seed: int | None) -> None:
    """Write synthetic records batch by batch."""
    rng = np.random.default_rng(seed)
    with show.progress("drawing") as tell, files.writing_records(out, model.features_) as write:
        for start in range(0, number, files.BATCH):
            write(model.draws(min(files.BATCH, number - start), rng))
            tell(min(1.0, (start + files.BATCH) / number))


def read_model(path: Path) -> Miner | mine.LatentClass:
    """The classifier or the latent classes that a file describes."""
    model = designs.read_described(path, mine.model_from_json, "model")
    if isinstance(model, mine.ChowLiuTree):
        raise DataError(
            f"{path}: is a joint distribution, which predicts no class; see tacit query and "
            "tacit synthesize"
        )
    return model


def read_joint_model(path: Path) -> mine.ChowLiuTree:
    """The joint distribution that a file describes."""
    model = designs.read_described(path, mine.model_from_json, "model")
    if not isinstance(model, mine.ChowLiuTree):
        raise DataError(f"{path}: is not a joint distribution; make one with tacit mine joint")
    return model
