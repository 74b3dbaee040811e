"""What a form asks of a regression: the outcome, predictors, an interaction, the kind of model."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from tacit.errors import DataError, unknown
from tacit.studio.recoding import Recoding, Words, column_name, recodings_of_form
from tacit.survey import Published

if TYPE_CHECKING:
    from tacit.regression import Factors

#: Kinds of models, and what a form chooses from: of two answers both are the same.
ORDERED, UNORDERED = "ordered", "unordered"
KINDS = {
    ORDERED: "ordered answers: the odds of a higher one",
    UNORDERED: "each answer against the first",
}


@dataclass(frozen=True)
class RegressionRequest:
    """What a form asks for: the outcome, predictors with their reference groups, an interaction."""

    outcome: Recoding
    predictors: tuple[Recoding, ...]
    references: tuple[str, ...]
    interaction: tuple[str, str] | None = None
    ordered: bool = False

    @property
    def reference_of(self) -> dict[str, str]:
        """The reference group of each predictor."""
        return dict(zip((p.name for p in self.predictors), self.references, strict=True))

    @property
    def names(self) -> list[str]:
        """All questions, the outcome first."""
        return [self.outcome.name, *(p.name for p in self.predictors)]

    def changed(self, survey: Published) -> dict[str, Recoding]:
        """The questions whose groups are not simply the categories."""
        schema = survey.design.schema
        both = (self.outcome, *self.predictors)
        return {p.name: p for p in both if p.name in schema and p.changes(schema[p.name])}

    def column(self, name: str, survey: Published) -> str:
        """The column of a question, recoded if its groups are."""
        return column_name(name) if name in self.changed(survey) else name

    def category(self, name: str, label: str, survey: Published) -> Any:
        """A group as it is in the column of a question."""
        groups = {p.name: p for p in (self.outcome, *self.predictors)}[name].groups
        return label if name in self.changed(survey) else dict(groups)[label][0]

    def factors(self, survey: Published) -> Factors:
        """The predictors as the library takes them."""
        from tacit.regression import Factors

        references = {
            self.column(name, survey): self.category(name, label, survey)
            for name, label in self.reference_of.items()
        }
        if self.interaction is None:
            return Factors(references)
        first, second = (self.column(name, survey) for name in self.interaction)
        return Factors(references, [(first, second)])

    def left_out(self, survey: Published) -> dict[str, list[int]]:
        """The codes of answers whose records the model leaves out, by question."""
        codes = {}
        for name, part in self.changed(survey).items():
            attribute = survey.design.schema[name]
            kept = {code for group in part.codes(attribute) for code in group}
            codes[name] = [code for code in range(attribute.size) if code not in kept]
        return codes


def request_of_form(
    survey: Published,
    fields: Mapping[str, str],
    chosen: Sequence[str],
    words: Words | None = None,
) -> RegressionRequest:
    """The model of a form: the fields `outcome`, `kind`, `ref.NAME`, `first`, `second`.

    Others merge answers. `chosen` are the predictors, `words` the texts of categories.
    """
    schema = survey.design.schema
    names = [fields.get("outcome", ""), *chosen]
    if any(name not in schema for name in names) or len({*names}) < len(names):
        raise DataError("choose an outcome and other questions of the survey")
    recodings = recodings_of_form(schema, names, fields, words)
    outcome, predictors = recodings[names[0]], tuple(recodings[name] for name in chosen)
    references = tuple(
        p.label_of(fields.get(f"ref.{p.name}", "")) or p.labels[0] for p in predictors
    )
    pair, kind = (fields.get("first", ""), fields.get("second", "")), fields.get("kind", "")
    if kind not in ("", *KINDS):
        raise DataError(unknown("kind", kind, KINDS))
    ordered = kind == ORDERED if kind else bool(survey.question_of(outcome.name).ordered)
    ordered = ordered and len(outcome.groups) > 2
    return RegressionRequest(outcome, predictors, references, pair if all(pair) else None, ordered)
