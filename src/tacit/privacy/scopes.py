"""The figures of every attribute, every group and the whole record of a design.

Two adversaries are measured for each. One sees the scope's own report alone, as in Zhan & Matwin
and Huang & Du. The other holds the whole reported record, and uses what the prior says about
answers that go together. Groups that no table of the prior ties together are
independent, so a record falls into parts; each is computed exactly where its joint table has at
most `max_cells` cells, else by Monte Carlo.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property, partial
from itertools import chain, product
from typing import Any, Generic, TypeVar

import numpy as np

from tacit.core.arrays import Array, Index, Mask
from tacit.core.channel.kernels import Mixture, Step, along_axis, dense_pass, uncertainty
from tacit.core.channel.numbers import quotient, sum_up
from tacit.core.design import Design, Factor
from tacit.core.schema import Attribute, Label, Schema
from tacit.errors import DataError
from tacit.privacy import risk
from tacit.privacy.prior import DRAWS, Prior, PriorTable
from tacit.privacy.risk import Figures, Risk, slack_of
from tacit.records import Progress


@dataclass(frozen=True)
class JointGroups:
    """Groups that the prior ties together, with its tables: one axis per group, then the priors.

    The table of the prior is passed through the channel group by group (see `Channel.apply`), with
    every group's sum, squares or largest product as the target asks; the Kronecker product of the
    groups is never built, and a prior that ties groups together is no obstacle.
    """

    factors: tuple[Factor, ...]
    schema: Schema
    prior: Array

    @property
    def slack(self) -> float:
        """A bound on the relative error of what is computed from this part."""
        length = sum(factor.channel.length for factor in self.factors)
        return slack_of(length + 2 * self.prior.size.bit_length())


def part_of(factors: Sequence[Factor], prior: Prior) -> JointGroups:
    """The groups of one part with the joint table of their attributes."""
    names = [name for factor in factors for name in factor.names]
    sizes = [math.prod(factor.channel.true_shape) for factor in factors]
    table = prior.table(names).reshape(*sizes, -1)
    return JointGroups(tuple(factors), prior.schema, table)


def reports_of(part: JointGroups) -> Array:
    """The probability of every report: one axis per group, then the priors."""
    return _pass(part, part.prior, Step.TOTAL, range(len(part.factors)))


def risk_of(part: JointGroups, names: Sequence[str], passed: Array | None = None) -> Risk:
    """The risk of some true answers, to someone who sees all reports of the part.

    The answers are all of the part, those of one group or one attribute. `passed` is the table in
    which all other groups are reports, if it is known already.
    """
    places = [i for i, factor in enumerate(part.factors) if set(factor.names) <= set(names)]
    if not places:
        joint = joint_of_attribute(part, names[0], passed)
        return risk.joint_risk(joint.reshape(len(joint), -1, joint.shape[-1]), part.slack)
    others = [i for i in range(len(part.factors)) if i not in places]
    table = _pass(part, part.prior, Step.TOTAL, others) if passed is None else passed
    prior = _flat(part.prior.sum(axis=tuple(others)))
    given = risk.add(uncertainty(_flat(table))) - risk.add(uncertainty(prior))
    for axis in places:
        margin = np.moveaxis(table, axis, 0)
        margin = margin.reshape(margin.shape[0], -1, table.shape[-1]).sum(axis=1)
        given = given + part.factors[axis].channel.entropies @ margin
    total = _flat(_pass(part, table, Step.TOTAL, places))
    squares = _flat(_pass(part, table**2, Step.SQUARES, places))
    peak = _flat(_pass(part, table, Step.PEAK, places))
    return risk.risk_of_sums(total, squares, peak, given, prior, part.slack)


def joint_of_attribute(part: JointGroups, name: str, passed: Array | None = None) -> Array:
    """P(category of an attribute, report): an axis for its categories, then those of reports."""
    axis = next(i for i, factor in enumerate(part.factors) if name in factor.names)
    if passed is None:
        others = [i for i in range(len(part.factors)) if i != axis]
        passed = _pass(part, part.prior, Step.TOTAL, others)
    names = part.factors[axis].names
    codes = np.indices([part.schema[n].size for n in names])[names.index(name)].ravel()
    shape = [-1 if i == axis else 1 for i in range(part.prior.ndim)]
    cells = ((codes == code).reshape(shape) for code in range(part.schema[name].size))
    return np.stack([_pass(part, passed * mask, Step.TOTAL, [axis]) for mask in cells])


def passed_by_group(part: JointGroups) -> Iterator[tuple[int, Array]]:
    """For each group, the table in which all others are reports; halves share their passes."""
    waiting = [(list(range(len(part.factors))), part.prior)]
    while waiting:
        places, table = waiting.pop()
        if len(places) == 1:
            yield places[0], table
            continue
        first, last = places[: len(places) // 2], places[len(places) // 2 :]
        waiting.append((first, _pass(part, table, Step.TOTAL, last)))
        waiting.append((last, _pass(part, table, Step.TOTAL, first)))


def _flat(table: Array) -> Array:
    """All cells along one axis, priors along the other."""
    return table.reshape(-1, table.shape[-1])


def _pass(part: JointGroups, table: Array, step: Step, places: Iterable[int]) -> Array:
    """One step for each of these groups, along its own axis."""
    for axis in places:
        table = along_axis(part.factors[axis].channel.apply, step, table, axis)
    return table


Flags = tuple[bool, ...]

#: Priors of a stack that are sampled, and reports drawn for each but the first, at least.
PRIORS, _FEWEST = 41, 500
#: Drawn reports times categories that are worked on at once.
_AT_ONCE = 2**21
#: Groups of several attributes that a prior may tie together: there are 2^groups terms.
_MOST_GROUPS = 8


class Sampled:
    """The risks of a part too large for its joint table, by Monte Carlo, for every prior.

    Of an estimated prior's draws only the first few are sampled, and more lightly, then taken in
    turn: they say how wide the interval is, the prior itself where it lies.

    A group of such a part keeps the truth with probability theta or else disguises attribute by
    attribute,

        M[y, x] = theta [x = y] + rest prod_a B_a[y_a, x_a],      rest = 1 - theta,

    and the prior is a product of small tables t_b. Given the set S of groups that kept the truth,
    every sum over true records is a product of small sums, which are tables over the report:

        J(y)       = sum_S prod_g w_g(S) prod_b t_b,S(y)
        w_g(S)     = theta in S, rest outside
        t_b,S(y)   = t_b summed against B_a over the attributes of groups outside S, at y elsewhere

    and likewise for sum_x J^2, with theta^2 + 2 theta rest B(y, y) and rest^2 B^2, and for max_x J,
    with theta + rest B(y, y) and the largest products. There are 2^groups sets S, but a group of
    one attribute never adds to them: it is one matrix. Reports are drawn, never their posteriors,
    so the standard error is that of a mean over y. A sample does not show the worst posterior: its
    bound from epsilon is given instead, p e / (p e + 1 - p) with e = exp(epsilon) and p the largest
    prior (1 where epsilon is infinite). A group among others that the prior ties to it is measured
    for one who also knows which other groups kept the truth: a bound on the safe side.
    """

    exact = False

    def __init__(self, factors: Sequence[Factor], prior: Prior, limits: Limits) -> None:
        mixtures = [_mixture_of(factor) for factor in factors]
        several = sum(0 < mixture.theta < 1 for mixture in mixtures)
        if several > _MOST_GROUPS:
            raise DataError(
                f"the prior ties {several} groups of several attributes together, more than the "
                f"{_MOST_GROUPS} that can be measured; give it as tables that tie fewer"
            )
        self.names = tuple(name for factor in factors for name in factor.names)
        epsilon = sum_up([factor.channel.epsilon for factor in factors])
        marginal = prior.marginal(self.names)
        self._stacked = marginal.stacked
        seed = int(limits.rng.integers(2**63))
        self._samples = []
        for i in range(min(self._stacked, PRIORS)):
            # The same coins for every prior, so that their figures differ by the prior alone.
            rng, draws = np.random.default_rng(seed), limits.drawn
            draws = draws if i == 0 else max(_FEWEST, draws // 10)
            blocks = marginal.at(i)
            true = draw_true(blocks, draws, rng)
            kept = rng.random((draws, len(mixtures))) < [mixture.theta for mixture in mixtures]
            reported = _draw_reported(mixtures, kept, true, rng)
            self._samples.append(_Sample(mixtures, blocks, kept, true, reported, epsilon))

    def risk(self, names: Sequence[str]) -> Risk:
        """Of the part, of one of its groups or of an attribute, to one who sees all its reports."""
        return risk.in_turn([sample.risk(names) for sample in self._samples], self._stacked)


@dataclass(frozen=True, eq=False)
class _NamedMixture(Mixture):
    """theta, and for each attribute B_a[reported, true] of the other strategy.

    A group of one attribute has theta = 0 and its matrix as B.
    """

    names: tuple[str, ...]


def _mixture_of(factor: Factor) -> _NamedMixture:
    """The group's two strategies, or an error if it is not of this kind."""
    channel, names = factor.channel, factor.names
    if len(names) == 1:
        return _NamedMixture(0.0, 1.0, (channel.matrix,), None, names)
    mixture = channel.mixture
    if mixture is None or not mixture.others:
        raise DataError(
            f"group [{', '.join(names)}] {factor.coin} has too many joint categories to be "
            "measured; make the group smaller"
        )
    return _NamedMixture(mixture.theta, mixture.rest, mixture.others, None, names)


@dataclass(frozen=True)
class _Sample:
    """Drawn reports of a part and what they say under one prior; all sums are kept as logs."""

    mixtures: list[_NamedMixture]
    blocks: list[PriorTable]
    kept: Mask  # draws x groups
    true: dict[str, Index]
    reported: dict[str, Index]
    epsilon: float

    def _at(self, rows: Any) -> _Sample:
        """Some of the draws."""
        true = {name: codes[rows] for name, codes in self.true.items()}
        reported = {name: codes[rows] for name, codes in self.reported.items()}
        return replace(self, kept=self.kept[rows], true=true, reported=reported)

    @cached_property
    def _groups(self) -> dict[str, int]:
        return {name: g for g, mixture in enumerate(self.mixtures) for name in mixture.names}

    @cached_property
    def _others(self) -> dict[str, Array]:
        """B_a by attribute."""
        pairs = [zip(m.names, m.others, strict=True) for m in self.mixtures]
        return {name: other for pair in pairs for name, other in pair}

    def _sets(self, fixed: Mapping[int, bool]) -> list[Flags]:
        """Every S of positive probability, as a flag per group."""
        able = [
            [fixed[g]] if g in fixed else [f for f, p in ((True, m.theta), (False, m.rest)) if p]
            for g, m in enumerate(self.mixtures)
        ]
        return list(product(*able))

    def risk(self, names: Sequence[str]) -> Risk:
        """Of the part, of an attribute, or of a group to one who knows which others kept."""
        if len(names) == 1:
            return self._risk_of_attribute(names[0])
        others = [g for g, mixture in enumerate(self.mixtures) if mixture.names[0] not in names]
        kept, pattern = np.unique(self.kept[:, others], axis=0, return_inverse=True)
        draws = np.empty((3, len(self.kept)))
        for number, flags in enumerate(kept.tolist()):
            rows = np.flatnonzero(pattern.ravel() == number)
            draws[:, rows] = self._at(rows)._guessed(names, dict(zip(others, flags, strict=True)))
        margins = filter(None, (block.marginal(names) for block in self.blocks))
        largest = math.prod(float(block.tables.max()) for block in margins)
        worst = bound_on_posterior(largest, self.epsilon)
        return risk.sampled(draws, worst, largest, self._slack)

    def _guessed(self, names: Sequence[str], fixed: Mapping[int, bool]) -> tuple[Array, ...]:
        """How often guesses of these answers are right, drawn and best, and what reports tell.

        `fixed` says which of the other groups kept the truth.
        """
        terms: dict[Step, list[Array]] = {Step.TOTAL: [], Step.SQUARES: [], Step.PEAK: []}
        for flags, (step, logs) in product(self._sets(fixed), terms.items()):
            term = self._weight(flags, step, fixed)
            for block in self.blocks:
                table = self._table(block, flags, names)
                table = table**2 if step is Step.SQUARES else table
                table = self._moved(table, block, flags, step, names)
                term = term + safe_log(table[self._cell(block)])
            logs.append(term)
        chance = np.logaddexp.reduce(terms[Step.TOTAL])
        likely: Array = -chance
        for g, mixture in enumerate(self.mixtures):
            if g in fixed:
                likely += math.log(mixture.theta if fixed[g] else mixture.rest)
            else:  # M[y, x], x the truth behind each report
                same = [self.true[name] == self.reported[name] for name in mixture.names]
                kept = safe_log(mixture.theta * np.logical_and.reduce(same))
                likely += np.logaddexp(self._replaced(mixture, self.true), kept)
        # The chance of all other reports, given the true answers.
        decided = tuple(fixed.get(g, True) for g in range(len(self.mixtures)))
        for block in self.blocks:
            likely += safe_log(self._table(block, decided)[self._cell(block, names)])
            margin = block.marginal(names)
            if margin is not None:
                likely -= safe_log(margin.tables[self._cell(margin, names)])
        drawn = np.exp(np.logaddexp.reduce(terms[Step.SQUARES]) - 2 * chance)
        best = np.exp(np.maximum.reduce(terms[Step.PEAK]) - chance)
        return drawn, best, likely / math.log(2)

    def _risk_of_attribute(self, name: str) -> Risk:
        """Of one attribute, to someone who sees all reports of the part."""
        block = next(block for block in self.blocks if name in block.names)
        axis = block.names.index(name)
        prior = block.tables.sum(axis=tuple(i for i in range(block.tables.ndim) if i != axis))
        most = max(_FEWEST, _AT_ONCE // prior.size)
        if len(self.kept) > most:
            return self._at(slice(most))._risk_of_attribute(name)
        code = self.reported[name]
        share: Array = np.zeros((len(code), prior.size))
        for flags, (total, impossible) in self._totals.items():
            log_chance = safe_log(self._table(block, flags)[self._cell(block)])
            silent = np.isneginf(log_chance)
            rest = total - np.where(silent, 0.0, log_chance) - self._chance
            scale = np.where(impossible > silent, 0.0, np.exp(rest))
            if flags[self._groups[name]]:
                share[np.arange(len(code)), code] += scale * np.exp(log_chance)
            else:
                table = np.moveaxis(self._table(block, flags, [name]), axis, -1)
                cell = self._cell(block)
                left = table[cell[:axis] + cell[axis + 1 :]]
                share += scale[:, None] * left * self._others[name][code]
        share /= share.sum(axis=1, keepdims=True)
        worst = bound_on_posterior(float(prior.max()), self.epsilon)
        return risk.risk_of_posteriors(share, prior, worst, self._slack)

    @cached_property
    def _totals(self) -> dict[Flags, tuple[Array, Array]]:
        """For every S: the log of its term of J(y) as far as finite, and how many factors are 0."""
        totals = {}
        for flags in self._sets({}):
            total, impossible = self._weight(flags, Step.TOTAL), np.zeros(len(self.kept))
            for block in self.blocks:
                log_chance = safe_log(self._table(block, flags)[self._cell(block)])
                impossible += np.isneginf(log_chance)
                total = total + np.where(np.isneginf(log_chance), 0.0, log_chance)
            totals[flags] = total, impossible
        return totals

    @cached_property
    def _chance(self) -> Array:
        """log J(y)."""
        terms = [np.where(zeros > 0, -np.inf, total) for total, zeros in self._totals.values()]
        return np.asarray(np.logaddexp.reduce(terms))

    def _weight(self, flags: Flags, step: Step, fixed: Collection[int] = ()) -> Array:
        """Sum of log w_g(S); what kept the truth may also have been replaced by it."""
        total: Array = np.zeros(len(self.kept))
        power = 2 if step is Step.SQUARES else 1
        for g, (mixture, kept) in enumerate(zip(self.mixtures, flags, strict=True)):
            theta = mixture.theta
            if not kept or step is Step.TOTAL or g in fixed:
                total += power * math.log(theta if kept else mixture.rest)
                continue
            both = np.exp(self._replaced(mixture, self.reported))
            total += np.log(theta * (theta + 2 * both) if power == 2 else theta + both)
        return total

    def _replaced(self, mixture: _NamedMixture, true: Mapping[str, Index]) -> Array:
        """log of rest prod_a B_a[y_a, x_a] for each draw."""
        parts = zip(mixture.names, mixture.others, strict=True)
        logs = [safe_log(b[self.reported[n], true[n]]) for n, b in parts]
        return np.asarray(safe_log(np.array(mixture.rest)) + np.sum(logs, axis=0))

    def _table(self, block: PriorTable, flags: Flags, left: Collection[str] = ()) -> Array:
        """The block's table over reports, save for the attributes that are left as they are."""
        names = [name for name in block.names if name not in left]
        return self._moved(block.tables, block, flags, Step.TOTAL, names)

    def _moved(
        self, table: Array, block: PriorTable, flags: Flags, step: Step, names: Collection[str]
    ) -> Array:
        """One step along each of these attributes whose group is outside S."""
        for axis, name in enumerate(block.names):
            if name in names and not flags[self._groups[name]]:
                table = along_axis(partial(dense_pass, self._others[name]), step, table, axis)
        return table

    def _cell(self, block: PriorTable, true: Collection[str] = ()) -> tuple[Index, ...]:
        """Where each draw is found in a table: its reports, or its truth for some attributes."""
        return tuple((self.true if name in true else self.reported)[name] for name in block.names)

    @property
    def _slack(self) -> float:
        return slack_of(2 * sum(b.tables.size for b in self.blocks) + 64 * len(self.true))


def draw_true(
    blocks: Sequence[PriorTable], draws: int, rng: np.random.Generator
) -> dict[str, Index]:
    """True records of a prior whose tables are not stacked."""
    true: dict[str, Index] = {}
    for block in blocks:
        flat = rng.choice(block.tables.size, draws, p=block.tables.ravel())
        codes = np.unravel_index(flat, block.tables.shape)
        true |= dict(zip(block.names, codes, strict=True))
    return true


def _draw_reported(
    mixtures: Sequence[_NamedMixture],
    kept: Mask,
    true: Mapping[str, Index],
    rng: np.random.Generator,
) -> dict[str, Index]:
    """Their reports; `kept` says for each record and group whether it keeps the truth."""
    reported: dict[str, Index] = {}
    for mixture, keeps in zip(mixtures, kept.T, strict=True):
        for name, other in zip(mixture.names, mixture.others, strict=True):
            drawn = true[name].copy()
            for code, shares in enumerate(other.T):
                rows = np.flatnonzero((true[name] == code) & ~keeps)
                drawn[rows] = rng.choice(len(other), len(rows), p=shares / shares.sum())
            reported[name] = drawn
    return reported


def safe_log(values: Array) -> Array:
    """Logarithms; minus infinity at 0."""
    with np.errstate(divide="ignore"):
        return np.log(values)


def bound_on_posterior(largest: float, epsilon: float) -> float:
    """The posterior of a cell whose odds a report raised by exp(epsilon), rounded up."""
    if math.isinf(epsilon) or largest <= 0:  # a prior too small for a number
        return 1.0
    odds = math.exp(-epsilon) * (1 - largest) / largest
    return min(1.0, (1 + 1e-15) / (1 + odds))


Value = TypeVar("Value")
Other = TypeVar("Other")

#: Joint tables of at most this many cells are measured exactly.
MAX_CELLS = 2**18
#: Reports drawn by Monte Carlo.
DRAWN = 20_000


@dataclass(frozen=True)
class Scope:
    """An attribute, a group or the record: its figures for two adversaries, and its epsilon.

    `from_record` takes answers in different tables of the prior as unrelated, unless `known`: then
    it is known how answers go together.

    `weakest` is, for a group, the smallest PSE of its attributes: Zhan & Matwin's group privacy.
    """

    names: tuple[str, ...]
    epsilon: float
    alone: Figures
    from_record: Figures
    exact: bool
    weakest: float | None = None
    known: bool = False

    @property
    def whole(self) -> Figures | None:
        """The figures by the whole reported record; None where dependence is not known."""
        return self.from_record if self.known else None

    def to_dict(self) -> dict[str, Any]:
        """Plain values."""
        plain = {
            "attributes": list(self.names),
            "epsilon": self.epsilon,
            "exact": self.exact,
            "alone": self.alone.to_dict(),
            "from_record": self.from_record.to_dict(),
        }
        return plain | ({} if self.weakest is None else {"smallest_pse": self.weakest})


@dataclass(frozen=True)
class Limits:
    """How far exact computation goes, and what follows beyond.

    max_cells: the largest joint table that is measured exactly. drawn: reports drawn by Monte
    Carlo beyond it. priors: draws of an estimated prior. level: of the intervals that they make.
    rng: of all draws; the default gives the same figures every time. progress: called with the
    share of the estimate from reported records that is done.
    """

    max_cells: int = MAX_CELLS
    drawn: int = DRAWN
    priors: int = DRAWS
    level: float = 0.95
    rng: np.random.Generator = field(default_factory=lambda: np.random.default_rng(0))
    progress: Progress = lambda _: None


@dataclass(frozen=True)
class PerScope(Generic[Value]):
    """One value for every attribute, every group (in the order of the design) and the record."""

    attributes: dict[str, Value]
    groups: tuple[Value, ...]
    record: Value

    def map(self, find: Callable[[Value], Other]) -> PerScope[Other]:
        """What `find` makes of every value."""
        attributes = {name: find(value) for name, value in self.attributes.items()}
        return PerScope(attributes, tuple(map(find, self.groups)), find(self.record))


Scopes = PerScope[Scope]


def measure(design: Design, prior: Prior, limits: Limits) -> Scopes:
    """Every scope of a design under a prior."""
    channel, level = design.channel(design.schema.names), limits.level
    parts = [_risks(factors, prior, limits) for factors in parts_of(channel.factors, prior)]
    by_name = {name: part for part in parts for name in part.names}
    whole = {part.names: part.risk(part.names) for part in parts}
    # A group that is a part of its own is measured already.
    alone = {
        names: by_name[names[0]]
        if names in whole
        else _risks(design.channel(names).factors, prior, limits)
        for names in (group.attributes for group in design.groups)
    }
    attributes = {}
    for name in design.schema.names:
        jointly_reported = design.jointly_reported([name])
        if len(jointly_reported) > 1:  # a matrix over several attributes: no own report
            single = alone[design.group_of(name).attributes].risk([name])
        else:
            single = risk_of(part_of(design.channel([name]).factors, prior), [name])
        attributes[name] = Scope(
            names=(name,),
            epsilon=design.channel(jointly_reported).epsilon,
            alone=single.figures(level),
            from_record=by_name[name].risk([name]).figures(level),
            exact=by_name[name].exact,
        )
    scopes = []
    for group in design.groups:
        names, part = group.attributes, by_name[group.attributes[0]]
        scopes.append(
            Scope(
                names=names,
                epsilon=design.channel(names).epsilon,
                alone=(whole.get(names) or alone[names].risk(names)).figures(level),
                from_record=(whole.get(names) or part.risk(names)).figures(level),
                exact=part.exact,
                weakest=min(attributes[name].alone.pse for name in names),
            )
        )
    figures = risk.together(whole.values()).figures(level)
    exact = all(part.exact for part in parts)
    record = Scope(design.schema.names, channel.epsilon, figures, figures, exact)
    return Scopes(attributes, tuple(scopes), record)


def risk_in_record(design: Design, prior: Prior, name: str, limits: Limits) -> Risk:
    """The risk of one attribute, to someone who holds the whole reported record."""
    parts = parts_of(design.channel(design.schema.names).factors, prior)
    own_part = next(part for part in parts if any(name in factor.names for factor in part))
    return _risks(own_part, prior, limits).risk([name])


def parts_of(factors: Sequence[Factor], prior: Prior) -> list[list[Factor]]:
    """Groups joined where a table of the prior holds attributes of both."""
    parts = [[factor] for factor in factors]
    for block in prior.blocks:
        touched = [p for p in parts if any(n in f.names for f in p for n in block.names)]
        parts = [p for p in parts if p not in touched] + [[f for p in touched for f in p]]
    return [part for part in parts if part]


class _Exact:
    """The risks of a part whose joint table is small enough, for every prior of the stack."""

    exact = True

    def __init__(self, factors: Sequence[Factor], prior: Prior, cells: int) -> None:
        self.names = tuple(name for factor in factors for name in factor.names)
        self._factors, self._prior, self._cells = factors, prior.marginal(self.names), cells

    def risk(self, names: Sequence[str]) -> Risk:
        """Of the part, of one of its groups or of an attribute, to one who sees all its reports."""
        step = max(1, _AT_ONCE // self._cells)  # as many priors at once as fit in memory
        chunks = (self._prior.part(i, i + step) for i in range(0, self._prior.stacked, step))
        return risk.stacked([risk_of(part_of(self._factors, chunk), names) for chunk in chunks])


def _risks(factors: Sequence[Factor], prior: Prior, limits: Limits) -> _Exact | Sampled:
    """The risks of a part: exactly if its joint table is small enough, else by Monte Carlo."""
    cells = max(
        math.prod(math.prod(factor.channel.true_shape) for factor in factors),
        math.prod(math.prod(factor.channel.reported_shape) for factor in factors),
    )
    if cells <= limits.max_cells:
        return _Exact(factors, prior, cells)
    return Sampled(factors, prior, limits)


@dataclass(frozen=True)
class SentAnswer:
    """One reported category of an attribute.

    `hidden` is the share of those who send it whose true answer is another one, `guess` the
    likeliest true answer, right with probability `certainty`. `own` says whether the report is
    in the attribute's own categories; if not, `hidden` is 1 - certainty.

        hidden(c) = P(true != c | reported = c) = 1 - M[c, c] p(c) / sum_x M[c, x] p(x)

    These are the numbers that respondents are told, so they are taken at the pessimistic end. Where
    reports have categories of their own, the likeliest true answer is named instead.
    """

    attribute: str
    reported: Label
    own: bool
    sent: float
    hidden: float
    guess: Label
    certainty: float


def answer_risks(design: Design, prior: Prior, name: str, level: float) -> tuple[SentAnswer, ...]:
    """Every category in which an attribute is reported; those that are never sent are left out."""
    attribute = design.schema[name]
    reports, joints = joints_of(design, prior, name)
    same_categories = (reports.name, reports.categories) == (name, attribute.categories)
    cells = math.prod(design.schema[n].size for n in design.jointly_reported([name]))
    slack = slack_of(cells)
    first = next(joints)
    sent, guess = first.sum(axis=1), first.argmax(axis=1)
    column = np.arange(len(guess)) if same_categories else guess
    shares = [_shares(joint, column) for joint in chain([first], joints)]
    posterior, best = (risk.upper(np.stack(values), level) for values in zip(*shares, strict=True))
    return tuple(
        SentAnswer(
            name,
            label,
            same_categories,
            float(sent[code]),
            max(0.0, 1 - float(posterior[code]) - slack),
            attribute.categories[guess[code]],
            min(1.0, float(best[code]) + slack),
        )
        for code, label in enumerate(reports.categories)
        if sent[code] > 0
    )


def _shares(joint: Array, column: Index) -> tuple[Array, Array]:
    """The posterior of the true category at `place` and the largest one, for each report."""
    sent, true = joint.sum(axis=1), joint[np.arange(len(column)), column]
    return quotient(true, sent), quotient(joint.max(axis=1), sent)


def joints_of(design: Design, prior: Prior, name: str) -> tuple[Attribute, Iterator[Array]]:
    """The reported attribute that tells of `name`, and J[reported, true] for each prior."""
    channel = design.channel(design.jointly_reported([name]))
    (factor,) = channel.factors
    sizes = [design.schema[n].size for n in factor.names]
    reported = [channel.reported.attributes[axis] for axis in factor.reported_axes]
    index = next((i for i, a in enumerate(reported) if a.name == name), 0)
    other = tuple(i for i in range(len(reported)) if i != index)
    matrix = factor.channel.matrix.reshape(*(a.size for a in reported), *sizes).sum(axis=other)
    axis = factor.names.index(name)
    summed = tuple(1 + i for i in range(len(sizes)) if i != axis)
    tables = prior.table(factor.names).T
    return reported[index], ((matrix * t.reshape(sizes)).sum(axis=summed) for t in tables)


def of_100(share: float) -> int:
    """People of 100, rounded down; what lies within 1e-9 of a whole number is that number."""
    return math.floor(100 * share + 1e-9)


def of_100_up(share: float) -> int:
    """People of 100, rounded up, 0 if none; within 1e-9 of a whole number it is that number."""
    return max(math.ceil(100 * share - 1e-9), int(share > 0))
