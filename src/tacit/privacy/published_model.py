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
from functools import reduce
from types import SimpleNamespace
from typing import Any, NamedTuple

import numpy as np

from tacit.core.argument_checks import check_number, check_share
from tacit.core.arrays import Array, row_products
from tacit.core.channel.numbers import quotient
from tacit.core.design import Design
from tacit.core.schema import Label
from tacit.errors import DataError, DesignError, FileError
from tacit.output.json_documents import parse_json
from tacit.privacy import scopes
from tacit.privacy.known_others import risks_knowing
from tacit.privacy.prior import Prior, PriorTable
from tacit.privacy.risk import Risk, joint_risk, slack_of, upper
from tacit.privacy.scopes import Limits, Scope, risk_in_record


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


class _CheckedRule(NamedTuple):
    """A rule in codes; `support` is the probability that the conditions hold, if it is stated."""

    event: dict[str, list[int]]
    attribute: str
    code: int
    confidence: float
    support: float | None


def known_conditions(
    rules: Iterable[Any], design: Design, prior: Prior, level: float = 0.95
) -> dict[str, float]:
    """REC of each attribute that rules conclude on, preconditions known: the first scenario."""

    def term(rule: _CheckedRule) -> Array:
        if rule.support is not None:
            return np.asarray(rule.confidence * rule.support)
        chance: Array = np.ones(1)  # P(O in event), one entry per prior
        for block in prior.marginal(list(rule.event)).blocks:
            chance = chance * _within(block.tables, [rule.event[name] for name in block.names])
        return np.asarray(rule.confidence * chance)

    return _recovered(checked(rules, design), term, level)


def unknown_conditions(
    rules: Iterable[Any], design: Design, prior: Prior, level: float = 0.95
) -> dict[str, float]:
    """REC of each attribute that rules conclude on, preconditions unknown: the second scenario."""

    def term(rule: _CheckedRule) -> Array:
        name, code = rule.attribute, rule.code
        every = range(design.schema[name].size)
        both = _reported_chance(rule.event | {name: [code]}, design, prior)
        alone = _reported_chance({**rule.event, name: every}, design, prior)
        _, joints = scopes.joints_of(design, prior, name)
        true, sent = np.array([(joint[code, code], joint[code].sum()) for joint in joints]).T
        return quotient(both, alone) * quotient(true, sent)

    return _recovered(checked(rules, design), term, level)


def _recovered(
    rules: list[_CheckedRule], term: Callable[[_CheckedRule], Array], level: float
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
    known = [known_conditions(model, design, prior, level) for model in models]
    unknown = [unknown_conditions(model, design, prior, level) for model in models]
    priors_of = [
        given for model in models for given in told_priors(model, design, prior, limits.max_cells)
    ]
    result = {}
    for name in design.schema.names:
        priors = [given for names, given in priors_of if name in names]
        if not priors:
            continue
        before, record = attributes[name].alone.pse, attributes[name].from_record
        rec_known, rec_unknown = (
            max(recovered.get(name, 0.0) for recovered in by_model) for by_model in (known, unknown)
        )
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
    by_target: dict[str, list[_CheckedRule]] = {}
    for rule in checked(rules, design):
        by_target.setdefault(rule.attribute, []).append(rule)
    priors: list[tuple[set[str], Prior | None]] = []
    together: Prior | None = prior
    for name, concluding in by_target.items():
        named = {name, *(n for rule in concluding for n in rule.event)}
        priors.append((named, _with_model(concluding, named, prior, max_cells)))
        if together is not None:
            together = _with_model(concluding, named, together, max_cells)
    if len(priors) > 1:
        priors.append((set().union(*(named for named, _ in priors)), together))
    return priors


def checked(rules: Iterable[Any], design: Design) -> list[_CheckedRule]:
    """The rules, every name and number checked; an error names the rule, counting from 1.

    A rule whose confidence is not a number, because no record is estimated to meet its conditions,
    recovers nothing and is left out.
    """
    rules_in_codes = []
    for number, rule in enumerate(rules, start=1):
        at, event = f"rule {number}", dict[str, list[int]]()
        for field in fields(Rule):
            if not hasattr(rule, field.name):
                raise DataError(f"{at} has no {field.name!r}; give tacit.privacy.Rule or the like")
        try:
            code = design.schema[rule.attribute].code(rule.category)
            for name, labels in rule.conditions.items():
                several = isinstance(labels, list | tuple | set | frozenset)
                attribute = design.schema[name]
                event[name] = [attribute.code(c) for c in (labels if several else [labels])]
        except ValueError as error:
            raise DataError(f"{at}: {error}") from None
        if rule.attribute in event:
            raise DataError(f"{at} concludes on {rule.attribute!r}, which is one of its conditions")
        if isinstance(rule.confidence, float) and math.isnan(rule.confidence):
            continue
        support = getattr(rule, "conditions_support", None)
        if support is None:
            support = rule.support
        else:  # an estimate may lie outside [0, 1]
            support = min(max(check_number(f"{at}: conditions_support", support), 0.0), 1.0)
        for what, share in (("confidence", rule.confidence), ("support", support)):
            if share is not None:
                check_share(f"{at}: {what}", share)
        rules_in_codes.append(_CheckedRule(event, rule.attribute, code, rule.confidence, support))
    return rules_in_codes


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
    for factors in scopes.parts_of(channel.factors, prior):
        axes = [channel.reported.attributes[i] for f in factors for i in f.reported_axes]
        table = scopes.reports_of(scopes.part_of(factors, prior))
        allowed = [event.get(a.name, range(a.size)) for a in axes]
        chance = chance * _within(table.reshape(*(a.size for a in axes), -1), allowed)
    return chance


def _within(table: Array, allowed: Sequence[Sequence[int]]) -> Array:
    """The sum over the allowed codes of every axis but the last."""
    for axis, codes in enumerate(allowed):
        table = table.take(list(codes), axis=axis)
    return np.asarray(table.reshape(-1, table.shape[-1]).sum(axis=0))


def _with_model(
    rules: list[_CheckedRule], named: set[str], prior: Prior, max_cells: int
) -> Prior | None:
    """The prior with the model's confidences for its own conditionals; None if too large.

    Each cell's probability is shared out as told: the first rule where several apply; categories
    that no rule names share the rest in proportion.
    """
    target = rules[0].attribute
    joined = [block for block in prior.blocks if named & set(block.names)]
    names = [n for block in joined for n in block.names if n != target] + [target]
    *shape, size = (prior.schema[n].size for n in names)
    if math.prod(shape) * size > max_cells:
        return None
    table = prior.table(names).reshape(*shape, size, -1)
    stated: Array = np.full((*shape, size, 1), np.nan)
    for rule in reversed(rules):
        cells = [rule.event.get(n, range(k)) for n, k in zip(names, shape, strict=False)]
        stated[np.ix_(*cells, [rule.code])] = rule.confidence
    told = np.nan_to_num(stated)
    claimed = told.sum(axis=-2, keepdims=True)
    told = told / np.maximum(claimed, 1)
    silent = np.isnan(stated)
    weights = table * silent
    total = weights.sum(axis=-2, keepdims=True)
    even = silent / np.maximum(silent.sum(axis=-2, keepdims=True), 1)
    share = quotient(weights, total, even)
    whole = told + (1 - told.sum(axis=-2, keepdims=True)) * share
    whole = whole / whole.sum(axis=-2, keepdims=True)
    applies = ~silent.all(axis=-2, keepdims=True)
    retold = np.where(applies, table.sum(axis=-2, keepdims=True) * whole, table)
    others = [b for b in prior.blocks if not named & set(b.names)]
    return Prior(prior.schema, (*others, PriorTable(tuple(names), retold)), prior.source)


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
    naive Bayes and of latent classes. Figures are None where it ties more categories
    together than can be measured.
    """

    def inference(name: str, known: str, risk: Risk) -> Inference:
        figures = risk.figures(limits.level)
        return Inference(name, known, figures.accuracy, figures.worst_posterior)

    inferred = []
    for name in names:
        largest = float(prior.table([name])[:, 0].max())
        inferred.append(Inference(name, NOTHING, largest, largest))
        inferred.append(inference(name, REPORT, risk_in_record(design, prior, name, limits)))
        if told is not None:
            inferred.append(inference(name, MODEL, risk_in_record(design, told, name, limits)))
            block = next(block for block in told.blocks if name in block.names)
            table = np.moveaxis(block.tables[..., :1], block.names.index(name), 0)
            others = joint_risk(table.reshape(len(table), -1, 1), slack_of(table.size))
            inferred.append(inference(name, OTHERS, others))
            knowing = risks_knowing(design, told, limits, [name])[name]
            inferred.append(inference(name, ALL, knowing))
    return inferred


def class_prior(
    prior: Prior, target: str | None, shares: Array, tables: dict[str, Array], max_cells: int
) -> Prior | None:
    """P(class) times P(answer | class) of each attribute, as naive Bayes has it.

    Without a target, the sum over classes that no answer names, as latent classes have it. None if
    the table is too large.
    """
    sizes = [table.shape[1] for table in tables.values()]
    if (1 if target is None else len(shares)) * math.prod(sizes) > max_cells:
        return None
    joint = reduce(row_products, tables.values(), shares[:, None]).reshape(-1, *sizes)
    if target is None:
        return _tied(prior, tuple(tables), joint.sum(axis=0))
    return _tied(prior, (target, *tables), joint)


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
            given = quotient(table, total)
            shape = [joint.shape[i] if name in inside else 1 for i, name in enumerate(names)]
            given = given.reshape(*shape, *table.shape[len(inside) :])
            joint = joint.reshape(*joint.shape, *(1 for _ in added)) * given
            names = (*names, *added)
    joint_table = PriorTable(names, (joint / joint.sum())[..., None])
    return Prior(prior.schema, (*apart, joint_table), prior.source)


def rules_from_json(text: str) -> list[Any]:
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
    rules = []
    for i, item in enumerate(content):
        match item:
            case {"conclusion": _}:
                raise FileError(
                    f"[{i}] concludes on several attributes at once; mine rules with one conclusion"
                )
            case {
                "conditions": dict(),
                "attribute": str(),
                "category": _,
                "confidence": int() | float(),
            }:
                rules.append(SimpleNamespace(**({"support": None} | item)))
            case _:
                raise FileError(
                    f"[{i}] must be an object with 'conditions' (an object), 'attribute' (a name), "
                    "'category', 'confidence' (a number) and, if known, 'support'; "
                    f"got {item!r:.60}"
                )
    return rules
