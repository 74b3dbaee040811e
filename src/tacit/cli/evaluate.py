"""`tacit evaluate`: a model and reported test records in, its accuracy with errors out."""

from __future__ import annotations

from tacit.cli.arguments import ModelFile, read_model
from tacit.cli.option_groups import grouped_options
from tacit.cli.output_format import FormattedOutput
from tacit.cli.sample_options import DrawnSample
from tacit.cli.sources import ReportedRecords
from tacit.errors import DataError
from tacit.evaluate import accuracy, confusion, recall
from tacit.records import Origin, read_design_origin


@grouped_options
def evaluate(
    *,
    model_file: ModelFile,
    records: ReportedRecords,
    people: DrawnSample,
    output: FormattedOutput,
) -> None:
    """Test a model on reported records that it was not learnt from.

    Accuracy, confusion table and recall are those on the true records, estimated from reports.

    Example: [bold]tacit evaluate model.json survey.json test.csv[/bold]
    """
    from tacit.mine import LatentClass  # scikit-learn is slow to start

    design, design_file = records.design, records.design_file
    model = read_model(model_file)
    if isinstance(model, LatentClass):
        raise DataError(
            f"{model_file}: has latent classes, which no record reports; give a model that "
            "predicts an attribute"
        )
    if model.fingerprint_ != design.fingerprint:
        learnt, given = Origin(model.fingerprint_), read_design_origin(design_file)
        raise DataError(
            f"{model_file}: was learnt under another design ({learnt}), not under {design_file} "
            f"({given}); give the design that the model was learnt under"
        )
    patterns = people.reconstructed(records).patterns
    measures = [measure(model, patterns, design) for measure in (accuracy, confusion, recall)]
    output.show_estimates("evaluation", design.fingerprint, measures, target=model.target)
