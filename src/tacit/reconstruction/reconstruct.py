"""reconstruct: reported records and their design -> any table of the true answers."""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property, partial
from typing import TYPE_CHECKING, Any, Unpack, cast

import numpy as np

from tacit.core.arrays import Array
from tacit.core.conditions import impossible_cells
from tacit.core.design import Design, check_design
from tacit.core.imports import optional_imports
from tacit.core.schema import Attribute
from tacit.errors import DataError, SchemaError, SingularChannelError
from tacit.output.number_text import UNKNOWN, decimals, number_of, span
from tacit.output.table import Table, TabularResult
from tacit.reconstruction.comparisons import Function, GroupShares, contrast
from tacit.reconstruction.estimate import Estimate
from tacit.reconstruction.events import Condition, check_known, condition_of, events_of
from tacit.reconstruction.fit import DesignFit, coding_warning
from tacit.reconstruction.hypotheses import (
    TEST_METHODS,
    Hypothesis,
    Independence,
    NoTrend,
    Specified,
    TestMethod,
    expected_shares,
    pearson,
    scores_of,
)
from tacit.reconstruction.hypothesis_test import HypothesisTest, misfit
from tacit.reconstruction.report_weights import ReportWeights, event_probability
from tacit.reconstruction.sampling.incomplete_patterns import IncompletePatterns, count_answers
from tacit.reconstruction.sampling.sample_columns import Sampling, SamplingArguments
from tacit.reconstruction.sampling.sampled_records import count_sampled
from tacit.reconstruction.shares import (
    ShareBounds,
    asked_answers,
    condition_weights,
    conditional_shares,
    joint_probabilities,
    reported_share,
    share_bounds,
)
from tacit.reconstruction.tables import (
    TableProblem,
    chained_parts,
    channel_problem,
    expectation,
    has_zeros,
    inversion,
    mean_of_cells,
    restricted,
    tabulate,
    with_chains,
)
from tacit.records import PatternTable, count_reported, with_columns

if TYPE_CHECKING:
    from matplotlib.figure import Figure


# What a reconstruction shows of itself: the distribution of each attribute.


#: Rows of a summary before it is cut.
_SHOWN = 60


class ReconstructionSummary(TabularResult, ABC):
    """Each attribute alone; other tables are asked for."""

    patterns: PatternTable
    design: Design

    @abstractmethod
    def table(self, attributes: Sequence[str]) -> Estimate:
        """Joint distribution of the true answers to these attributes."""

    @property
    def n_records(self) -> int:
        """Number of reported records."""
        return self.patterns.n_records

    def plot(self, attributes: Sequence[str] | None = None, level: float = 0.95) -> Figure:
        """The distribution of each attribute with its intervals, beside the reported one.

        Needs the extra `plot`.
        """
        names = self.design.schema.names if attributes is None else attributes
        self.design.closure(names)  # an error if these are no names
        with optional_imports():
            from tacit.reconstruction.plot import plot_estimates

        return plot_estimates([self.table([name]) for name in names], level)

    def to_table(self, level: float = 0.95) -> Table:
        """The reported and the estimated share of every category."""
        rows: list[tuple[Any, ...]] = []
        told: dict[str, None] = {}
        for attribute in self.design.schema:
            if len(rows) >= _SHOWN:
                break
            try:
                found = self.table([attribute.name])
            except SingularChannelError:
                rows += [(attribute.name, str(c), *[UNKNOWN] * 4) for c in attribute.categories]
                continue
            told |= dict.fromkeys(filter(None, [misfit(found.fit), found.warning]))
            rows += _rows(attribute.name, found, level)
        records = number_of(self.n_records, "reported record")
        title = f"Each of {number_of(len(self.design.schema), 'attribute')} from {records}"
        heads = ("attribute", "category", "reported", "estimate", "std. error")
        table = Table(
            (*heads, f"{100 * level:g} % interval"), rows, "\n".join([*told, title]), "llrrrr"
        )
        return table.cut(_SHOWN)

    def __repr__(self) -> str:
        of = number_of(len(self.design.schema), "attribute")
        return f"<Reconstruction of {of} from {number_of(self.n_records, 'reported record')}>"


def _rows(name: str, found: Estimate, level: float) -> list[tuple[Any, ...]]:
    lower, upper = found.interval(level)
    reported = found.reported
    shown = np.full(found.value.shape, np.nan) if reported is None else reported
    numbers = zip(shown, found.value, found.stderr, lower, upper, strict=True)
    return [
        (name, str(label), decimals(r), decimals(v, e), decimals(e), span(float(lo), float(up)))
        for (label,), (r, v, e, lo, up) in zip(found.cells(), numbers, strict=True)
    ]


# Methods of estimating and testing that a user passes, checked; and how tests are named.


def check_table_method(method: Any) -> None:
    """Raise unless this is a method of estimating tables."""
    if not callable(method):
        from tacit.reconstruction import METHODS

        _refuse(method, list(METHODS))


def checked_test(method: Any) -> TestMethod:
    """A method of testing; an error for anything else."""
    if not callable(method):
        _refuse(method, [each.__name__ for each in TEST_METHODS.values()])
    return cast(TestMethod, method)


def given_text(groups: Sequence[str]) -> str:
    """The groups within which a hypothesis is tested."""
    return f" given {', '.join(groups)}" if groups else ""


def _refuse(method: Any, known: list[str]) -> None:
    names = ", ".join(known)
    raise DataError(f"method must be one of tacit.reconstruction: {names}; got {method!r}")


TableMethod = Callable[[TableProblem], Estimate]
ReportedShare = Callable[[], Array | None]
#: The conditions of two groups.
Pair = tuple[Mapping[str, Any], Mapping[str, Any]]

#: A table of more cells than this is refused; it would not fit in memory.
MAX_CELLS = 2**26
#: Problems of at most this many cells are kept, and so many of them.
_SMALL_CELLS, _KEPT_PROBLEMS = 2**12, 256


@dataclass(frozen=True, eq=False, repr=False)
class Reconstruction(ReconstructionSummary):
    """Reported patterns and their design; estimates anything about the true records."""

    patterns: PatternTable
    design: Design
    #: The reports from which chains of questions are estimated: those that every record has, if
    #: not all.
    answered: frozenset[str] | None = None

    def table(
        self,
        attributes: Sequence[str],
        method: TableMethod = restricted,
        given: Sequence[str] | None = None,
    ) -> Estimate:
        """Joint distribution of the true answers to these attributes.

        With `given`, their distribution in each group of records with the same answers to these:
        the first axes of the table are those of `given`.
        """
        check_table_method(method)
        if given is not None:
            return self._table_given(attributes, method, given)
        problem = self._problem(attributes, with_others=method is not inversion)
        names = [a.name for a in problem.attributes]
        return self._with_fit(method(problem), names)

    def _table_given(
        self, attributes: Sequence[str], method: TableMethod, given: Sequence[str]
    ) -> Estimate:
        """P(attributes | given); see `conditional_shares`."""
        for names in (given, attributes):
            check_known(self.design, names)
            self.design.closure(names)  # an error if these are no names
        linear = method in (inversion, restricted)
        joint = self.table([*given, *attributes], method if linear else restricted)
        name = f"P({', '.join(attributes)} | {', '.join(given)})"
        found = conditional_shares(joint, len(given), name, self._undisguised(given))
        if linear:
            return found
        moved = self.table([*given, *attributes], method)
        axes = tuple(range(len(given), moved.value.ndim))
        totals = moved.value.sum(axis=axes, keepdims=True)
        value = moved.value / np.where(totals > 0, totals, np.nan)
        return replace(found, value=value, method=moved.method, convergence=moved.convergence)

    def joint(self) -> Array:
        """The table of all attributes by inversion, values only."""
        problem = self._problem(self.design.schema.names)
        problem.channel.require_reconstructable()
        return problem.channel.to_true(problem.inverses, problem.frequencies)

    def probability(
        self, event: Mapping[str, Any], given: Mapping[str, Any] | None = None
    ) -> Estimate:
        """Probability that a true record has these answers; a list allows any of its labels.

        With `given`, among the records that have those answers. An event may have any number of
        conditions.
        """
        own = condition_of(self.design, event)
        if given is None:
            return self._probability(own)
        group = condition_of(self.design, given, "condition")
        found = self._shares(own, [group])
        name = f"P({own.text} | {group.text})"
        return replace(found, name=name, reported_of=self._reported(own, group))

    def _probability(self, event: Condition) -> Estimate:
        """Probability of an event, among the records that have answers to its attributes."""
        own = self._answered(event.names)
        if has_zeros(self.design, event.names, self._answered_by_all):
            if all(len(codes) == 1 for codes in event.codes.values()):
                return self._cell(event)
            joint = self._joint([event], (Attribute("event", range(2)),))
            share = joint.part(np.array([0]), (), f"P({event.text})")
            share = share.as_probability(share=own._undisguised_share(event))
        else:
            events = events_of(self.design, [event])
            share = event_probability(own._report_weights, events, f"P({event.text})")
            share = self._with_fit(share, event.names)
        return replace(share, reported_of=self._reported(event))

    def _cell(self, event: Condition) -> Estimate:
        """Probability of one cell of a table."""
        table = self.table(event.names)
        codes = tuple(codes[0] for codes in event.codes.values())
        place = np.ravel_multi_index(codes, table.value.shape)
        share = table.part(np.array([place]), (), f"P({event.text})")
        return replace(share, reported_of=self._reported(event))

    def asked(self, attribute: str) -> Estimate:
        """Distribution of the answers among those to whom a conditional question applies."""
        check_known(self.design, [attribute])
        return asked_answers(self.design, self.table, attribute, self._answered_by_all)

    def apart_from(self, reports: Collection[str]) -> Reconstruction:
        """The same, but a chain with one of these reports is not estimated together.

        A table then depends on them only if it is a table of their questions.
        """
        return replace(self, answered=self._answered_by_all.difference(reports))

    def bounds(self, event: Mapping[str, Any]) -> ShareBounds:
        """The least and the largest probability of an event that missing answers allow."""
        own = condition_of(self.design, event)
        reports = self.design.channel(self.design.closure(own.names)).reported.names
        weights = self._answered(own.names)._report_weights
        events = events_of(self.design, [own])
        return share_bounds(self.patterns, weights, events, f"P({own.text})", reports)

    def difference(self, event: Mapping[str, Any], between: Pair) -> Estimate:
        """P(event | first group) - P(event | second group)."""
        return self._compared(event, between).difference()

    def ratio(self, event: Mapping[str, Any], between: Pair) -> Estimate:
        """P(event | first group) / P(event | second group)."""
        return self._compared(event, between).ratio()

    def odds_ratio(self, event: Mapping[str, Any], between: Pair) -> Estimate:
        """Odds of the event in the first group by those in the second."""
        return self._compared(event, between).odds_ratio()

    def contrast(
        self, function: Function, events: Sequence[Any], name: str = "contrast"
    ) -> Estimate:
        """A smooth function of the probabilities of several events, given as one array.

        An event is a mapping, or a pair of an event and the condition that it is given.
        """
        if isinstance(events, Mapping) or not isinstance(events, Sequence) or not events:
            raise SchemaError(f"events must be a list of at least one event, got {events!r}")
        if not callable(function):
            raise DataError(f"function must take the array of probabilities, got {function!r}")
        conditions: list[Condition] = []
        pairs = [e if isinstance(e, tuple) and len(e) == 2 else (e, None) for e in events]
        for event, given in pairs:
            own = condition_of(self.design, event)
            if given is None:
                conditions.append(own)
            else:
                group = condition_of(self.design, given, "condition")
                conditions += [own & group, group]
        joint = self._joint(conditions, (Attribute("event", range(max(2, len(conditions)))),))
        conditional = [given is not None for _, given in pairs]
        found = contrast(joint, conditional, function, name)
        return replace(found, fit_of=joint.fit_of, warning_of=joint.warning_of)

    def _compared(self, event: Mapping[str, Any], between: Pair) -> GroupShares:
        """The shares of an event in two groups."""
        if not isinstance(between, tuple | list) or len(between) != 2:
            raise SchemaError(
                "between must be a pair of conditions such as ({'income': 'high'}, "
                f"{{'income': 'low'}}), got {between!r}"
            )
        own = condition_of(self.design, event)
        first, second = (condition_of(self.design, group, "condition") for group in between)
        if first.codes == second.codes:
            raise SchemaError(f"both groups are {first.text}; give two different conditions")
        shares = self._shares(own, [first, second])
        return GroupShares(shares, own.text, (first.text, second.text))

    def _shares(self, event: Condition, groups: Sequence[Condition]) -> Estimate:
        """P(event | group) of each group; not a number where nobody seems to be in it."""
        conditions = [c for group in groups for c in (event & group, group)]
        axes = (Attribute("group", range(2)),) if len(groups) > 1 else ()
        found = self._joint(conditions, (*axes, Attribute("event", range(2))), parts=True)
        shares = conditional_shares(found, len(axes), "")
        shares = shares.part(np.arange(0, 2 * len(groups), 2), axes, "")
        names = tuple(dict.fromkeys(name for c in conditions for name in c.names))
        own, tests = self._answered(names), {}
        for place, group in enumerate(groups):
            if self._undisguised(group.names):
                test = own._probability(event & group)
                test = test if test.simple is None else test.simple
                if test.score is not None and np.any(test.score.n_all):
                    others = [name for name in event.names if name not in group.codes]
                    further = any(self._undisguised([name]) for name in others)
                    n_all = own._records(group) if further else 0.0
                    tests[place] = replace(test.score, n_all=n_all)
        return shares.with_tests(tests) if tests else shares

    def _undisguised(self, names: Sequence[str]) -> bool:
        """Whether the true answers to all of these attributes are reported."""
        factors = self.design.channel(self.design.closure(names)).factors
        return all(factor.channel.undisguised for factor in factors)

    def _undisguised_share(self, event: Condition) -> Array | None:
        """The share of records that meet the undisguised part of an event, if there are both."""
        codes = {name: codes for name, codes in event.codes.items() if self._undisguised([name])}
        if len(codes) in (0, len(event.codes)):
            return None
        return self._records(Condition(codes, "")) / self.n_records

    def _records(self, condition: Condition) -> Array:
        """How many records meet a condition on undisguised attributes."""
        weights = condition_weights(self._report_weights, self.design, [condition])[:, 0]
        return np.asarray(self.patterns.counts @ weights)

    def _joint(
        self, conditions: list[Condition], axes: tuple[Attribute, ...], parts: bool = False
    ) -> Estimate:
        """Probabilities of conditions; with `parts`, that of every second less the one before."""
        names = list(dict.fromkeys(name for c in conditions for name in c.names))
        own = self._answered(names)
        zeros = has_zeros(self.design, names, self._answered_by_all)
        found = joint_probabilities(own._report_weights, self.table, conditions, axes, parts, zeros)
        return self._with_fit(found, names)

    def expectation(self, h: Any, attributes: Sequence[str]) -> Estimate:
        """Mean of h over true records: a function of one label per attribute, or a table."""
        problem = self._problem(attributes)
        names = [a.name for a in problem.attributes]
        name = f"E[{getattr(h, '__name__', 'h')}({', '.join(names)})]".replace("<lambda>", "h")
        values = tabulate(h, problem.attributes)
        if has_zeros(self.design, names, self._answered_by_all):
            mean = mean_of_cells(self.table(names), values, name)
        else:
            mean = expectation(problem, values, name)
        return self._with_fit(mean, names)

    def independence(
        self,
        attributes: Sequence[str],
        given: Sequence[str] | None = None,
        method: TestMethod = pearson,
    ) -> HypothesisTest:
        """Test whether true answers are independent of each other, also within groups (`given`)."""
        names, groups = self._names(attributes), self._names(given or [], least=0)
        if len(names) < 2:
            raise SchemaError(f"independence needs two attributes or more, got {list(names)}")
        text = f"independence of {', '.join(names)}" + given_text(groups)
        blocks = tuple((i,) for i in range(len(names)))
        return self._independent(names, groups, blocks, text, method)

    def homogeneity(
        self,
        attributes: Sequence[str],
        across: Sequence[str],
        method: TestMethod = pearson,
    ) -> HypothesisTest:
        """Test whether these answers have the same joint distribution in all groups."""
        names, groups = self._names(attributes), self._names(across)
        text = f"{', '.join(names)} is distributed alike across {', '.join(groups)}"
        count = len(names)
        blocks = (tuple(range(count)), tuple(range(count, count + len(groups))))
        return self._independent((*names, *groups), (), blocks, text, method)

    def goodness_of_fit(
        self, attributes: Sequence[str], expected: Any, method: TestMethod = pearson
    ) -> HypothesisTest:
        """Test whether the true distribution is `expected`, a table with one axis per attribute."""
        names = self._names(attributes)
        problem = self._problem(names)
        shares = expected_shares(expected, problem.attributes)
        text = f"P({', '.join(names)}) is as expected"
        return self._tested(method, problem, Specified(text, len(names), shares))

    def trend(
        self,
        attributes: Sequence[str],
        scores: Mapping[str, Sequence[float]] | None = None,
        given: Sequence[str] | None = None,
        method: TestMethod = pearson,
    ) -> HypothesisTest:
        """Test for a trend between two attributes whose categories are in order.

        A category has the score 0, 1, 2, ... by its place, or that of `scores`.
        """
        names, groups = self._names(attributes), self._names(given or [], least=0)
        if len(names) != 2:
            raise SchemaError(f"a trend is between two attributes, got {list(names)}")
        problem = self._problem((*names, *groups))
        points = scores_of(scores, problem.attributes[:2])
        text = f"no trend between {' and '.join(names)}" + given_text(groups)
        axes = tuple(range(2, 2 + len(groups)))
        hypothesis = NoTrend(text, 2 + len(groups), ((0,), (1,)), axes, points)
        return self._tested(method, problem, hypothesis)

    def _independent(
        self,
        names: Sequence[str],
        groups: Sequence[str],
        blocks: tuple[tuple[int, ...], ...],
        text: str,
        method: TestMethod,
    ) -> HypothesisTest:
        axes = tuple(range(len(names), len(names) + len(groups)))
        hypothesis = Independence(text, len(names) + len(groups), blocks, axes)
        return self._tested(method, self._problem((*names, *groups)), hypothesis)

    def _tested(self, method: Any, problem: TableProblem, hypothesis: Hypothesis) -> HypothesisTest:
        found = checked_test(method)(problem, hypothesis)
        return replace(found, n_left_out=self.n_records - problem.n_records)

    def _names(self, names: Sequence[str], least: int = 1) -> tuple[str, ...]:
        """Names of attributes, checked."""
        check_known(self.design, names)
        if least or isinstance(names, str) or len(names):
            self.design.closure(names)
        return tuple(names)

    def _reported(self, event: Condition, group: Condition | None = None) -> ReportedShare:
        own = self._answered([*event.names, *(group.names if group else [])]).patterns
        return partial(reported_share, own, self.design, event, group)

    def _with_fit(self, found: Estimate, names: Sequence[str]) -> Estimate:
        """The estimate with the test of fit of these attributes and warnings, run on demand."""
        own = self._answered(names).patterns
        fit = DesignFit(own, self.design, tuple(names))
        warning = partial(self._coding_warnings, tuple(names))
        n_left_out = self.n_records - own.n_records
        return replace(found, fit_of=fit, warning_of=warning, n_left_out=n_left_out)

    def _coding_warnings(self, names: Sequence[str]) -> str:
        """What each of these questions says about the coding of its reports."""
        coins = {name: self.design.group_of(name).coin for name in names}
        warnings = [
            coding_warning(coin, self.table([name], inversion))
            for name, coin in coins.items()
            if coin.report_words
        ]
        return "\n".join(filter(None, warnings))

    def _answered(self, names: Sequence[str]) -> Reconstruction:
        """The records that have answers to these attributes."""
        if not isinstance(self.patterns, IncompletePatterns):
            return self
        reports = self.design.channel(self.design.closure(names)).reported.names
        if reports not in self._complete:
            self._complete[reports] = Reconstruction(
                self.patterns.complete(reports), self.design, self._answered_by_all.union(reports)
            )
        return self._complete[reports]

    @cached_property
    def _answered_by_all(self) -> frozenset[str]:
        """The reports that every record has."""
        if self.answered is not None:
            return self.answered
        names = self.patterns.schema.names
        if not isinstance(self.patterns, IncompletePatterns):
            return frozenset(names)
        absent = np.asarray(self.patterns.absent.any(axis=0))
        return frozenset(n for n, some in zip(names, absent, strict=True) if not some)

    @cached_property
    def _complete(self) -> dict[tuple[str, ...], Reconstruction]:
        """Reconstructions from the records without missing answers, by attributes."""
        return {}

    @cached_property
    def _report_weights(self) -> ReportWeights:
        return ReportWeights(self.patterns, self.design)

    @cached_property
    def _problems(self) -> dict[tuple[tuple[str, ...], int], TableProblem]:
        """Problems of small tables, kept with their inverses for further questions."""
        return {}

    def _problem(self, attributes: Sequence[str], with_others: bool = False) -> TableProblem:
        """The problem of a table; `with_others` of their chains, which report on them too."""
        asked = tuple(attributes) if isinstance(attributes, Iterator) else attributes
        names = self.design.closure(asked)
        if with_others:
            names = with_chains(self.design, names, self._answered_by_all)
        known = self._problems.get((names, len(asked)))
        if known is not None:
            return known
        channel = self.design.channel(names)
        cells = max(math.prod(channel.true.sizes), math.prod(channel.reported.sizes))
        if cells > MAX_CELLS:
            raise DataError(
                f"a table of {', '.join(asked)} has {cells:,} cells, more than the "
                f"{MAX_CELLS:,} allowed; ask for fewer attributes at once"
            )
        impossible = impossible_cells(self.design.conditions, channel.true)
        patterns = self._answered(names).patterns
        parts = () if impossible is None else chained_parts(self.design)
        inside = [tuple(name for name in part if name in names) for part in parts]
        channels = tuple(self.design.channel(part) for part in inside if part)
        problem = channel_problem(patterns, channel, len(asked), impossible, channels)
        if cells <= _SMALL_CELLS and len(self._problems) < _KEPT_PROBLEMS:
            self._problems[names, len(asked)] = problem
        return problem


def reconstruct(
    reported: Any,
    design: Design,
    columns: Sequence[str] = (),
    **sampling: Unpack[SamplingArguments],
) -> Reconstruction:
    """Count reported records once, to estimate any number of tables of the true answers from them.

    `reported` is a data frame, an integer array of codes, a CSV, Parquet or Arrow file, a glob, a
    directory, a count file, an Ibis table, a Spark frame, a table of PostgreSQL
    (postgresql://USER@HOST/NAME#TABLE) or the database of the service (without #TABLE), or a
    pattern table. Files that name another design as their origin are refused.

    `columns` are other columns of the records, which are not disguised: their values are categories
    in events, conditions, tables and tests, like those of an attribute.

    How people were sampled: `weights=` are design weights, `strata=` and `clusters=` say how people
    were drawn. Each is the name of an undisguised column or, for records in memory, one value per
    record. `fpc=` is the number of sampling units (clusters, or people) in the population of each
    stratum: a number, a column, or a mapping from strata. `errors=` is a method of
    `tacit.reconstruction.sampling`, `linearised` if left out.
    """
    check_design(design)
    drawn = Sampling(**sampling)
    wide = with_columns(reported, design, columns) if len(columns) else design
    if drawn:
        count = partial(count_sampled, reported, design, drawn)
        return Reconstruction(count_answers(count, wide.reported), wide)
    if isinstance(reported, PatternTable):
        if reported.schema != design.reported:
            raise DataError("the pattern table was counted under another schema than the design's")
        return Reconstruction(reported, design)
    plain = partial(count_reported, reported, design, True)
    return Reconstruction(count_answers(plain, wide.reported), wide)
