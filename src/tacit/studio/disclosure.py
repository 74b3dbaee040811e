"""What may be shown of a release, so that nothing singles out a person.

All pages, reports, files and models ask here. Nothing that is shown over all releases together may
tell a figure of fewer than 20 people:

- While a survey is open, only single questions are shown. A conditional question is a table of its
  answers by those to the questions that it depends on, so it is shown after closing.
- A conditional question is shown if at least 20 people were asked.
- The results of questions that one matrix disguises together tell their joint table of reports, so
  they are shown like that table: after closing, if none of its cells is small.
- Cells of small groups are hidden, and others that would tell them (see below).
- People who left out a question are in the results of the others but not in its tables: the
  difference would tell their answers. Such a table leaves out more records, drawn at random.
"""

from __future__ import annotations

import hashlib
import math
from collections.abc import Callable, Mapping, Sequence
from functools import cache
from itertools import combinations
from types import MappingProxyType

import numpy as np
import numpy.typing as npt

from tacit.core.arrays import Array
from tacit.core.conditions import impossible_cells
from tacit.errors import DataError
from tacit.reconstruction import Reconstruction
from tacit.reconstruction.tables import with_chains
from tacit.records import PatternTable
from tacit.studio.release import Release

#: A table of groups shows no group that is estimated to have fewer people than this.
SMALLEST_GROUP = 20
#: Records that a table leaves out besides those with a missing answer: at least, and below.
_LEFT_OUT = SMALLEST_GROUP, SMALLEST_GROUP + 10
#: A variance below this share of the whole is rounding.
_ROUNDING = 1e-6

Cells = npt.NDArray[np.bool_]

#: Why tables of several questions are not shown yet.
AT_CLOSING = (
    "Groups can be compared and models learnt once the survey is closed: while answers arrive, two "
    "tables of a small group would tell what a new member of it answered"
)


def require_comparable(release: Release | None) -> Release:
    """The release; an error if tables of several questions may not be shown of it."""
    if release is None or release.open:
        raise DataError(AT_CLOSING)
    return release


# Single questions --------------------------------------------------------------------------------


def why_hidden(release: Release, name: str) -> str | None:
    """Why the results of a question are not shown; None if they are."""
    return release.once(("hidden", name), lambda: _why_hidden(release, name))


def _why_hidden(release: Release, name: str) -> str | None:
    conditions = {c.attribute: c for c in release.survey.design.conditions}
    condition = conditions.get(name)
    if condition is None:
        return _why_hidden_together(release, name)
    if release.open:
        return (
            f"It is asked only if {condition}. Its results are shown once the survey is closed: "
            "while answers arrive, they would tell what a single person answered."
        )
    table = release.reconstruction.table([name])
    n_asked = float(np.ravel(table.value)[:-1].sum()) * table.n_records  # last: does not apply
    several = len(condition.names) > 1  # then the others are a group of several questions
    if (
        any(why_hidden(release, parent) is not None for parent in condition.names)
        or n_asked < SMALLEST_GROUP
        or (several and 0 < table.n_records - n_asked < SMALLEST_GROUP)
    ):
        return f"It is asked only if {condition}, of fewer than {SMALLEST_GROUP} people: not shown."
    if few_grown(_growth(release, [name])).any():
        return (
            f"It is asked only if {condition}. It is not shown, because an answer was given by "
            f"fewer than {SMALLEST_GROUP} people after the snapshot."
        )
    return None


def _why_hidden_together(release: Release, name: str) -> str | None:
    """The same for a question that is not conditional."""
    together = release.survey.design.jointly_reported([name])
    if len(together) == 1:
        return None
    others = f"It is disguised together with {', '.join(together[1:])}."
    if release.open:
        return (
            f"{others} Its results are shown once the survey is closed: while answers arrive, they "
            "would tell what a single person reported."
        )
    if _small_cells(release, together).any():
        return f"{others} Fewer than {SMALLEST_GROUP} people gave one of these answers: not shown."
    return None


def shown_estimates(release: Release, records: Release | None = None) -> Reconstruction:
    """Estimates from a release, or from some of its `records`, for what is shown.

    The questions of a chain of conditions are estimated together only if all of them are shown:
    otherwise what is shown of one would depend on the reports of another that is not.
    """
    names = release.survey.design.schema.names
    hidden = [name for name in names if why_hidden(release, name) is not None]
    reports = _reports(release, hidden) if hidden else []
    whole = (records or release).reconstruction
    return whole.apart_from(reports) if reports else whole


# Tables of several questions ---------------------------------------------------------------------


def answering(release: Release, names: Sequence[str]) -> Release:
    """The records for a table or model of these questions.

    All, if all have an answer to each. Otherwise some more are left out, see `sampled_release`: the
    results of another question less this table then tell of these together, not of the few people
    who left out one.
    """
    ordered = tuple(sorted(names, key=release.survey.design.schema.index))
    return release.once(("answering", *ordered), lambda: _answering(release, ordered))


def _answering(release: Release, names: Sequence[str]) -> Release:
    if release.counts.answered(_reports(release, names)).all():
        return release
    return sampled_release(release, names)


def sampled_release(
    release: Release,
    names: Sequence[str],
    without: Mapping[str, Sequence[int]] = MappingProxyType({}),
) -> Release:
    """The records with answers to these questions, of which 20 to 29 are left out.

    `without` has codes of answers whose records are left out too. Which others are, is drawn at
    random, but always the same for the same records: what two tables or models of these have in
    common, or the mean of many, tells nothing of all records.
    """
    counts = release.counts.complete(_reports(release, names))
    for name, codes in without.items():
        dropped = np.isin(counts.patterns[:, counts.schema.index(name)], codes)
        counts = counts.with_counts(np.where(dropped, 0, counts.counts))
    rng = np.random.default_rng([*_digest(counts)])
    more = int(rng.integers(*_LEFT_OUT))
    if counts.n_records <= more:
        raise DataError("too few people answered all of these questions")
    people = rng.choice(counts.n_records, more, replace=False)
    patterns = np.searchsorted(np.cumsum(counts.counts), people, side="right")
    left = counts.with_counts(counts.counts - np.bincount(patterns, minlength=len(counts)))
    design, answered = release.survey.design, release.reconstruction.answered_by_all
    used = _reports(release, with_chains(design, design.jointly_reported(list(names)), answered))
    return Release(release.survey, left.only(used), answered=frozenset(used))


def _digest(counts: PatternTable) -> bytes:
    """A number that only the records determine."""
    made = hashlib.sha256(np.ascontiguousarray(counts.patterns.T).data)
    made.update(np.ascontiguousarray(counts.counts).data)
    return made.digest()


def hidden_table(release: Release, names: Sequence[str]) -> Cells:
    """The cells of the joint table of these questions that are not shown.

    The questions are sorted first, so that a table hides the same cells in every arrangement.
    """
    ordered = sorted(names, key=release.survey.design.schema.index)
    hidden = release.once(("cells", *ordered), lambda: _hidden_table(release, ordered))
    return hidden.transpose([ordered.index(name) for name in names])


def _hidden_table(release: Release, names: Sequence[str]) -> Cells:
    schema = release.survey.design.schema
    shape = tuple(schema[name].size for name in names)
    if any(why_hidden(release, name) is not None for name in names):
        return np.ones(shape, bool)
    together = release.survey.design.jointly_reported(names)
    hidden = _small_cells(release, sorted(together, key=schema.index))
    if len(together) > len(names):
        return np.full(shape, hidden.any())
    partly = [(hidden.any(axis) & ~hidden.all(axis)).any() for axis in range(len(names))]
    uneven = any(part and _is_uneven(release, n) for part, n in zip(partly, names, strict=True))
    return np.ones(shape, bool) if uneven else hidden


def _is_uneven(release: Release, name: str) -> bool:
    """Whether the interval of an answer tells more of the reports than its share does.

    The variance of a share is that of the weights of the reports. If all other reports have the
    same weight, it depends on how many reports are this answer, as the share does. Otherwise shares
    and intervals of shown cells would tell the reports of hidden ones.
    """
    design = release.survey.design
    if not design.group_of(name).disguised:
        return False
    matrix = design.channel(design.jointly_reported([name])).matrix
    if len(matrix) != len(matrix.T):
        return True
    inverse = np.linalg.inv(matrix)
    others = inverse[~np.eye(len(inverse), dtype=bool)].reshape(len(inverse), -1)
    return bool((np.ptp(others, axis=1) > _ROUNDING).any())


def hidden_blocks(
    release: Release, names: Sequence[str], parts: Sequence[Sequence[Sequence[int]]]
) -> Cells:
    """The cells of a table with merged categories that are not shown.

    `parts` are the codes of each merged category, per question. A merged cell is shown if, along
    one axis, each of its lines contains all hidden cells of that line or none, and the line has a
    shown cell too. Then it is a sum of shown cells and of sums that other tables show, so it tells
    nothing that they do not. Its groups must have at least 20 people.
    """
    hidden, records = hidden_table(release, names), answering(release, names)
    blocks = np.ones([len(part) for part in parts], bool)
    for block in np.ndindex(blocks.shape):
        codes = [parts[axis][k] for axis, k in enumerate(block)]
        merged = [(name, c) for name, c in zip(names, codes, strict=True) if len(c) > 1]
        if not any(_few_people(records, name, c) for name, c in merged):
            blocks[block] = not any(_whole_lines(hidden, codes, axis) for axis in range(len(names)))
    return blocks


def _whole_lines(hidden: Cells, codes: Sequence[Sequence[int]], axis: int) -> bool:
    """Whether each line of a block along an axis has all hidden cells of that line, or none."""
    size = hidden.shape[axis]
    through = [range(size) if a == axis else c for a, c in enumerate(codes)]
    lines = np.moveaxis(hidden[np.ix_(*through)], axis, -1)
    inside, whole = lines[..., list(codes[axis])].sum(axis=-1), lines.sum(axis=-1)
    return bool(((inside == 0) | ((inside == whole) & (whole < size))).all())


def _few_people(release: Release, name: str, codes: Sequence[int]) -> bool:
    """Whether fewer than 20 people gave one of these answers, even if the noise is allowed for."""
    table = release.reconstruction.table([name])
    places, n = list(codes), table.n_records
    share = float(np.clip(np.ravel(table.value)[places].sum(), 0, 1))
    variance = float(table.covariance[np.ix_(places, places)].sum())
    noise = max(variance - share * (1 - share) / n, 0.0)
    noise = 0.0 if noise < _ROUNDING * variance else noise
    return n * (share + 2 * math.sqrt(noise)) < SMALLEST_GROUP


def _small_cells(release: Release, names: Sequence[str]) -> Cells:
    """The cells of a joint table that are small or few of which are new, and those beside them."""
    records = answering(release, names)
    table = records.reconstruction.table(names)

    def most(axes: tuple[int, ...]) -> Array:
        return most_people(records, [names[axis] for axis in axes])

    def grown(axes: tuple[int, ...]) -> Array:
        return _growth(release, [names[axis] for axis in axes])

    people = np.asarray(table.value) * table.n_records
    return hidden_cells(people, most, None if release.earlier is None else grown)


def most_people(release: Release, names: Sequence[str]) -> Array:
    """How many of the respondents have these answers: the estimate and twice its noise.

    Without disguise there is no noise, and the number is exact. Infinite for answers that the
    conditions of questions exclude.
    """
    table = release.reconstruction.table(names)
    n = table.n_records
    share = np.clip(table.value, 0, 1)
    noise = np.maximum(np.asarray(table.stderr) ** 2 - share * (1 - share) / n, 0)
    noise = np.where(noise < _ROUNDING * np.asarray(table.stderr) ** 2, 0, noise)
    people = n * (table.value + 2 * np.sqrt(noise))
    design = release.survey.design
    impossible = impossible_cells(design.conditions, design.schema.subset(names))
    return np.asarray(people if impossible is None else np.where(impossible, np.inf, people))


def _growth(release: Release, names: Sequence[str]) -> Array:
    """By how many people each cell grew after the snapshot.

    A table that is shown in full tells the reported counts, so these are compared. Where reports
    have other categories than answers, a cell is as small as any report of its line.
    """
    schema, reports = release.survey.design.schema, _reports(release, names)
    shape = tuple(schema[name].size for name in names)
    if release.earlier is None:
        return np.zeros(shape)
    now, before = (
        of.counts.complete(reports).marginal(reports) for of in (release, release.earlier)
    )
    grown, reported = np.asarray(now - before, float), release.survey.design.reported
    alike = [n for n in names if n in reports and reported[n].categories == schema[n].categories]
    others = tuple(position for position, report in enumerate(reports) if report not in alike)
    positive = np.where(grown > 0, grown, np.inf).min(axis=others)
    few = np.where(np.isinf(positive), 0, positive)
    ordered = [report for report in reports if report in alike]
    few = few.transpose([ordered.index(name) for name in alike])
    places = tuple(position for position, name in enumerate(names) if name not in alike)
    return np.broadcast_to(np.expand_dims(few, places), shape)


def _reports(release: Release, names: Sequence[str]) -> list[str]:
    """The reported attributes that a table of these questions is estimated from."""
    design = release.survey.design
    return list(design.channel(design.jointly_reported(list(names))).reported.names)


def table_cells(release: Release, names: Sequence[str]) -> int:
    """How many cells the table of these questions has."""
    return math.prod(release.survey.design.schema[name].size for name in names)


# Small groups -------------------------------------------------------------------------------------
#
# A cell is small if an answer, or a pair of answers in a table of three questions, that it belongs
# to has fewer than 20 people, even if the noise of the disguise is allowed for. Small cells are
# hidden, whichever question the groups are made of: a table with rows and columns exchanged has the
# same cells. A hidden cell could be computed from the other cells of its line and their sum, which
# another table shows. So further cells are hidden until the shown ones and all sums leave every
# small cell undetermined (Cox, L. H. (1980). Suppression methodology and statistical disclosure
# control. JASA, 75(370), 377-385).
#
# If tables of fewer records were shown before, the difference of both is a table of the people who
# came later. Its cells are small too if they, or an answer that they belong to, have 1 to 19 of
# these people. All sums are known for both tables, so a cell of the difference is undetermined if
# the cells that are hidden now leave it undetermined, whatever was hidden before.

#: A cell whose row of the projection has this much in the space of the sums is determined.
_DETERMINED = 1 - 1e-9


#: The figures of a table of some axes.
OfAxes = Callable[[tuple[int, ...]], Array]


def hidden_cells(people: Array, most: OfAxes, grown: OfAxes | None = None) -> Cells:
    """The cells of a joint table of people, with two or more axes, that are not shown.

    `most` says for some of the axes how many people each cell of their table has at most; a cell
    that cannot occur, as everybody knows, has infinitely many. `grown` says by how many people each
    has grown since an earlier table was shown. What the tables of two questions hide is hidden in
    that of three too. The same questions must come in the same order of axes every time: the choice
    of further cells depends on it.
    """

    def few_new(axes: tuple[int, ...]) -> Cells:
        return np.asarray(np.False_) if grown is None else few_grown(grown(axes))

    @cache
    def hidden(axes: tuple[int, ...]) -> Cells:
        """The hidden cells of the table of some axes."""
        others = tuple({*range(people.ndim)} - {*axes})
        impossible = np.isinf(most(axes))
        small = few_new(axes) & ~impossible
        for n in range(1, len(axes)):
            for positions in combinations(range(len(axes)), n):
                subset = tuple(axes[position] for position in positions)
                cells = (most(subset) < SMALLEST_GROUP) | few_new(subset)
                if n > 1:
                    cells = cells | hidden(subset)
                rest = tuple(position for position in range(len(axes)) if position not in positions)
                small = small | np.expand_dims(cells, rest)
        counts = np.where(impossible, np.inf, people.sum(axis=others))
        return _completed(counts, small & ~impossible)

    return hidden(tuple(range(people.ndim)))


def few_grown(people: Array) -> Cells:
    """Cells that grew by so few people that the difference would be a small group."""
    return np.asarray((people > 0) & (people < SMALLEST_GROUP))


def _completed(people: Array, small: Cells) -> Cells:
    """The small cells, and as many others as protect them."""
    hidden = small.copy()
    while True:
        open_cells = list(np.argwhere(determined(hidden) & small))
        if not open_cells:
            return hidden
        before = int(hidden.sum())
        for cell in open_cells:
            hidden[_neighbour(people, hidden, cell)] = True
        if int(hidden.sum()) == before:  # nothing is left to hide beside them
            return np.isfinite(people)


def _neighbour(people: Array, hidden: Cells, cell: npt.NDArray[np.intp]) -> tuple[int, ...]:
    """The shown cell with the fewest people in a line with this one; itself if there is none."""
    best, fewest = tuple(map(int, cell)), np.inf
    for axis, size in enumerate(people.shape):
        for step in range(size):
            other = (*map(int, cell[:axis]), step, *map(int, cell[axis + 1 :]))
            if not hidden[other] and people[other] < fewest:
                best, fewest = other, float(people[other])
    return best


def determined(hidden: Cells) -> Cells:
    """The hidden cells that follow from the shown ones and the sums along every axis."""
    cells = np.zeros(hidden.shape, bool)
    places = np.argwhere(hidden)
    if not len(places):
        return cells
    lines = []
    for axis in range(hidden.ndim):
        rest = np.delete(places, axis, axis=1)
        _, line = np.unique(rest, axis=0, return_inverse=True)
        lines.append(np.eye(int(line.max()) + 1)[:, line.ravel()])
    _, sizes, right = np.linalg.svd(np.concatenate(lines), full_matrices=False)
    in_sums = (right[sizes > 1e-9] ** 2).sum(axis=0)
    cells[hidden] = in_sums > _DETERMINED
    return cells
