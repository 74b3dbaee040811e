"""After mining: what published rules add to what a report discloses.

Zhan & Matwin (section 4.2) take from the privacy of an entry what rules recover of it:

    PSE after = max(PSE before - REC, 0)

    preconditions known (vertical partitions)
        REC = sum over rules of P(precondition) * confidence
    preconditions unknown (horizontal partitions, central mining, other sources)
        REC = sum over rules of P(R_a = c | R = precondition) * P(O_a = c | R_a = c)

R is reported, O true. The sum runs over the rules of one model that conclude on the entry's
attribute; of several models the largest counts. Taken as written: a model that lists every
category of an attribute reaches 1 in the first scenario, and in the second, where terms are not
weighted by how often a rule applies, REC may exceed 1. Of an estimated prior the estimate itself
is taken, not its draws.

Beside it stands a figure without these oddities: how often an adversary is right who holds the
whole reported record, the design, the prior and the model, and guesses best. The model enters as
knowledge of how answers go together: where a rule applies, its confidence replaces what the
prior says of the conclusion, and other categories share the rest as before.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np

from tacit.attribute import Attribute, Label
from tacit.channel.linear import Array, Mask
from tacit.design import Design
from tacit.errors import DataError, DesignError
from tacit.privacy.prior import Block, Prior
from tacit.privacy.scopes import Limits, Scope, risk_in_record


@dataclass(frozen=True)
class Rule:
    """If all conditions hold, `attribute` is `category`, with this confidence.

    A condition gives an attribute one category or a collection of allowed ones. `support` is
    the probability that the conditions hold; None takes it from the prior. Anything with these
    five names serves as a rule.
    """

    conditions: Mapping[str, Any]
    attribute: str
    category: Label
    confidence: float
    support: float | None = None


@dataclass(frozen=True)
class AfterMining:
    """One attribute before and after rules are published; see the module for the figures."""

    attribute: str
    pse_before: float
    rec_known: float
    rec_unknown: float
    pse_known: float
    pse_unknown: float
    accuracy_before: float
    accuracy_with_model: float

    def to_dict(self) -> dict[str, Any]:
        """Plain values."""
        return asdict(self)


def known_conditions(rules: Iterable[Any], design: Design, prior: Prior) -> dict[str, float]:
    """REC of each attribute that rules conclude on, preconditions known: the first scenario."""
    found: dict[str, float] = {}
    for rule in checked(rules, design):
        support = rule.support
        if support is None:
            names = list(rule.conditions)
            support = (
                float(prior.table(names)[_matching(rule, names, design), 0].sum()) if names else 1.0
            )
        found[rule.attribute] = found.get(rule.attribute, 0.0) + float(support * rule.confidence)
    return found


def unknown_conditions(rules: Iterable[Any], design: Design, prior: Prior) -> dict[str, float]:
    """REC of each attribute that rules conclude on, preconditions unknown: the second scenario."""
    found: dict[str, float] = {}
    for rule in checked(rules, design):
        term = _reported_confidence(rule, design, prior) * _kept(rule, design, prior)
        found[rule.attribute] = found.get(rule.attribute, 0.0) + term
    return found


def after_mining(
    models: Sequence[Sequence[Any]],
    design: Design,
    prior: Prior,
    attributes: Mapping[str, Scope],
    limits: Limits,
) -> dict[str, AfterMining]:
    """Every attribute that some model's rules conclude on."""
    known = _largest(known_conditions(model, design, prior) for model in models)
    unknown = _largest(unknown_conditions(model, design, prior) for model in models)
    result = {}
    for name, rec in known.items():
        before, accuracy = attributes[name].alone.pse, attributes[name].from_record.accuracy
        told = [_accuracy(model, name, design, prior, limits) for model in models]
        result[name] = AfterMining(
            name,
            before,
            rec,
            unknown[name],
            max(before - rec, 0.0),
            max(before - unknown[name], 0.0),
            accuracy,
            max(accuracy, *told),
        )
    return result


def _largest(found: Iterable[dict[str, float]]) -> dict[str, float]:
    largest: dict[str, float] = {}
    for one in found:
        largest |= {name: max(rec, largest.get(name, 0.0)) for name, rec in one.items()}
    return largest


def checked(rules: Iterable[Any], design: Design) -> list[Any]:
    """The rules, every name and number checked; an error names the rule, counting from 1.

    A rule whose confidence is not a number, because no record is estimated to meet its conditions,
    recovers nothing and is left out.
    """
    listed = list(rules)
    for number, rule in enumerate(listed, start=1):
        at = f"rule {number}"
        for field in ("conditions", "attribute", "category", "confidence", "support"):
            if not hasattr(rule, field):
                raise DataError(f"{at} has no {field!r}; give tacit.privacy.Rule or the like")
        try:
            design.schema[rule.attribute].code(rule.category)
            for name, wanted in rule.conditions.items():
                _codes(design.schema[name], wanted)
        except ValueError as error:
            raise DataError(f"{at}: {error}") from None
        if rule.attribute in rule.conditions:
            raise DataError(f"{at} concludes on {rule.attribute!r}, which is one of its conditions")
        for field in ("confidence", "support"):
            value = getattr(rule, field)
            if value is not None and not 0 <= value <= 1 and not _untold(rule):
                raise DataError(f"{at}: {field} must lie between 0 and 1, got {value}")
    return [rule for rule in listed if not _untold(rule)]


def _untold(rule: Any) -> bool:
    return isinstance(rule.confidence, float) and math.isnan(rule.confidence)


def _codes(attribute: Attribute, wanted: Any) -> list[int]:
    several = isinstance(wanted, list | tuple | set | frozenset)
    return [attribute.code(label) for label in (wanted if several else [wanted])]


def _matching(rule: Any, names: Sequence[str], design: Design) -> Any:
    """Which cells of a flattened table over `names` meet the conditions."""
    holds = np.ones([1] * len(names), dtype=bool)
    for axis, name in enumerate(names):
        size = design.schema[name].size
        allowed = np.ones(size, dtype=bool)
        if name in rule.conditions:
            allowed = np.isin(np.arange(size), _codes(design.schema[name], rule.conditions[name]))
        holds = holds & allowed.reshape([-1 if i == axis else 1 for i in range(len(names))])
    return holds.ravel()


def _reported(names: Sequence[str], design: Design, prior: Prior) -> Array:
    """The reported joint table over these attributes, flattened in their order."""
    channel = design.channel(design.closure(names))
    for name in names:
        own = design.schema[name].categories
        if name not in channel.reported or channel.reported[name].categories != own:
            raise DesignError(
                f"attribute {name!r} is reported in categories of its own, so a reported rule "
                "about it has no meaning; measure without rules"
            )
    true = prior.table(channel.true.names)[:, 0].reshape(channel.true.sizes)
    reported = channel.disguised(true)
    order = channel.reported.names
    dropped = tuple(i for i, name in enumerate(order) if name not in names)
    kept = [name for name in order if name in names]
    table: Array = reported.sum(axis=dropped)
    return table.transpose([kept.index(name) for name in names]).ravel()


def _reported_confidence(rule: Any, design: Design, prior: Prior) -> float:
    """P(R_a = c | R = precondition); 0 where the precondition is never reported."""
    names = [*rule.conditions, rule.attribute]
    table = _reported(names, design, prior).reshape(-1, design.schema[rule.attribute].size)
    holds = _matching(rule, names[:-1], design) if len(names) > 1 else [True]
    row = table[holds].sum(axis=0)
    code = design.schema[rule.attribute].code(rule.category)
    return float(row[code] / row.sum()) if row.sum() > 0 else 0.0


def _kept(rule: Any, design: Design, prior: Prior) -> float:
    """P(O_a = c | R_a = c)."""
    name, code = rule.attribute, design.schema[rule.attribute].code(rule.category)
    names = design.closure([name])
    true = prior.table(names)[:, 0].reshape([design.schema[n].size for n in names])
    own = np.zeros_like(true)
    own[code] = true[code]
    channel = design.channel(names)
    axis = channel.reported.index(name)
    both = channel.disguised(own).take(code, axis=axis).sum()
    total = channel.disguised(true).take(code, axis=axis).sum()
    return float(both / total) if total > 0 else 0.0


def _accuracy(
    rules: Sequence[Any], name: str, design: Design, prior: Prior, limits: Limits
) -> float:
    """How often the best guess of an attribute is right, record and model in hand."""
    own = [rule for rule in checked(rules, design) if rule.attribute == name]
    if not own:
        return 0.0
    told = _with_model(own, name, design, prior, limits.max_cells)
    return risk_in_record(design, told, name, limits).figures(limits.level).accuracy


def _with_model(
    rules: Sequence[Any], name: str, design: Design, prior: Prior, max_cells: int
) -> Prior:
    """The prior with the model's confidences in place of its own conditional probabilities."""
    asked = {name, *(n for rule in rules for n in rule.conditions)}
    joined = [block for block in prior.blocks if asked & set(block.names)]
    names = [n for block in joined for n in block.names if n != name] + [name]
    sizes = [design.schema[n].size for n in names]
    if math.prod(sizes) > max_cells:
        raise DataError(
            f"the rules tie {len(names)} attributes with {math.prod(sizes):,} joint categories "
            f"together, more than the {max_cells:,} allowed; give rules with fewer conditions"
        )
    table = prior.table(names).reshape(-1, sizes[-1], prior.marginal(names).stacked)
    told = _told(rules, names[:-1], design)
    block = Block(tuple(names), _retold(table, told).reshape(*sizes, -1))
    others = [b for b in prior.blocks if not asked & set(b.names)]
    return Prior(prior.schema, (*others, block), prior.source)


def _told(rules: Sequence[Any], names: Sequence[str], design: Design) -> Array:
    """Confidence by cell and category; NaN where no rule speaks, the first where several do."""
    size = design.schema[rules[0].attribute].size
    cells = math.prod(design.schema[n].size for n in names)
    told: Array = np.full((cells, size), np.nan)
    for rule in reversed(rules):
        code = design.schema[rule.attribute].code(rule.category)
        told[_matching(rule, names, design), code] = rule.confidence
    claimed = np.nansum(told, axis=1, keepdims=True)
    return np.where(claimed > 1, told / np.maximum(claimed, 1), told)


def _retold(table: Array, told: Array) -> Array:
    """Each cell's probability, shared out as told; untold categories in proportion."""
    margin = table.sum(axis=1, keepdims=True)
    silent: Mask = np.isnan(told)
    rest = 1 - np.where(silent, 0.0, told).sum(axis=1)
    weights = table * silent[:, :, None]
    total = weights.sum(axis=1, keepdims=True)
    even = silent / np.maximum(silent.sum(axis=1, keepdims=True), 1)
    share = np.divide(
        weights, total, out=np.repeat(even[:, :, None], table.shape[2], 2), where=total > 0
    )
    spoken = np.where(silent, 0.0, told)[:, :, None]
    whole = spoken + rest[:, None, None] * share
    whole = whole / whole.sum(axis=1, keepdims=True)
    told_of = np.flatnonzero(~silent.all(axis=1))
    retold = table.copy()
    retold[told_of] = (margin * whole)[told_of]
    return retold
