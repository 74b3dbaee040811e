"""report: how private the answers of a design are, as a value, a table, a figure and a page."""

from __future__ import annotations

import html
import json
from collections.abc import Sequence
from dataclasses import asdict, dataclass, field
from typing import TYPE_CHECKING, Any

from tacit.core.bounds import DesignReports, is_undisguised
from tacit.core.channel.numbers import sum_up
from tacit.core.conditions import linked_parts
from tacit.core.design import Design, check_design
from tacit.core.imports import optional_imports
from tacit.core.label_codes import frame_of
from tacit.errors import DataError
from tacit.output import rounding
from tacit.output.table import Table, latex_of, markdown_of
from tacit.privacy import report_tables
from tacit.privacy.disclosure import MIN_RECORDS, Assessment, assess
from tacit.privacy.known_others import risks_knowing
from tacit.privacy.prior import UNTIED, Prior, prior_of
from tacit.privacy.published_rules import AfterMining, after_mining
from tacit.privacy.repeated import Repeated, repeated
from tacit.privacy.respondent_wording import Wording
from tacit.privacy.risk import Figures
from tacit.privacy.scopes import Levels, Limits, Scope, measure
from tacit.privacy.sent_answers import SentAnswer, answers
from tacit.privacy.sentences import sentences, warnings
from tacit.privacy.whole_record import Disclosure, disclosure, with_dependence
from tacit.reconstruction import Reconstruction
from tacit.reconstruction.interval import check_level
from tacit.reconstruction.plain_patterns import checked_plain

if TYPE_CHECKING:
    from matplotlib.figure import Figure


@dataclass(frozen=True)
class Report(Levels[Scope]):
    """The privacy of a design under a prior; every figure at its pessimistic end.

    Four adversaries, from weak to strong: `attributes[name].alone` sees that report alone;
    `disclosure` holds the whole reported record; `knowing_others[name]` also knows the person's
    other true answers, None where reported records do not say how answers go together;
    `after_mining` holds the published model. `pse`, `map_privacy`,
    `worst_posterior` and `information` are those of the second, None where it is not known how
    answers go together.
    """

    design: Design
    prior: Prior
    disclosure: Disclosure
    knowing_others: dict[str, Figures | None]
    answers: dict[str, tuple[SentAnswer, ...]]
    after_mining: dict[str, AfterMining]
    repeated: Repeated | None
    level: float
    wording: Wording = field(default_factory=Wording)

    @property
    def pse(self) -> Levels[float | None]:
        """How often a guess drawn from the posterior is wrong (Zhan & Matwin, 4.1)."""
        return self._levels("pse")

    @property
    def map_privacy(self) -> Levels[float | None]:
        """How often the best guess is wrong (Huang & Du, eq. 8)."""
        return self._levels("map_privacy")

    @property
    def worst_posterior(self) -> Levels[float | None]:
        """The largest probability of a true answer given a report (Huang & Du, eq. 9)."""
        return self._levels("worst_posterior")

    @property
    def information(self) -> Levels[float | None]:
        """Bits that a report carries about the truth."""
        return self._levels("information")

    @property
    def epsilon(self) -> Levels[float]:
        """Local differential privacy of each own report, rounded up; groups add up."""
        return self.map(lambda scope: scope.epsilon)

    @property
    def epsilon_disguised(self) -> float | None:
        """Epsilon of the disguised answers together; None if all or none are disguised."""
        groups = zip(self.design.groups, self.groups, strict=True)
        disguised = [scope.epsilon for group, scope in groups if not is_undisguised(group)]
        return sum_up(disguised) if 0 < len(disguised) < len(self.groups) else None

    @property
    def bound_disguised(self) -> float | None:
        """How often any one disguised answer is guessed right at most, from all disguised ones.

        Whatever the dependence between answers; None if all or none are disguised, or if the
        prior is only estimated.
        """
        seen = [group for group in self.design.groups if not is_undisguised(group)]
        if self.prior.stacked > 1 or not 0 < len(seen) < len(self.groups):
            return None
        names = [name for group in seen for name in group.attributes]
        shares = {name: self.prior.table([name])[:, 0].tolist() for name in names}
        reports = DesignReports(self.design, seen)
        return max(reports.bound(name, shares[name]).accuracy for name in names)

    @property
    def takes_unrelated(self) -> bool:
        """Whether answers in different tables are taken as unrelated where others are known.

        How answers go together is neither given nor estimated from reported records then.
        """
        return not self.prior.ties_all and self.disclosure.assessment is None

    def held(self, scope: Scope) -> Figures | None:
        """The figures by the whole reported record; None where dependence is not known."""
        assessment = self.disclosure.assessment
        if assessment is None:
            known = self.prior.ties_all
        else:
            known = assessment.of(scope.names).known("map_privacy")
        return scope.from_record if known else None

    def _levels(self, name: str) -> Levels[float | None]:
        return self.map(lambda scope: getattr(self.held(scope), name, None))

    @property
    def sentences(self) -> tuple[str, ...]:
        """What a respondent should know."""
        return sentences(self)

    @property
    def warnings(self) -> tuple[str, ...]:
        """Where single answers look safer than they are."""
        return warnings(self)

    @property
    def _source(self) -> str:
        """Where the prior comes from, and whether dependence is estimated or not known."""
        found = self.disclosure.assessment
        if found is None or found.n_records < MIN_RECORDS:
            return self.prior.source
        return self.prior.source.replace(UNTIED, "; how answers go together is estimated from them")

    def basis(self) -> str:
        """One line on the prior and on how the figures were computed."""
        text = f"Prior: {self._source}."
        if self.prior.stacked > 1:
            text += f" Figures at the pessimistic end of their {100 * self.level:g} % interval."
        scopes = (*self.attributes.values(), *self.groups, self.record)
        errors = [max(s.from_record.stderr[:2]) for s in scopes if s.from_record.stderr is not None]
        if errors:
            text += (
                f" Large groups by Monte Carlo: PSE and MAP {rounding.monte_carlo(max(errors))}."
            )
        return text + " Privacy is rounded down, risk up."

    def tables(self) -> list[Table]:
        """All tables as text: adversaries, the papers' figures, and what else was asked for."""
        return report_tables.tables(self)

    def lead(self) -> list[str]:
        """What comes first: what is not known, sentences, warnings, what the figures rest on."""
        first = self.disclosure.warning
        title = [] if self.wording.title is None else [f"{self.wording.title}\n"]
        top = [*title, *([] if first is None else [f"warning: {first}\n"])]
        told = [f"\nwarning: {text}" for text in self.warnings if text != first]
        return [*top, *self.sentences, *told, f"\n{self.basis()}"]

    def notes(self) -> list[str]:
        """What the tables mean, below them."""
        return report_tables.notes(self)

    def to_markdown(self) -> str:
        """Sentences, warnings, tables and what they mean, in Markdown."""
        return markdown_of(self.tables(), "\n".join(self.lead()), "\n".join(self.notes()))

    def to_latex(self) -> str:
        """The same in LaTeX, for the package booktabs."""
        return latex_of(self.tables(), "\n".join(self.lead()), "\n".join(self.notes()))

    def to_frame(self, backend: str | None = None) -> Any:
        """A data frame with a row for each attribute, group and the record."""
        return frame_of(self.columns(), backend)

    def columns(self) -> dict[str, list[Any]]:
        """A column per figure, a row for each attribute, group and the record."""
        return report_tables.scope_columns(self)

    def to_dict(self) -> dict[str, Any]:
        """JSON-ready; an infinite number is None."""
        content: dict[str, Any] = {
            "tacit": "privacy",
            "version": 2,
            "title": self.wording.title,
            "design": self.design.fingerprint,
            "prior": self._source,
            "dependence_known": self.prior.ties_all and self.disclosure.assessment is None,
            "level": self.level,
            "warnings": list(self.warnings),
            "sentences": list(self.sentences),
            "attributes": {name: self._plain(scope) for name, scope in self.attributes.items()},
            "groups": [self._plain(scope) for scope in self.groups],
            "record": self._plain(self.record) | {"epsilon_disguised": self.epsilon_disguised},
            "disclosure": self.disclosure.to_dict(),
            "answers": [asdict(a) for found in self.answers.values() for a in found],
        }
        if self.after_mining:
            content["after_mining"] = [self._mined(name) for name in self.after_mining]
        if self.repeated is not None:
            content["repeated"] = self.repeated.to_dict() | (
                {} if self.prior.ties_all else dict.fromkeys(("from_record", "groups", "record"))
            )
        plain: dict[str, Any] = rounding.finite(content)
        return plain

    def _plain(self, scope: Scope) -> dict[str, Any]:
        """A scope's figures; null where they rest on a dependence that is not known."""
        plain = scope.to_dict()
        if self.held(scope) is None:
            plain["from_record"] = None
        if not self.prior.ties(scope.names):
            plain["alone"] = None
        if len(scope.names) == 1:
            known = self.knowing_others[scope.names[0]]
            plain["knowing_others"] = None if known is None else known.to_dict()
        return plain

    def _mined(self, name: str) -> dict[str, Any]:
        """An attribute after mining; before, by the whole record, null where not known."""
        known = self.held(self.attributes[name]) is not None
        hidden = () if known else ("accuracy_before", "worst_before")
        return asdict(self.after_mining[name]) | dict.fromkeys(hidden)

    def to_json(self) -> str:
        """JSON text."""
        return json.dumps(self.to_dict(), indent=2, ensure_ascii=False, allow_nan=False) + "\n"

    def figure(self) -> Figure:
        """How often a guess is right, a mark per adversary."""
        with optional_imports():
            from tacit.privacy.privacy_plots import guesses

        return guesses(self)

    def to_html(self) -> str:
        """A page by itself: sentences, warnings, figure, tables; it loads nothing."""
        with optional_imports():
            from tacit.privacy.privacy_page import page

        return page(self)

    def __str__(self) -> str:
        shown = [f"\n{table}" for table in self.tables()]
        return "\n".join([*self.lead(), *shown, "", *self.notes()])

    def _repr_html_(self) -> str:
        return (
            "".join(f"<p>{html.escape(text.strip())}</p>" for text in self.lead())
            + "".join(table.html() for table in self.tables())
            + "".join(f"<p>{html.escape(text)}</p>" for text in self.notes())
        )


def report(
    design: Design,
    prior: Any = None,
    *,
    rules: Sequence[Any] = (),
    repeats: int | None = None,
    limits: Limits | None = None,
    wording: Wording | None = None,
) -> Report:
    """How private the answers of a design are, per attribute, per group and per record.

    `prior` as `prior_of` takes it: None for equally likely categories, distributions by
    attribute, a joint table, or estimates, whose uncertainty is carried along. `rules` are those
    of a published model (or a list of such lists), `repeats` how often one person takes part,
    `limits` how far to compute exactly, and the randomness of what is drawn beyond; `wording` the
    question texts and labels that sentences use. From a reconstruction, how answers go together is
    estimated too (`disclosure`).
    """
    check_design(design)
    limits = limits or Limits()
    check_level(limits.level)
    known = prior_of(prior, design, limits.rng, limits.priors)
    found = None
    if isinstance(prior, Reconstruction) and len(design.schema) > 1:
        found = assess(design, checked_plain(prior.patterns), limits.rng, limits.progress)
    scopes = with_dependence(measure(design, known, limits), found)
    told = {name: answers(design, known, name, limits.level) for name in design.schema.names}
    mined = after_mining(_models(rules), design, known, scopes.attributes, limits)
    again = None if repeats is None else repeated(design, repeats, known, limits=limits)
    return Report(
        **vars(scopes),
        design=design,
        prior=known,
        disclosure=disclosure(design, known, scopes, found),
        knowing_others=_knowing_others(design, known, limits, found),
        answers=told,
        after_mining=mined,
        repeated=again,
        level=limits.level,
        wording=wording or Wording(),
    )


def _knowing_others(
    design: Design, prior: Prior, limits: Limits, assessment: Assessment | None
) -> dict[str, Figures | None]:
    """Someone who also knows the other true answers; None where reports do not say how they help.

    From the prior if it has all dependence or there are no reports, else from the fitted models.
    """
    if assessment is None or prior.ties_all:
        risks = risks_knowing(design, prior, limits)
        apart = {
            n
            for part in linked_parts(design.conditions, design.schema)
            for n in part
            if not prior.holds(part)
        }
        return {n: None if n in apart else r.figures(limits.level) for n, r in risks.items()}
    found = ((name, assessment.knowing_others.get(name)) for name in design.schema.names)
    return {name: one.figures if one and one.known("map_privacy") else None for name, one in found}


def _models(rules: Any) -> list[list[Any]]:
    """The rules of one model, or of several, as a list of models."""
    if isinstance(rules, str) or not hasattr(rules, "__iter__"):
        raise DataError(f"rules must be a list of rules, got {rules!r:.60}")
    listed = list(rules)
    if listed and all(isinstance(item, list | tuple) for item in listed):
        return [list(item) for item in listed]
    return [listed] if listed else []
