"""reconstruct: reported records and their design -> any table of the true answers."""

from __future__ import annotations

import math
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property, partial
from typing import Any, TypeVar

import numpy as np

from tacit.core.arrays import Array
from tacit.core.conditions import answers_of, impossible_cells
from tacit.core.design import Design, check_design
from tacit.core.schema import Attribute
from tacit.errors import DataError, SchemaError, SingularChannelError
from tacit.output.number_text import UNKNOWN, decimals, number_of, span
from tacit.output.table import Figure, Table, TabularResult
from tacit.reconstruction import events, hypotheses, tables
from tacit.reconstruction.comparisons import Function, GroupShares, contrast
from tacit.reconstruction.estimate import Estimate, OnDemand, linear_estimate, plot_estimates
from tacit.reconstruction.events import Condition, ShareBounds, check_known, condition_of
from tacit.reconstruction.hypotheses import (
    Hypothesis,
    Independence,
    TestMethod,
    coding_warning,
    design_fit,
    pearson,
)
from tacit.reconstruction.hypothesis_test import HypothesisTest, misfit
from tacit.reconstruction.sampling import Sampling, count_sampled, linearised
from tacit.reconstruction.tables import TableProblem, inversion, restricted
from tacit.records import PatternTable, count_answers, count_reported, with_columns
from tacit.records.sample import ErrorMethod

Method = TypeVar("Method", bound=Callable[..., Any])
TableMethod = Callable[[TableProblem], Estimate]
#: Names of attributes; one name alone is a list of one.
Names = str | Sequence[str]
#: The conditions of two groups.
Pair = tuple[Mapping[str, Any], Mapping[str, Any]]

#: Rows of a summary before it is cut.
_SHOWN = 60
#: A table of more cells than this is refused; it would not fit in memory.
MAX_CELLS = 2**26
#: Problems of at most this many cells are kept, and so many of them.
_SMALL_CELLS, _KEPT_PROBLEMS = 2**12, 256


@dataclass(frozen=True, eq=False, repr=False)
class Reconstruction(TabularResult):
    """Reported patterns and their design; estimates anything about the true records.

    It prints as the distribution of each attribute. Wherever names of attributes are expected, one
    name alone will do; methods are functions of `tacit.reconstruction` or their names.
    """

    patterns: PatternTable
    design: Design
    #: The reports from which chains of questions are estimated: those that every record has, if
    #: not all.
    answered: frozenset[str] | None = None

    @property
    def n_records(self) -> int:
        """Number of reported records."""
        return self.patterns.n_records

    def table(
        self, attributes: Names, method: TableMethod | str = restricted, given: Names | None = None
    ) -> Estimate:
        """Joint distribution of the true answers to these attributes.

        Parameters
        ----------
        attributes
            Names of attributes, one axis of the table per name.
        method
            `restricted` (unbiased, the default), `inversion`, `simplex` or `em`, or the name.
        given
            Other attributes: estimate the distribution in each group of records with the same
            answers to these, which are the first axes of the table.
        """
        names, chosen = self._names(attributes), _method(method, tables.METHODS)
        if given is not None:
            return self._table_given(names, chosen, self._names(given))
        problem = self._problem(names, with_others=chosen is not inversion)
        return self._with_fit(chosen(problem), names)

    def _table_given(
        self, names: tuple[str, ...], method: TableMethod, groups: tuple[str, ...]
    ) -> Estimate:
        """P(attributes | groups); see `conditional_shares`."""
        joint = self.table([*groups, *names], method)
        moved = bool(joint.errors_by)  # the errors are those of the unbiased table
        unbiased = self.table([*groups, *names]) if moved else joint
        name = f"P({', '.join(names)} | {', '.join(groups)})"
        shares = events.conditional_shares(unbiased, len(groups), name, self._undisguised(groups))
        if not moved:
            return shares
        totals = joint.value.sum(axis=tuple(range(len(groups), joint.value.ndim)), keepdims=True)
        value = joint.value / np.where(totals > 0, totals, np.nan)
        source = {n: getattr(joint, n) for n in ("method", "convergence", "errors_by")}
        return replace(shares, value=value, **source)

    def joint(self) -> Array:
        """The table of all attributes by inversion, values only."""
        problem = self._problem(self.design.schema.names)
        problem.channel.require_reconstructable()
        return problem.unbiased

    def probability(
        self, event: Mapping[str, Any], given: Mapping[str, Any] | None = None
    ) -> Estimate:
        """Probability that a true record has these answers; a list allows any of its labels.

        With `given`, among the records that have those answers. An event may have any number of
        conditions.
        """
        condition = condition_of(self.design, event)
        if given is None:
            return self._probability(condition)
        group = condition_of(self.design, given, "condition")
        name, reported = f"P({condition.text} | {group.text})", self._reported(condition, group)
        return replace(self._shares(condition, [group]), name=name, reported_of=reported)

    def _probability(self, event: Condition) -> Estimate:
        """Probability of an event, among the records that have answers to its attributes."""
        answered = self._answered(event.names)
        if not tables.has_zeros(self.design, event.names, self.answered_by_all):
            share = events.event_probability(answered._reports_of(event.names), event)
            share = self._with_fit(share, event.names)
        elif all(len(codes) == 1 for codes in event.codes.values()):
            table = self.table(event.names)
            codes = tuple(codes[0] for codes in event.codes.values())
            cell = np.ravel_multi_index(codes, table.value.shape)
            share = table.part(np.array([cell]), (), f"P({event.text})")
        else:
            joint = self._joint([event], (Attribute("event", range(2)),))
            share = joint.part(np.array([0]), (), f"P({event.text})")
            share = share.as_probability(share=answered._undisguised_share(event))
        return replace(share, reported_of=self._reported(event))

    def asked(self, attribute: str) -> Estimate:
        """Distribution of the answers among those to whom a conditional question applies.

        It uses the answers that the condition is about: people who gave others were not asked.
        """
        check_known(self.design, [attribute])
        question, conditions = self.design.schema[attribute], self.design.conditions
        condition = next((c for c in conditions if c.attribute == attribute), None)
        if condition is None:
            raise SchemaError(f"{attribute!r} is asked of everybody; use table([{attribute!r}])")
        names = [attribute, *condition.names]
        zeros = tables.has_zeros(self.design, names, self.answered_by_all)
        joint, answers = self.table(names if zeros else [attribute]), answers_of(question)
        rows = np.eye(question.size)[[question.code(label) for label in answers]]
        sums = np.repeat(rows, joint.value.size // question.size, axis=1)
        shares = tables.sums_of_cells(joint, sums, (Attribute(attribute, answers),), "")
        return events.conditional_shares(shares, 0, f"P({attribute} | asked)")

    def apart_from(self, reports: Collection[str]) -> Reconstruction:
        """The same, but a chain with one of these reports is not estimated together.

        A table then depends on them only if it is a table of their questions.
        """
        return replace(self, answered=self.answered_by_all.difference(reports))

    def bounds(self, event: Mapping[str, Any]) -> ShareBounds:
        """The least and the largest probability of an event that missing answers allow."""
        condition = condition_of(self.design, event)
        reports = self.design.channel(self.design.jointly_reported(condition.names)).reported.names
        complete, whole = self._answered(condition.names), self.patterns.filled()
        weight = events.condition_weights(complete._report_weights, [condition])[:, 0]
        has_answer = self.patterns.answered(reports)
        g = np.zeros(len(has_answer))
        g[has_answer] = weight[has_answer] if len(weight) == len(g) else weight
        weights = np.stack([g, np.where(has_answer, g, 1.0)], axis=1)
        bounds = linear_estimate(
            [(weights, whole.counts)],
            f"P({condition.text})",
            (Attribute("bound", ["lower", "upper"]),),
            probability=True,
            sample=whole.sample,
            true_products=np.stack([weights[:, [0, 0]], weights], axis=1),
        )
        return ShareBounds(bounds, whole.n_records - complete.n_records)

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
            condition = condition_of(self.design, event)
            if given is None:
                conditions.append(condition)
            else:
                group = condition_of(self.design, given, "condition")
                conditions += [condition & group, group]
        joint = self._joint(conditions, (Attribute("event", range(max(2, len(conditions)))),))
        return contrast(joint, [given is not None for _, given in pairs], function, name)

    def _compared(self, event: Mapping[str, Any], between: Pair) -> GroupShares:
        """The shares of an event in two groups."""
        if not isinstance(between, tuple | list) or len(between) != 2:
            raise SchemaError(
                "between must be a pair of conditions such as ({'income': 'high'}, "
                f"{{'income': 'low'}}), got {between!r}"
            )
        condition = condition_of(self.design, event)
        first, second = (condition_of(self.design, group, "condition") for group in between)
        if first.codes == second.codes:
            raise SchemaError(f"both groups are {first.text}; give two different conditions")
        shares = self._shares(condition, [first, second])
        return GroupShares(shares, condition.text, (first.text, second.text))

    def _shares(self, event: Condition, groups: Sequence[Condition]) -> Estimate:
        """P(event | group) of each group; not a number where nobody seems to be in it."""
        conditions = [c for group in groups for c in (event & group, group)]
        axes = (Attribute("group", range(2)),) if len(groups) > 1 else ()
        joint = self._joint(conditions, (*axes, Attribute("event", range(2))), parts=True)
        shares = events.conditional_shares(joint, len(axes), "")
        shares = shares.part(np.arange(0, 2 * len(groups), 2), axes, "")
        names = tuple(dict.fromkeys(name for c in conditions for name in c.names))
        answered, tests = self._answered(names), {}
        for cell, group in enumerate(groups):
            if self._undisguised(group.names):
                share = answered._probability(event & group)
                score = (share if share.simple is None else share.simple).score
                if score is not None and np.any(score.n_all):
                    others = [name for name in event.names if name not in group.codes]
                    further = any(self._undisguised([name]) for name in others)
                    n_all = answered._records(group) if further else 0.0
                    tests[cell] = replace(score, n_all=n_all)
        return shares.with_tests(tests) if tests else shares

    def _undisguised(self, names: Sequence[str]) -> bool:
        """Whether the true answers to all of these attributes are reported."""
        factors = self.design.channel(self.design.jointly_reported(names)).factors
        return all(factor.channel.undisguised for factor in factors)

    def _undisguised_share(self, event: Condition) -> Array | None:
        """The share of records that meet the undisguised part of an event, if there are both."""
        codes = {name: codes for name, codes in event.codes.items() if self._undisguised([name])}
        if len(codes) in (0, len(event.codes)):
            return None
        return self._records(Condition(codes, "")) / self.n_records

    def _records(self, condition: Condition) -> Array:
        """How many records meet a condition on undisguised attributes."""
        reports = self._reports_of(condition.names)
        weights = events.condition_weights(reports, [condition])[:, 0]
        return np.asarray(reports.patterns.counts @ weights)

    def _joint(
        self, conditions: list[Condition], axes: tuple[Attribute, ...], parts: bool = False
    ) -> Estimate:
        """Probabilities of conditions; with `parts`, that of every second less the one before."""
        names = list(dict.fromkeys(name for c in conditions for name in c.names))
        sums = np.eye(max(2, len(conditions)), len(conditions))  # an attribute has two categories
        if parts:
            sums[range(1, len(sums), 2), range(0, len(sums), 2)] = -1
        if tables.has_zeros(self.design, names, self.answered_by_all):
            cells = [events.condition_cells(self.design, names, c) for c in conditions]
            joint = tables.sums_of_cells(self.table(names), sums @ np.stack(cells), axes, "")
        else:
            reports = self._answered(names)._reports_of(names)
            joint = events.sums_of_conditions(reports, conditions, sums, axes)
        return self._with_fit(joint, names)

    def expectation(self, h: Any, attributes: Names) -> Estimate:
        """Mean of h over true records: a function of one label per attribute, or a table."""
        names = self._names(attributes)
        problem = self._problem(names)
        name = f"E[{getattr(h, '__name__', 'h')}({', '.join(names)})]".replace("<lambda>", "h")
        values = tables.tabulate(h, problem.attributes)
        if tables.has_zeros(self.design, names, self.answered_by_all):
            mean = tables.mean_of_cells(self.table(names), values, name)
        else:
            mean = tables.expectation(problem, values, name)
        return self._with_fit(mean, names)

    def independence(
        self, attributes: Names, given: Names | None = None, method: TestMethod | str = pearson
    ) -> HypothesisTest:
        """Test whether true answers are independent of each other, also within groups (`given`)."""
        names, groups = self._names(attributes), self._names(given) if given else ()
        if len(names) < 2:
            raise SchemaError(f"independence needs two attributes or more, got {list(names)}")
        text = f"independence of {', '.join(names)}{_given_text(groups)}"
        blocks = tuple((axis,) for axis in range(len(names)))
        axes = tuple(range(len(names), len(names) + len(groups)))
        return self._tested((*names, *groups), method, Independence(text, blocks, axes))

    def homogeneity(
        self, attributes: Names, across: Names, method: TestMethod | str = pearson
    ) -> HypothesisTest:
        """Test whether these answers have the same joint distribution in all groups."""
        names, groups = self._names(attributes), self._names(across)
        text = f"{', '.join(names)} is distributed alike across {', '.join(groups)}"
        both = (*names, *groups)
        blocks = tuple(range(len(names))), tuple(range(len(names), len(both)))
        return self._tested(both, method, Independence(text, blocks))

    def goodness_of_fit(
        self, attributes: Names, expected: Any, method: TestMethod | str = pearson
    ) -> HypothesisTest:
        """Test whether the true distribution is `expected`, a table with one axis per attribute."""
        names = self._names(attributes)
        shares = hypotheses.expected_shares(expected, [self.design.schema[n] for n in names])
        text = f"P({', '.join(names)}) is as expected"
        return self._tested(names, method, hypotheses.Specified(text, shares))

    def trend(
        self,
        attributes: Names,
        scores: Mapping[str, Sequence[float]] | None = None,
        given: Names | None = None,
        method: TestMethod | str = pearson,
    ) -> HypothesisTest:
        """Test for a trend between two attributes whose categories are in order.

        A category has the score 0, 1, 2, ... by its place, or that of `scores`.
        """
        names, groups = self._names(attributes), self._names(given) if given else ()
        if len(names) != 2:
            raise SchemaError(f"a trend is between two attributes, got {list(names)}")
        points = hypotheses.scores_of(scores, [self.design.schema[name] for name in names])
        text = f"no trend between {' and '.join(names)}{_given_text(groups)}"
        axes = tuple(range(2, 2 + len(groups)))
        hypothesis = hypotheses.NoTrend(text, ((0,), (1,)), axes, points)
        return self._tested((*names, *groups), method, hypothesis)

    def _tested(
        self, names: tuple[str, ...], method: TestMethod | str, hypothesis: Hypothesis
    ) -> HypothesisTest:
        problem = self._problem(names)
        hypotheses.check_size(problem)
        test = _method(method, hypotheses.TEST_METHODS)(problem, hypothesis)
        return replace(test, n_left_out=self.n_records - problem.n_records)

    def plot(self, attributes: Names | None = None, level: float = 0.95) -> Figure:
        """The distribution of each attribute with its intervals, beside the reported one.

        Needs the extra `plot`.
        """
        names = self.design.schema.names if attributes is None else self._names(attributes)
        return plot_estimates([self.table(name) for name in names], level)

    def to_dict(self, level: float = 0.95) -> dict[str, Any]:
        """JSON-ready distribution of each attribute, None if its channel cannot be inverted."""
        attributes = {
            attribute.name: None if table is None else table.to_dict(level)
            for attribute, table in self._marginals()
        }
        return {"n_records": self.n_records, "level": level, "attributes": attributes}

    def to_table(self, level: float = 0.95) -> Table:
        """The reported and the estimated share of every category."""
        rows: list[tuple[Any, ...]] = []
        warnings: dict[str, None] = {}
        for attribute, table in self._marginals():
            if len(rows) >= _SHOWN:
                break
            if table is None:
                rows += [(attribute.name, str(c), *[UNKNOWN] * 4) for c in attribute.categories]
                continue
            warnings |= dict.fromkeys(filter(None, [misfit(table.fit), table.warning]))
            labels, values, errors, lower, upper = table.columns(level).values()
            reported = table.reported
            shares = np.full(table.value.shape, np.nan) if reported is None else reported
            shown = map(decimals, values, errors), map(decimals, errors), map(span, lower, upper)
            cells = zip(map(str, labels), map(decimals, shares), *shown, strict=True)
            rows += [(attribute.name, *cell) for cell in cells]
        records = number_of(self.n_records, "reported record")
        title = f"Each of {number_of(len(self.design.schema), 'attribute')} from {records}"
        interval = f"{100 * level:g} % interval"
        heads = ("attribute", "category", "reported", "estimate", "std. error", interval)
        return Table(heads, rows, "\n".join([*warnings, title]), "llrrrr").cut(_SHOWN)

    def _marginals(self) -> Iterator[tuple[Attribute, Estimate | None]]:
        """Each attribute with its table, None if its channel cannot be inverted."""
        for attribute in self.design.schema:
            try:
                yield attribute, self.table(attribute.name)
            except SingularChannelError:
                yield attribute, None

    def __repr__(self) -> str:
        attributes = number_of(len(self.design.schema), "attribute")
        records = number_of(self.n_records, "reported record")
        return f"<Reconstruction of {attributes} from {records}>"

    def _names(self, names: Names) -> tuple[str, ...]:
        """Names of attributes, checked."""
        listed = (names,) if isinstance(names, str) else names
        listed = tuple(listed) if isinstance(listed, Iterator) else listed
        if not isinstance(listed, list | tuple) or not all(n in self.design.schema for n in listed):
            check_known(self.design, listed)
        self.design.jointly_reported(listed)  # an error if these are no names
        return tuple(listed)

    def _reported(
        self, event: Condition, group: Condition | None = None
    ) -> Callable[[], Array | None]:
        patterns = self._answered([*event.names, *(group.names if group else [])]).patterns
        return partial(events.reported_share, patterns, self.design, event, group)

    def _with_fit(self, estimate: Estimate, names: Sequence[str]) -> Estimate:
        """The estimate with the test of fit of these attributes and warnings, run on demand."""
        patterns = self._answered(names).patterns
        fit = OnDemand(partial(design_fit, patterns, self.design, names))
        warning = OnDemand(partial(self._coding_warnings, names))
        left_out = self.n_records - patterns.n_records
        return replace(estimate, fit_of=fit, warning_of=warning, n_left_out=left_out)

    def _coding_warnings(self, names: Sequence[str]) -> str:
        """What each of these questions says about the coding of its reports."""
        coins = ((name, self.design.group_of(name).coin) for name in dict.fromkeys(names))
        reversible = ((name, coin) for name, coin in coins if coin.report_words)
        warnings = (coding_warning(coin, self.table([n], inversion)) for n, coin in reversible)
        return "\n".join(filter(None, warnings))

    def _answered(self, names: Sequence[str]) -> Reconstruction:
        """The records that have answers to these attributes."""
        if self.patterns.absent is None:
            return self
        reports = self.design.channel(self.design.jointly_reported(names)).reported.names
        if reports not in self._complete:
            self._complete[reports] = Reconstruction(
                self.patterns.complete(reports), self.design, self.answered_by_all.union(reports)
            )
        return self._complete[reports]

    @cached_property
    def answered_by_all(self) -> frozenset[str]:
        """The reports that every record has."""
        if self.answered is not None:
            return self.answered
        names = self.patterns.schema.names
        if self.patterns.absent is None:
            return frozenset(names)
        absent = np.asarray(self.patterns.absent.any(axis=0))
        return frozenset(n for n, some in zip(names, absent, strict=True) if not some)

    @cached_property
    def _complete(self) -> dict[tuple[str, ...], Reconstruction]:
        """Reconstructions from the records without missing answers, by attributes."""
        return {}

    @cached_property
    def _report_weights(self) -> events.ReportWeights:
        return events.ReportWeights(self.patterns, self.design)

    def _reports_of(self, names: Sequence[str]) -> events.ReportWeights:
        """The reports that say something about these attributes, each combination of them once."""
        channel = self.design.channel(self.design.jointly_reported(names))
        reports, n_cells = channel.reported.names, math.prod(channel.reported.sizes)
        if self.patterns.sample is not None or n_cells >= len(self.patterns):
            return self._report_weights
        if reports not in self._few_reports:
            self._few_reports[reports] = events.ReportWeights(
                self.patterns.only(reports), self.design
            )
        return self._few_reports[reports]

    @cached_property
    def _few_reports(self) -> dict[tuple[str, ...], events.ReportWeights]:
        """Reports of some attributes, by their names."""
        return {}

    @cached_property
    def _problems(self) -> dict[tuple[tuple[str, ...], int], TableProblem]:
        """Problems of small tables, kept with their inverses for further questions."""
        return {}

    def _problem(self, attributes: Sequence[str], with_others: bool = False) -> TableProblem:
        """The problem of a table; `with_others` of their chains, which report on them too."""
        names, n_requested = self.design.jointly_reported(attributes), len(attributes)
        if with_others:
            names = tables.with_chains(self.design, names, self.answered_by_all)
        if (names, n_requested) in self._problems:
            return self._problems[names, n_requested]
        channel = self.design.channel(names)
        cells = max(math.prod(channel.true.sizes), math.prod(channel.reported.sizes))
        if cells > MAX_CELLS:
            raise DataError(
                f"a table of {', '.join(attributes)} has {cells:,} cells, more than the "
                f"{MAX_CELLS:,} allowed; ask for fewer attributes at once"
            )
        impossible = impossible_cells(self.design.conditions, channel.true)
        parts = () if impossible is None else tables.chained_parts(self.design)
        inside = [tuple(name for name in part if name in names) for part in parts]
        channels = tuple(self.design.channel(part) for part in inside if part)
        patterns = self._answered(names).patterns
        problem = tables.table_problem(patterns, channel, n_requested, impossible, channels)
        if cells <= _SMALL_CELLS and len(self._problems) < _KEPT_PROBLEMS:
            self._problems[names, n_requested] = problem
        return problem


def _given_text(groups: Sequence[str]) -> str:
    """The groups within which a hypothesis is tested."""
    return f" given {', '.join(groups)}" if groups else ""


def _method(method: Method | str, methods: Mapping[str, Method]) -> Method:
    """A method given as a function, or by its name with hyphens or underscores."""
    if callable(method):
        return method
    chosen = methods.get(method.replace("_", "-")) if isinstance(method, str) else None
    if chosen is None:
        names = ", ".join(function.__name__ for function in methods.values())
        raise DataError(f"method must be one of tacit.reconstruction: {names}; got {method!r}")
    return chosen


def reconstruct(
    reported: Any,
    design: Design,
    columns: Names = (),
    *,
    weights: Any = None,
    strata: Any = None,
    clusters: Any = None,
    fpc: Any = None,
    errors: ErrorMethod = linearised,
) -> Reconstruction:
    """Count reported records once, to estimate any number of tables of the true answers from them.

    Parameters
    ----------
    reported
        A data frame, an integer array of codes, a CSV, Parquet or Arrow file, a glob, a directory,
        a count file, an Ibis table, a Spark frame, a table of PostgreSQL
        (postgresql://USER@HOST/NAME#TABLE) or the database of the service (without #TABLE), or a
        pattern table. Files that name another design as their origin are refused.
    design
        The design that the records were disguised with.
    columns
        Other columns of the records, which are not disguised: their values are categories in
        events, conditions, tables and tests, like those of an attribute.
    weights, strata, clusters
        How people were sampled: design weights, and the strata and clusters that they were drawn
        from. Each is the name of an undisguised column or, for records in memory, one value per
        record.
    fpc
        The number of sampling units (clusters, or people) in the population of each stratum: a
        number, a column, or a mapping from strata.
    errors
        A method of `tacit.reconstruction.sampling`.
    """
    check_design(design)
    columns = (columns,) if isinstance(columns, str) else columns
    wide = with_columns(reported, design, columns) if len(columns) else design
    how = {"weights": weights, "strata": strata, "clusters": clusters, "fpc": fpc}
    if any(argument is not None for argument in how.values()):
        sampling = Sampling(**how, errors=errors)
        count = partial(count_sampled, reported, design, sampling)
        return Reconstruction(count_answers(count, wide.reported), wide)
    if isinstance(reported, PatternTable):
        if reported.schema != design.reported:
            raise DataError("the pattern table was counted under another schema than the design's")
        return Reconstruction(reported, design)
    plain = partial(count_reported, reported, design, True)
    return Reconstruction(count_answers(plain, wide.reported), wide)


def unweighted_patterns(records: Any, design: Design) -> PatternTable:
    """Count reported records; raise for the pattern table of a sample."""
    return reconstruct(records, design).patterns.refuse(weights=True)
