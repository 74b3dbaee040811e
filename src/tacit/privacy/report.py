"""report: how private the answers of a design are, as a value, a table, a figure and a page.

What a whole reported record discloses depends on how answers go together. A prior that is one joint
table says it; from reported records it is estimated. If the prior is a table per attribute or per
group, it is not known: then the figures are None, never those of unrelated answers, and only the
bound for any dependence remains.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass, field, replace
from typing import Any

from tacit.core.bounds import Bound, DesignReports, bound_of_all
from tacit.core.channel.numbers import sum_up
from tacit.core.conditions import linked_parts
from tacit.core.design import Design, check_design
from tacit.core.imports import optional_imports
from tacit.errors import DataError
from tacit.output import rounding
from tacit.output.table import Figure, TablesResult
from tacit.privacy import report_text
from tacit.privacy.disclosure import MIN_RECORDS, Assessed, Assessment, assess
from tacit.privacy.known_others import risks_knowing
from tacit.privacy.prior import UNTIED, Prior, prior_of
from tacit.privacy.published_model import AfterMining, after_mining
from tacit.privacy.repeated import Repeated, repeated
from tacit.privacy.report_text import Wording, sentences, warnings
from tacit.privacy.risk import NO_LIMIT, Figures
from tacit.privacy.scopes import Limits, PerScope, Scope, Scopes, SentAnswer, answer_risks, measure
from tacit.reconstruction import Reconstruction
from tacit.reconstruction.interval import check_level

NOT_KNOWN = (
    "It is not known how answers to different questions go together, so what a whole reported "
    "record reveals is not known either. It can be far more than the single reports suggest."
)
#: Confidence of bounds that rest on reported records.
CONFIDENCE = 0.95
MISSED = (
    "What a whole reported record reveals is estimated from {n:,} reported records. Dependence too "
    "weak to show in them, or among three or more answers, may be missed; someone with outside "
    "knowledge could use it, up to the upper bound."
)
TOO_FEW = (
    "{n:,} reported records are too few to show how answers go together, so what a whole reported "
    "record reveals is not known. It can be far more than the single reports suggest."
)
HIDDEN = (
    "Where it says “not known”, these {n:,} reported records do not show how answers go together."
)


@dataclass(frozen=True)
class Disclosed:
    """One attribute, or the record, to someone who holds the whole reported record.

    `accuracy` is how often the best guess is right, `span` the range of that estimate, `pse` how
    often a guess drawn from the posterior is wrong, `worst_posterior` the largest posterior; None
    where not known. Whatever the dependence between answers, the best guess is right at most
    `bound` often and no posterior exceeds `worst_bound`; None where not computed. `confidence`
    is that of the bounds, None where they are certain.
    """

    accuracy: float | None = None
    span: tuple[float, float] | None = None
    pse: float | None = None
    worst_posterior: float | None = None
    bound: float | None = None
    worst_bound: float | None = None
    confidence: float | None = None

    @property
    def limit(self) -> float | None:
        """The bound if it limits anything."""
        return None if self.bound is None or self.bound >= NO_LIMIT else self.bound

    @property
    def map_privacy(self) -> float | None:
        """How often the best guess is wrong, at the pessimistic end of the range."""
        right = self.accuracy if self.span is None else self.span[1]
        return None if right is None else max(1 - right, 0.0)


@dataclass(frozen=True)
class Disclosure(PerScope[Disclosed]):
    """Every attribute, every group and the record; `warning` is shown before anything else.

    `assessment` is what was estimated from reported records, None if there are none.
    """

    warning: str | None = None
    assessment: Assessment | None = None

    def to_dict(self) -> dict[str, Any]:
        """Plain values."""
        return {
            "attributes": {name: asdict(disclosed) for name, disclosed in self.attributes.items()},
            "record": asdict(self.record),
        }


def disclosure(
    design: Design, prior: Prior, scopes: Scopes, assessment: Assessment | None = None
) -> Disclosure:
    """From reported records if they were assessed; else from the figures under the prior where it
    is one joint table, else bounds alone.
    """
    if assessment is not None:
        return _assessed(assessment, scopes)
    reports, bounds = DesignReports(design), dict[str, Bound]()
    for name in scopes.attributes:
        shares = prior.table([name])
        if shares.shape[1] == 1:  # not of a prior that is only estimated
            bounds[name] = reports.bound(name, shares[:, 0].tolist())
    return Disclosure(
        {name: _disclosed(scope, bounds.get(name)) for name, scope in scopes.attributes.items()},
        tuple(_disclosed(scope) for scope in scopes.groups),
        _disclosed(scopes.record, bound_of_all(bounds.values()) if bounds else None),
        None if prior.ties_all else NOT_KNOWN,
    )


def _disclosed(scope: Scope, bound: Bound | None = None) -> Disclosed:
    return Disclosed(
        accuracy=getattr(scope.whole, "accuracy", None),
        pse=getattr(scope.whole, "pse", None),
        worst_posterior=getattr(scope.whole, "worst_posterior", None),
        bound=getattr(bound, "accuracy", None),
        worst_bound=getattr(bound, "worst_posterior", None),
    )


def with_dependence(scopes: Scopes, prior: Prior, assessment: Assessment | None) -> Scopes:
    """The scopes with what is known by the whole record: from the prior, or from reports."""

    def of(scope: Scope) -> Scope:
        if assessment is None:
            return replace(scope, known=prior.ties_all)
        assessed = assessment.scopes[scope.names]
        if not assessed.known("map_privacy"):
            return scope
        return replace(scope, from_record=assessed.figures, exact=False, known=True)

    return scopes.map(of)


def _assessed(assessment: Assessment, scopes: Scopes) -> Disclosure:
    """Estimates with their ranges, and bounds at 95 % confidence."""
    attributes = {}
    for name, scope in scopes.attributes.items():
        central, alone = scope.alone.central, scope.alone.accuracy
        alone = alone if central is None else 1 - central[1]
        attributes[name] = _from_reports(assessment.scopes[name,], alone)
    record = _from_reports(assessment.scopes[scopes.record.names], 0.0)
    groups = tuple(map(_disclosed, scopes.groups))
    hidden = any(disclosed.accuracy is None for disclosed in (*attributes.values(), record))
    texts = [HIDDEN, MISSED] if hidden else [MISSED]
    if assessment.n_records < MIN_RECORDS:
        texts = [TOO_FEW]
    warning = " ".join(text.format(n=assessment.n_records) for text in texts)
    return Disclosure(attributes, groups, record, warning, assessment)


def _from_reports(assessed: Assessed, alone: float) -> Disclosed:
    """Each figure where its range is narrow enough; never below what the own report tells."""
    figures, bound = assessed.figures, assessed.bound
    assert figures.central is not None
    narrow = assessed.known("map_privacy")
    private = figures.interval("map_privacy")
    accuracy = max(1 - figures.central[1], alone)
    return Disclosed(
        accuracy=accuracy if narrow else None,
        span=(1 - private[1], max(1 - private[0], accuracy)) if narrow else None,
        pse=figures.pse if assessed.known("pse") else None,
        worst_posterior=figures.worst_posterior if assessed.known("worst_posterior") else None,
        bound=max(bound.accuracy, accuracy),
        worst_bound=bound.worst_posterior,
        confidence=CONFIDENCE,
    )


def _record_figure(name: str, doc: str) -> property:
    """A figure of every scope by the whole reported record, None where that is not known."""

    def figure(report: Report) -> PerScope[float | None]:
        return report.map(lambda scope: getattr(scope.whole, name, None))

    return property(figure, doc=doc)


@dataclass(frozen=True)
class Report(TablesResult, PerScope[Scope]):
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

    pse = _record_figure(
        "pse", "How often a guess drawn from the posterior is wrong (Zhan & Matwin, 4.1)."
    )
    map_privacy = _record_figure(
        "map_privacy", "How often the best guess is wrong (Huang & Du, eq. 8)."
    )
    worst_posterior = _record_figure(
        "worst_posterior",
        "The largest probability of a true answer given a report (Huang & Du, eq. 9).",
    )
    information = _record_figure("information", "Bits that a report carries about the truth.")

    @property
    def epsilon(self) -> PerScope[float]:
        """Local differential privacy of each own report, rounded up; groups add up."""
        return self.map(lambda scope: scope.epsilon)

    @property
    def epsilon_disguised(self) -> float | None:
        """Epsilon of the disguised answers together; None if all or none are disguised."""
        groups = zip(self.design.groups, self.groups, strict=True)
        disguised = [scope.epsilon for group, scope in groups if group.disguised]
        return sum_up(disguised) if 0 < len(disguised) < len(self.groups) else None

    @property
    def bound_disguised(self) -> float | None:
        """How often any one disguised answer is guessed right at most, from all disguised ones.

        Whatever the dependence between answers; None if all or none are disguised, or if the
        prior is only estimated.
        """
        seen = [group for group in self.design.groups if group.disguised]
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
        assessment = self.disclosure.assessment
        if assessment is None or assessment.n_records < MIN_RECORDS:
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
            error = rounding.monte_carlo(max(errors))
            text += f" Large groups by Monte Carlo: PSE and MAP {error}."
        return text + " Privacy is rounded down, risk up."

    tables = report_text.tables
    notes = report_text.notes
    columns = report_text.scope_columns

    def lead(self) -> list[str]:
        """What comes first: what is not known, sentences, warnings, what the figures rest on."""
        first = self.disclosure.warning
        title = [] if self.wording.title is None else [f"{self.wording.title}\n"]
        top = [*title, *([] if first is None else [f"warning: {first}\n"])]
        warnings = [f"\nwarning: {text}" for text in self.warnings if text != first]
        return [*top, *self.sentences, *warnings, f"\n{self.basis()}"]

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
            # Before mining, by the whole record: null where not known.
            before = dict.fromkeys(("accuracy_before", "worst_before"))
            content["after_mining"] = [
                asdict(mined) | ({} if self.attributes[name].known else before)
                for name, mined in self.after_mining.items()
            ]
        if self.repeated is not None:
            content["repeated"] = self.repeated.to_dict() | (
                {} if self.prior.ties_all else dict.fromkeys(("from_record", "groups", "record"))
            )
        return rounding.finite(content)

    def _plain(self, scope: Scope) -> dict[str, Any]:
        """A scope's figures; null where they rest on a dependence that is not known."""
        plain = scope.to_dict()
        if not scope.known:
            plain["from_record"] = None
        if not self.prior.ties(scope.names):
            plain["alone"] = None
        if len(scope.names) == 1:
            knowing = self.knowing_others[scope.names[0]]
            plain["knowing_others"] = None if knowing is None else knowing.to_dict()
        return plain

    def plot(self) -> Figure:
        """How often a guess is right, a mark per adversary."""
        with optional_imports():
            from tacit.privacy.page import guesses

        return guesses(self)

    def to_html(self) -> str:
        """A page by itself: sentences, warnings, figure, tables; it loads nothing."""
        with optional_imports():
            from tacit.privacy.page import page

        return page(self)


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
    checked_prior = prior_of(prior, design, limits.rng, limits.priors)
    assessment = None
    if isinstance(prior, Reconstruction) and len(design.schema) > 1:
        patterns = prior.patterns.refuse(weights=True)
        assessment = assess(design, patterns, limits.rng, limits.progress)
    scopes = with_dependence(measure(design, checked_prior, limits), checked_prior, assessment)
    level, names = limits.level, design.schema.names
    mined = after_mining(_models(rules), design, checked_prior, scopes.attributes, limits)
    again = None if repeats is None else repeated(design, repeats, checked_prior, limits=limits)
    return Report(
        **vars(scopes),
        design=design,
        prior=checked_prior,
        disclosure=disclosure(design, checked_prior, scopes, assessment),
        knowing_others=_knowing_others(design, checked_prior, limits, assessment),
        answers={name: answer_risks(design, checked_prior, name, level) for name in names},
        after_mining=mined,
        repeated=again,
        level=level,
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
        parts = linked_parts(design.conditions, design.schema)
        held = [set(block.names) for block in prior.blocks]
        apart = {n for part in parts if not any(set(part) <= one for one in held) for n in part}
        return {n: None if n in apart else r.figures(limits.level) for n, r in risks.items()}
    known = {n: a.figures for n, a in assessment.knowing_others.items() if a.known("map_privacy")}
    return {name: known.get(name) for name in design.schema.names}


def _models(rules: Any) -> list[list[Any]]:
    """The rules of one model, or of several, as a list of models."""
    if isinstance(rules, str) or not hasattr(rules, "__iter__"):
        raise DataError(f"rules must be a list of rules, got {rules!r:.60}")
    listed = list(rules)
    if listed and all(isinstance(item, list | tuple) for item in listed):
        return [list(item) for item in listed]
    return [listed] if listed else []
