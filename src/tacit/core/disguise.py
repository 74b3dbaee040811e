"""disguise: draw reported records from true ones, as the design says.

Each group throws its coin once per record and follows the strategy that comes up. All draws are
exact for the design's fractions, from either source: a NumPy generator for simulation, the
operating system's entropy for real answers.
"""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction
from typing import Any, Literal

import numpy as np

from tacit.core.arrays import Codes, Mask
from tacit.core.conditions import filled
from tacit.core.design import Design, Group, check_design
from tacit.core.exact_draws import Draws, Source, source_of
from tacit.core.label_codes import absent_cells, code_type, decode, encode, with_no_answer
from tacit.errors import DataError, MissingAnswersError

#: Records disguised at a time, so that they stay in the cache.
BLOCK = 1 << 15


def disguise(
    true: Any,
    design: Design,
    rng: np.random.Generator | None = None,
    keep: Sequence[str] = (),
) -> Any:
    """Draw reported records from true ones.

    Columns that the design does not know, and the index of a pandas frame, are left out, so nothing
    leaves undisguised by mistake; `keep` names columns that should. A missing answer is never
    disguised: it stays missing, which everybody can see. But where the condition of a question
    fails, it becomes "does not apply" and is disguised; a record that contradicts a condition is an
    error. The same generator state gives the same reports for the same records in the same memory
    order. A frame of pandas or PyArrow remembers which of its columns are disguised: disguising it
    again is a warning, and so is a prediction from it.

    Parameters
    ----------
    true : pandas, Polars or PyArrow frame, or integer array
        Labels by column name, or codes (records x attributes).
    design : Design
    rng : numpy.random.Generator, optional
        For simulation. None draws from the operating system's entropy: use it for answers of real
        people.
    keep : list of str, optional
        Columns of the frame that are copied as they are, after the reports.

    Returns
    -------
    frame or array
        As `true`, in the same order of records.

    Examples
    --------
    >>> import pyarrow as pa, numpy as np
    >>> from tacit import Attribute, Design, Group, Schema, disguise, related
    >>> schema = Schema([Attribute("smokes", ["no", "yes"])])
    >>> design = Design(schema, [Group(["smokes"], related(0.75))])
    >>> people = pa.table({"smokes": ["no", "yes"], "age": [25, 62], "name": ["Ada", "Bo"]})
    >>> disguise(people, design, np.random.default_rng(7), keep=["age"]).column_names
    ['smokes', 'age']
    """
    check_design(design)
    if rng is not None and not isinstance(rng, np.random.Generator):
        raise DataError(
            f"rng must be a numpy.random.Generator, such as numpy.random.default_rng(7), or None "
            f"for the operating system's entropy; got {rng!r}"
        )
    if isinstance(true, np.ndarray):
        if len(keep):
            raise DataError(
                "keep names columns of a frame, and these records are an array of codes"
            )
        codes, _ = filled(encode(true, design.schema), design.conditions, design.schema)
        return Disguiser(design).draw(codes, source_of(rng))
    from tacit.core import frames

    frames.check_kept(true, keep, {*design.schema.names, *design.reported.names})
    hidden = [name for name in design.schema.names if not design.is_exact(name)]
    again = "these records are reports already: disguised again, estimates from them are wrong"
    frames.warn_about_reports(true, hidden, again)
    absent = None
    try:
        codes = encode(true, design.schema)
    except MissingAnswersError:
        codes, absent = absent_cells(encode(true, with_no_answer(design.schema)), design.schema)
    codes, absent = filled(codes, design.conditions, design.schema, absent)
    absent = None if absent is None else absent_reports(absent, design)
    reported = Disguiser(design).draw(codes, source_of(rng))
    frame = decode(reported, design.reported, frames.open_frame(true).implementation, absent)
    if len(keep):
        frame = frames.with_columns(frame, true, keep)
    exact = set(design.schema.names) - set(hidden)
    return frames.mark_reports(frame, [n for n in design.reported.names if n not in exact])


def absent_reports(absent: Mask, design: Design) -> Mask:
    """Which reports are missing, records x reported attributes, where true answers are.

    A report that depends on several true answers is missing if one of them is.
    """
    missing = np.zeros((len(absent), len(design.reported)), bool)
    for group in design.groups:
        attributes = design.attributes_of(group)
        true = [design.schema.index(name) for name in group.attributes]
        reports = [design.reported.index(a.name) for a in group.coin.reported(attributes)]
        if group.coin.separable:
            missing[:, reports] = absent[:, true]
        else:
            missing[:, reports] = absent[:, true].any(axis=1, keepdims=True)
    return missing


class Disguiser:
    """A design prepared for drawing."""

    def __init__(self, design: Design) -> None:
        self._type, self._width = code_type(design.reported), len(design.reported)
        self._devices = _devices(design)

    def draw(self, codes: Codes, source: Source) -> Codes:
        """Reported codes for validated true codes, in the same memory order.

        Records that come in parts get the same draws, if all parts but the last are multiples
        of BLOCK records.
        """
        by_column = codes.flags.f_contiguous or codes.strides[0] < codes.strides[1]
        order: Literal["F", "C"] = "F" if by_column else "C"
        reported = np.empty((len(codes), self._width), self._type, order=order)
        for start in range(0, len(codes), BLOCK):
            block = slice(start, start + BLOCK)
            for device in self._devices:
                device.disguise(codes[block], reported[block], source)
        return reported


def _devices(design: Design) -> list[_Flipping | _Following]:
    """A device per group; groups of yes/no answers with the same odds share one."""
    devices: list[_Flipping | _Following] = []
    flips: dict[tuple[Fraction, ...], list[list[int]]] = {}
    same_columns = design.schema.names == design.reported.names
    for group in design.groups:
        odds = group.coin.flip_odds(design.attributes_of(group)) if same_columns else None
        if odds is None:
            devices.append(_Following(design, group))
        else:
            flips.setdefault(odds, []).append([design.schema.index(n) for n in group.attributes])
    return devices + [_Flipping(odds, columns) for odds, columns in flips.items()]


class _Flipping:
    """Keep or flip all answers of a group: an exclusive or with its coin. The fast case."""

    def __init__(self, odds: tuple[Fraction, ...], groups: list[list[int]]) -> None:
        self._coin = Draws([odds])
        self._groups = groups
        self._columns = [column for group in groups for column in group]
        first, last = self._columns[0], self._columns[-1]
        adjacent = self._columns == list(range(first, last + 1))
        self._place: Any = slice(first, last + 1) if adjacent else self._columns

    def disguise(self, true: Codes, reported: Codes, source: Source) -> None:
        coins = self._coin.draw(None, len(true) * len(self._groups), source)
        if true.flags.f_contiguous or not true.flags.c_contiguous:
            for group, coin in zip(self._groups, coins.reshape(-1, len(true)), strict=True):
                for column in group:
                    reported[:, column] = true[:, column] ^ coin
        else:
            spread = coins.reshape(len(true), -1)
            if len(self._columns) > len(self._groups):
                spread = np.repeat(spread, [len(group) for group in self._groups], axis=1)
            if isinstance(self._place, slice):
                np.bitwise_xor(true[:, self._place], spread, out=reported[:, self._place])
            else:
                reported[:, self._place] = true[:, self._place] ^ spread


class _Following:
    """Throw the coin, then follow the strategy that came up, for any coin."""

    def __init__(self, design: Design, group: Group) -> None:
        attributes = design.attributes_of(group)
        reports = group.coin.reported(attributes)
        self._true = [design.schema.index(name) for name in group.attributes]
        self._reported = [design.reported.index(a.name) for a in reports]
        weighted = [(w, s) for w, s in group.coin.strategies(attributes) if w > 0]
        self._coin = Draws([[w for w, _ in weighted]]) if len(weighted) > 1 else None
        sizes, reported_sizes = [a.size for a in attributes], [a.size for a in reports]
        self._redraws = [strategy.redraws(sizes, reported_sizes) for _, strategy in weighted]

    def disguise(self, true: Codes, reported: Codes, source: Source) -> None:
        came_up = None if self._coin is None else self._coin.draw(None, len(true), source)
        answers = [true[:, column] for column in self._true]
        reports = [reported[:, column] for column in self._reported]
        if len(answers) == len(reports):
            for answer, report in zip(answers, reports, strict=True):
                report[:] = answer
        for number, redraws in enumerate(self._redraws):
            rows: Any = slice(None) if came_up is None else np.flatnonzero(came_up == number)
            for redraw in redraws:
                redraw(answers, reports, rows, source)
