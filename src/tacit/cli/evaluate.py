"""`tacit evaluate`: a model and reported test records in, its accuracy with errors out."""

from __future__ import annotations

import typer

from tacit.cli import show
from tacit.cli.arguments import AsJson, DesignFile, Level, ModelFile, read_model
from tacit.cli.sources import FromDatabase, OptionalData, counted, needed_source
from tacit.errors import DataError
from tacit.evaluate import accuracy, confusion, recall
from tacit.files import Origin, read_design, read_design_origin
from tacit.reconstruction.interval import check_level


def evaluate(
    model_file: ModelFile,
    design_file: DesignFile,
    data: OptionalData = None,
    level: Level = 0.95,
    as_json: AsJson = False,
    database: FromDatabase = None,
) -> None:
    """Test a model on reported records that it was not learnt from.

    Accuracy, confusion table and recall are those on the true records, estimated from reports.

    Example: [bold]tacit evaluate model.json survey.json test.csv[/bold]
    """
    from tacit.mine import LatentClass  # scikit-learn is slow to start

    check_level(level)
    design = read_design(design_file)
    records = needed_source(data, database)
    model = read_model(model_file)
    if isinstance(model, LatentClass):
        raise DataError(
            f"{model_file}: has latent classes, which no record reports; give a naive Bayes model, "
            "a decision tree or a forest"
        )
    if model.fingerprint_ != design.fingerprint:
        learnt, given = Origin(model.fingerprint_), read_design_origin(design_file)
        raise DataError(
            f"{model_file}: was learnt under another design ({learnt}), not under {design_file} "
            f"({given}); give the design that the model was learnt under"
        )
    patterns = counted(design_file, design, records)
    measures = [measure(model, patterns, design) for measure in (accuracy, confusion, recall)]
    if not as_json:
        for found in measures:
            show.print_table(found.to_table(level))
        return
    content = {
        "tacit": "evaluation",
        "version": 1,
        "design": design.fingerprint,
        "target": model.target,
        "estimates": [found.to_dict(level) for found in measures],
    }
    typer.echo(show.json_text(content))
