"""`tacit predict`: a model and true records in, their classes out."""

from __future__ import annotations

import typer

from tacit.cli import show
from tacit.cli.arguments import DataFile, ModelFile, RecordsOut, read_model
from tacit.core.attribute import Attribute, text
from tacit.core.schema import Schema
from tacit.output.number_text import number_of
from tacit.reconstruction.estimate import free_names
from tacit.records import check_out, check_true, read_batches, writing_records


def predict(
    model_file: ModelFile,
    data: DataFile,
    out: RecordsOut,
) -> None:
    """Predict the class of true records: those that you may see, not reported ones.

    Writes the likeliest class and the probability of every class. Columns that the model does
    not know are left out; a column of the class itself is not read.

    Example: [bold]tacit predict model.json known.csv --out predicted.csv[/bold]
    """
    model = read_model(model_file)
    assert model.features_ is not None
    check_out(out, data, model_file)
    check_true(data, "a model predicts from true records, those that you may see")
    labels = model.classes_.tolist()
    chances = [f"P({text(label)})" for label in labels]
    name = free_names([str(model.target)], chances)[str(model.target)]
    # There may be a single latent class; an attribute has at least two categories.
    predicted = Schema([Attribute(name, labels if len(labels) > 1 else [0, 1])])
    n_records = 0
    with (
        show.progress("predicting") as tell,
        writing_records(out, predicted, beside=chances) as write,
    ):
        for codes in read_batches(data, model.features_, tell):
            found = model.predict_proba(codes)
            write(found.argmax(axis=1)[:, None], *found.T)
            n_records += len(codes)
    typer.echo(f"wrote {out}: {number_of(n_records, 'prediction')} of {model.target}")
