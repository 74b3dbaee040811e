"""A regression as code to copy: Python with tacit, and R without packages."""

from __future__ import annotations

from importlib.resources import files

from tacit.output.table import safe_cell
from tacit.studio.record_files import number_list, r_list, r_records, r_text
from tacit.studio.regression_request import RegressionRequest
from tacit.survey import Published

#: Entries of a matrix that R code may have.
_MOST_ENTRIES = 4096


def python_code(request: RegressionRequest, survey: Published) -> str:
    """The model with tacit, from the records of the studio; merged answers become columns."""
    outcome = request.column(request.outcome.name, survey)
    factors, pairs = request.factors(survey), ""
    if factors.interactions:
        pairs = f", {[*factors.interactions]!r}"
    lines = [
        "import tacit",
        "from tacit.regression import Factors, logit",
        "",
        'studio = tacit.connect("https://studio.example.org", "TOKEN")',
        f'design, records = studio.design("{survey.slug}"), studio.records("{survey.slug}")',
    ]
    for name, part in request.changed(survey).items():
        groups = {str(c): label for label, categories in part.groups for c in categories}
        column = request.column(name, survey)
        lines.append(f"records[{column!r}] = records[{name!r}].map({groups!r})")
    call = f"{outcome!r}, records, design, Factors({dict(factors.references)!r}{pairs})"
    if request.ordered:
        call += ", ordered=True"
    return "\n".join(
        [*lines, f"fit = logit({call})", "print(fit)", "print(fit.marginal_effects())"]
    )


def r_code(request: RegressionRequest, survey: Published) -> str:
    """The model in R, from the downloaded CSV file of records: odds ratios with intervals."""
    design = survey.design
    hidden = [name for name in request.names if design.group_of(name).disguised]
    channels = []
    for factor in design.channel(hidden).factors if hidden else ():
        matrix = factor.channel.matrix
        if matrix.size > _MOST_ENTRIES or not {*factor.names} <= {*request.names}:
            return f"# {', '.join(factor.names)} are disguised together: tacit fits this model"
        reported = [design.channel(hidden).reported.names[axis] for axis in factor.reported_axes]
        channels.append(
            f"list(questions = c({r_list(factor.names)}), columns = c({r_list(reported)}),\n"
            f"       M = matrix(c({number_list(matrix.T)}), {len(matrix)}))"
        )
    groups = [
        f"{r_text(part.name)} = list("
        + ", ".join(
            f"{r_text(label)} = c({r_list(map(safe_cell, map(str, c)))})"
            for label, c in part.groups
        )
        + ")"
        for part in (request.outcome, *request.predictors)
    ]
    references = (f"{r_text(n)} = {r_text(label)}" for n, label in request.reference_of.items())
    functions = files("tacit.studio").joinpath("regress.R").read_text(encoding="utf-8")
    between = ",\n    "
    return "\n".join(
        [
            *r_records(survey, f"{survey.slug}-records.csv", ".csv"),
            "",
            functions,
            "fit <- disguised_logit(",
            "  records,",
            f"  groups = list({between.join(groups)}),",
            f"  references = c({', '.join(references)}),",
            f"  interaction = c({r_list(request.interaction or ())}),",
            f"  channels = list({between.join(channels)}),",
            f"  ordered = {'TRUE' if request.ordered else 'FALSE'}",
            ")",
            "print(fit, digits = 4)",
        ]
    )
