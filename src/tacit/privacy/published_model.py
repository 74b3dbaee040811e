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
weighted by how often a rule applies, REC may exceed 1. Of an estimated prior the upper end of its
draws is taken.

Beside it stands a figure without these oddities: how often an adversary is right who holds the
whole reported record, the design, the prior and the model, and guesses best; and the largest
posterior. The model enters as knowledge of how answers go together: where a rule applies, its
confidence replaces what the prior says of the conclusion, and other categories share the rest as
before. This tells about the attributes in conditions as well: a rule that ties age to drug use
makes a reported age evidence of drug use. REC of an attribute that no rule concludes on is 0.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, fields
from typing import Any

import numpy as np

from tacit.core.arrays import Array, Mask
from tacit.core.design import Design
from tacit.core.schema import Attribute, Label
from tacit.errors import DataError, DesignError, FileError
from tacit.output.json_documents import parse_json
from tacit.privacy.known_others import risk_knowing
from tacit.privacy.prior import Prior, PriorTable
from tacit.privacy.risk import quotient, upper
from tacit.privacy.scopes import (
    Limits,
    Scope,
    joints_of,
    part_of,
    parts_of,
    reports_of,
    risk_in_record,
)


@dataclass(frozen=True)
class Rule:
    """If all conditions hold, `attribute` is `category`, with this confidence.

    A condition gives an attribute one category or a collection of allowed ones. `support` is
    the probability that the conditions hold; None takes it from the prior. Anything with these
    five names serves as a rule. If it also has `conditions_support`, that is the probability that
    the conditions hold: the support of an association rule includes its conclusion.
    """

    conditions: Mapping[str, Any]
    attribute: str
    category: Label
    confidence: float
    support: float | None = None


@dataclass(frozen=True)
class AfterMining:
    """One attribute before and after rules are published; see the module for the figures.

    `accuracy_with_model` and `worst_with_model` are None where rules tie more categories together
    than can be measured.
    """

    attribute: str
    pse_before: float
    rec_known: float
    rec_unknown: float
    pse_known: float
    pse_unknown: float
    accuracy_before: float
    accuracy_with_model: float | None
    worst_before: float
    worst_with_model: float | None


def known_conditions(
    rules: Iterable[Any], design: Design, prior: Prior, level: float = 0.95
) -> dict[str, float]:
    """REC of each attribute that rules conclude on, preconditions known: the first scenario."""

    def term(rule: Any) -> Array:
        given = _conditions_support(rule)
        support = _true_chance(_event(rule, design), prior) if given is None else given
        return np.asarray(rule.confidence * support)

    return _recovered(checked(rules, design), term, level)


def unknown_conditions(
    rules: Iterable[Any], design: Design, prior: Prior, level: float = 0.95
) -> dict[str, float]:
    """REC of each attribute that rules conclude on, preconditions unknown: the second scenario."""

    def term(rule: Any) -> Array:
        name, attribute = rule.attribute, design.schema[rule.attribute]
        event, code = _event(rule, design), attribute.code(rule.category)
        both = _reported_chance(event | {name: [code]}, design, prior)
        alone = _reported_chance(event | {name: range(attribute.size)}, design, prior)
        _, joints = joints_of(design, prior, name)
        true, sent = np.array([(joint[code, code], joint[code].sum()) for joint in joints]).T
        return quotient(both, alone) * quotient(true, sent)

    return _recovered(checked(rules, design), term, level)


def _recovered(
    rules: Iterable[Any], term: Callable[[Any], Array], level: float
) -> dict[str, float]:
    """Terms summed by attribute, at the upper end over the stack of priors."""
    sums: dict[str, Array] = {}
    for rule in rules:
        sums[rule.attribute] = sums.get(rule.attribute, np.zeros(1)) + term(rule)
    return {name: float(upper(values, level)) for name, values in sums.items()}


def after_mining(
    models: Sequence[Sequence[Any]],
    design: Design,
    prior: Prior,
    attributes: Mapping[str, Scope],
    limits: Limits,
) -> dict[str, AfterMining]:
    """Every attribute that some model's rules name, in a condition or as a conclusion."""
    level = limits.level
    known = _largest(known_conditions(model, design, prior, level) for model in models)
    unknown = _largest(unknown_conditions(model, design, prior, level) for model in models)
    priors_of = [
        given for model in models for given in told_priors(model, design, prior, limits.max_cells)
    ]
    result = {}
    for name in design.schema.names:
        priors = [given for names, given in priors_of if name in names]
        if not priors:
            continue
        before, record = attributes[name].alone.pse, attributes[name].from_record
        rec_known, rec_unknown = known.get(name, 0.0), unknown.get(name, 0.0)
        accuracy: float | None = None
        worst: float | None = None
        if None not in priors:
            risks = [risk_in_record(design, p, name, limits) for p in priors if p is not None]
            figures_of = [record, *(risk.figures(level) for risk in risks)]
            accuracy = max(figures.accuracy for figures in figures_of)
            worst = max(figures.worst_posterior for figures in figures_of)
        result[name] = AfterMining(
            attribute=name,
            pse_before=before,
            rec_known=rec_known,
            rec_unknown=rec_unknown,
            pse_known=max(before - rec_known, 0.0),
            pse_unknown=max(before - rec_unknown, 0.0),
            accuracy_before=record.accuracy,
            accuracy_with_model=accuracy,
            worst_before=record.worst_posterior,
            worst_with_model=worst,
        )
    return result


def told_priors(
    rules: Sequence[Any], design: Design, prior: Prior, max_cells: int
) -> list[tuple[set[str], Prior | None]]:
    """What an adversary knows who holds a model, with the attributes that it concerns.

    One prior for each attribute that rules conclude on, and one with all rules; None where they
    tie more categories together than can be measured.
    """
    by_target: dict[str, list[Any]] = {}
    for rule in checked(rules, design):
        by_target.setdefault(rule.attribute, []).append(rule)
    priors: list[tuple[set[str], Prior | None]] = []
    together: Prior | None = prior
    for name, concluding in by_target.items():
        named = {name, *(n for rule in concluding for n in rule.conditions)}
        priors.append((named, _with_model(concluding, name, design, prior, max_cells)))
        if together is not None:
            together = _with_model(concluding, name, design, together, max_cells)
    if len(priors) > 1:
        priors.append((set().union(*(named for named, _ in priors)), together))
    return priors


def _largest(models: Iterable[dict[str, float]]) -> dict[str, float]:
    largest: dict[str, float] = {}
    for recovered in models:
        largest |= {name: max(rec, largest.get(name, 0.0)) for name, rec in recovered.items()}
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
            for name, labels in rule.conditions.items():
                _codes(design.schema[name], labels)
        except ValueError as error:
            raise DataError(f"{at}: {error}") from None
        if rule.attribute in rule.conditions:
            raise DataError(f"{at} concludes on {rule.attribute!r}, which is one of its conditions")
        for field in ("confidence", "support"):
            value = rule.confidence if field == "confidence" else _conditions_support(rule)
            if value is not None and not 0 <= value <= 1 and not _untold(rule):
                raise DataError(f"{at}: {field} must lie between 0 and 1, got {value}")
    return [rule for rule in listed if not _untold(rule)]


def _conditions_support(rule: Any) -> float | None:
    """The stated probability that the conditions hold; an estimate may lie outside [0, 1]."""
    stated = getattr(rule, "conditions_support", None)
    if stated is not None:
        return min(max(float(stated), 0.0), 1.0)
    support: float | None = rule.support
    return support


def _untold(rule: Any) -> bool:
    return isinstance(rule.confidence, float) and math.isnan(rule.confidence)


def _codes(attribute: Attribute, labels: Any) -> list[int]:
    several = isinstance(labels, list | tuple | set | frozenset)
    return [attribute.code(label) for label in (labels if several else [labels])]


def _matching(rule: Any, names: Sequence[str], design: Design) -> Any:
    """Which cells of a flattened table over `names` meet the conditions."""
    event, holds = _event(rule, design), np.ones(1, dtype=bool)
    for size, name in ((design.schema[name].size, name) for name in names):
        allowed = np.isin(np.arange(size), list(event.get(name, range(size))))
        holds = np.logical_and.outer(holds, allowed).ravel()
    return holds


def _event(rule: Any, design: Design) -> dict[str, list[int]]:
    """The codes that each condition allows."""
    return {name: _codes(design.schema[name], labels) for name, labels in rule.conditions.items()}


def _true_chance(event: Mapping[str, Sequence[int]], prior: Prior) -> Array:
    """P(O in event), one entry per prior."""
    chance: Array = np.ones(1)
    for block in prior.marginal(list(event)).blocks:
        chance = chance * _within(block.tables, [event[name] for name in block.names])
    return chance


def _reported_chance(event: Mapping[str, Sequence[int]], design: Design, prior: Prior) -> Array:
    """P(R in event), one entry per prior; parts of the record that are independent apart."""
    channel = design.channel(design.jointly_reported(list(event)))
    for name in event:
        categories = design.schema[name].categories
        if name not in channel.reported or channel.reported[name].categories != categories:
            raise DesignError(
                f"attribute {name!r} is reported in categories of its own, so a reported rule "
                "about it has no meaning; measure without rules"
            )
    chance: Array = np.ones(1)
    for factors in parts_of(channel.factors, prior):
        axes = [channel.reported.attributes[i] for f in factors for i in f.reported_axes]
        table = reports_of(part_of(factors, prior))
        allowed = [event.get(a.name, range(a.size)) for a in axes]
        chance = chance * _within(table.reshape(*(a.size for a in axes), -1), allowed)
    return chance


def _within(table: Array, allowed: Sequence[Sequence[int]]) -> Array:
    """The sum over the allowed codes of every axis but the last."""
    for axis, codes in enumerate(allowed):
        table = table.take(list(codes), axis=axis)
    return np.asarray(table.reshape(-1, table.shape[-1]).sum(axis=0))


def _with_model(
    rules: Sequence[Any], name: str, design: Design, prior: Prior, max_cells: int
) -> Prior | None:
    """The prior with the model's confidences for its own conditionals; None if too large."""
    named = {name, *(n for rule in rules for n in rule.conditions)}
    joined = [block for block in prior.blocks if named & set(block.names)]
    names = [n for block in joined for n in block.names if n != name] + [name]
    sizes = [design.schema[n].size for n in names]
    if math.prod(sizes) > max_cells:
        return None
    table = prior.table(names).reshape(-1, sizes[-1], prior.marginal(names).stacked)
    stated = _told(rules, names[:-1], design)
    block = PriorTable(tuple(names), _retold(table, stated).reshape(*sizes, -1))
    others = [b for b in prior.blocks if not named & set(b.names)]
    return Prior(prior.schema, (*others, block), prior.source)


def _told(rules: Sequence[Any], names: Sequence[str], design: Design) -> Array:
    """Confidence by cell and category; NaN where no rule speaks, the first where several do."""
    size = design.schema[rules[0].attribute].size
    cells = math.prod(design.schema[n].size for n in names)
    stated: Array = np.full((cells, size), np.nan)
    for rule in reversed(rules):
        code = design.schema[rule.attribute].code(rule.category)
        stated[_matching(rule, names, design), code] = rule.confidence
    claimed = np.nansum(stated, axis=1, keepdims=True)
    return np.where(claimed > 1, stated / np.maximum(claimed, 1), stated)


def _retold(table: Array, stated: Array) -> Array:
    """Each cell's probability, shared out as told; untold categories in proportion."""
    margin = table.sum(axis=1, keepdims=True)
    silent: Mask = np.isnan(stated)
    rest = 1 - np.where(silent, 0.0, stated).sum(axis=1)
    weights = table * silent[:, :, None]
    total = weights.sum(axis=1, keepdims=True)
    even = silent / np.maximum(silent.sum(axis=1, keepdims=True), 1)
    share = np.divide(
        weights, total, out=np.repeat(even[:, :, None], table.shape[2], 2), where=total > 0
    )
    spoken = np.where(silent, 0.0, stated)[:, :, None]
    whole = spoken + rest[:, None, None] * share
    whole = whole / whole.sum(axis=1, keepdims=True)
    told_of = np.flatnonzero(~silent.all(axis=1))
    retold = table.copy()
    retold[told_of] = (margin * whole)[told_of]
    return retold


NOTHING, REPORT, MODEL, OTHERS, ALL = "nothing", "report", "model", "others", "all"


@dataclass(frozen=True)
class Inference:
    """How often the best guess of an answer is right, and the largest posterior."""

    attribute: str
    known: str
    accuracy: float
    worst_posterior: float


def inferences(
    design: Design, prior: Prior, told: Prior | None, names: Sequence[str], limits: Limits
) -> list[Inference]:
    """What can be inferred of these attributes; `told` is the prior of someone with the model.

    A model that is learnt from disguised reports costs no privacy beyond that of the reports: it is
    computed from them (post-processing, Dwork & Roth 2014, proposition 2.1). But it tells how
    answers go together, and so it also tells about people who are like others, whether they took
    part or not. Each figure is for someone who knows how common the answers are, and besides

        NOTHING   nothing
        REPORT    the whole disguised record of the person
        MODEL     her disguised record and the model
        OTHERS    her true answers to all other questions, and the model
        ALL       her disguised record, her true answers to all other questions, and the model

    A model enters as a prior that ties answers together: `told_priors` of rules, `class_prior` of
    naive Bayes, `mixture_prior` of latent classes. Figures are None where it ties more categories
    together than can be measured.
    """
    inferred = []
    for name in names:
        single = prior.table([name])[:, 0]
        inferred.append(Inference(name, NOTHING, float(single.max()), float(single.max())))
        risks = {REPORT: risk_in_record(design, prior, name, limits)}
        if told is not None:
            risks[MODEL] = risk_in_record(design, told, name, limits)
            found_knowing = risk_knowing(design, told, name, limits)
        for known, risk in risks.items():
            figures = risk.figures(limits.level)
            inferred.append(Inference(name, known, figures.accuracy, figures.worst_posterior))
        if told is not None:
            inferred.append(_like_others(told, name))
            figures = found_knowing.figures(limits.level)
            inferred.append(Inference(name, ALL, figures.accuracy, figures.worst_posterior))
    return inferred


def _like_others(told: Prior, name: str) -> Inference:
    """Without any report: by the prior of the attribute given the others."""
    block = next(block for block in told.blocks if name in block.names)
    table = np.moveaxis(block.tables[..., 0], block.names.index(name), 0)
    table = table.reshape(len(table), -1)
    total, best = table.sum(axis=0), table.max(axis=0)
    worst = np.divide(best, total, out=np.zeros_like(best), where=total > 0).max()
    return Inference(name, OTHERS, float(best.sum()), float(worst))


def class_prior(
    prior: Prior, target: str, shares: Array, tables: dict[str, Array], max_cells: int
) -> Prior | None:
    """P(class) times P(answer | class) of each attribute, as naive Bayes has it."""
    joint = _products(shares, list(tables.values()), max_cells)
    return None if joint is None else _tied(prior, (target, *tables), joint)


def mixture_prior(
    prior: Prior, shares: Array, tables: dict[str, Array], max_cells: int
) -> Prior | None:
    """The sum of this product over classes that no answer names, as latent classes have it."""
    joint = _products(shares, list(tables.values()), max_cells * len(shares))
    return None if joint is None else _tied(prior, tuple(tables), joint.sum(axis=0))


def _products(shares: Array, tables: list[Array], max_cells: int) -> Array | None:
    """shares[c] times the product of tables[c, x], classes x categories; None if too large."""
    sizes = [table.shape[1] for table in tables]
    if len(shares) * math.prod(sizes) > max_cells:
        return None
    joint: Array = shares[:, None]
    for table in tables:
        joint = (joint[:, :, None] * table[:, None, :]).reshape(len(shares), -1)
    return joint.reshape(len(shares), *sizes)


def _tied(prior: Prior, names: tuple[str, ...], joint: Array) -> Prior:
    """The prior with one table over these attributes; the others as before.

    Where a table of the prior has some of these attributes and others, as conditions between
    questions make it, the others keep their distribution given those.
    """
    apart = []
    for block in prior.blocks:
        inside = [name for name in names if name in block.names]
        added = [name for name in block.names if name not in names]
        if not inside:
            apart.append(block)
        elif added:
            order = [block.names.index(name) for name in (*inside, *added)]
            table = block.tables[..., 0].transpose(order)
            total = table.sum(axis=tuple(range(len(inside), table.ndim)), keepdims=True)
            given = np.divide(table, total, out=np.zeros_like(table), where=total > 0)
            shape = [joint.shape[i] if name in inside else 1 for i, name in enumerate(names)]
            given = given.reshape(*shape, *table.shape[len(inside) :])
            joint = joint.reshape(*joint.shape, *(1 for _ in added)) * given
            names = (*names, *added)
    joint_table = PriorTable(names, (joint / joint.sum())[..., None])
    return Prior(prior.schema, (*apart, joint_table), prior.source)


def rules_from_json(text: str) -> list[Rule]:
    """The rules of a model.

    A rules file is a list, or an object that has one as `tacit mine tree --json` prints it and
    `tacit mine rules` writes it; what else is said of a rule there is not read:

        [{"conditions": {"smokes": "yes"}, "attribute": "income", "category": "low",
          "confidence": 0.8, "support": 0.3}]

    `support` is the probability of the conditions. The support of an association rule includes its
    conclusion, so such a rule has `conditions_support` beside it.
    """
    content = parse_json(text, "rules file")
    if isinstance(content, dict) and "rules" in content:
        content = content["rules"]
    if not isinstance(content, list):
        raise FileError(f"rules must be a list, got {type(content).__name__}")
    return [_rule(item, f"[{i}]") for i, item in enumerate(content)]


def _rule(item: Any, where: str) -> Rule:
    required = {"conditions", "attribute", "category", "confidence"}
    if isinstance(item, dict) and "conclusion" in item:
        raise FileError(
            f"{where} concludes on several attributes at once; mine rules with one conclusion"
        )
    if not isinstance(item, dict) or not required <= set(item):
        raise FileError(
            f"{where} must be an object with 'conditions', 'attribute', 'category', "
            f"'confidence' and, if known, 'support'; got {item!r:.60}"
        )
    if not isinstance(item["conditions"], dict) or not isinstance(item["attribute"], str):
        raise FileError(f"{where}: conditions must be an object and attribute a name")
    for number in ("confidence", "support", "conditions_support"):
        value = item.get(number)
        wrong = isinstance(value, bool) or not isinstance(value, int | float)
        if wrong and (number == "confidence" or value is not None):
            raise FileError(f"{where}.{number} must be a number, got {value!r:.60}")
    if item.get("conditions_support") is not None:  # estimates may lie outside [0, 1]
        item = item | {"support": min(max(float(item["conditions_support"]), 0.0), 1.0)}
    return Rule(**{field.name: item[field.name] for field in fields(Rule) if field.name in item})
