"""What must hold for disguise_spark, checked with a real cluster."""

from __future__ import annotations

import signal
import threading
import time
from collections.abc import Iterator
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

from tacit import Attribute, Design, Group, Schema, frapp, matrix, related, unrelated
from tacit.core.label_codes import decode, encode
from tacit.errors import DataError
from tacit.records import count_reported
from tacit.records.disguise import disguise_spark
from tests.support.chance import looks_like
from tests.support.engines import BINARY

EACH = 2000  # records of every true cell
OFF = 0.05
DESIGN = Design(
    Schema(
        [
            Attribute("smokes", ["no", "yes"]),
            Attribute("children", [0, 1, 2]),
            Attribute("ill", [False, True]),
        ]
    ),
    [
        Group(["smokes"], related("2/3")),
        Group(["children"], frapp(4)),
        Group(["ill"], unrelated("1/2", ["1/5", "4/5"])),
    ],
)
TALL = Design(
    Schema([Attribute("a", ["x", "y"])]),
    [Group(["a"], matrix([["3/4", "1/8"], ["1/8", "3/4"], ["1/8", "1/8"]]))],
)


def true_records(design: Design) -> Any:
    """EACH records of every true cell, with the number of each record."""
    sizes = design.schema.sizes
    cells = np.stack(np.unravel_index(np.arange(np.prod(sizes)), sizes), axis=1)
    table = decode(np.tile(cells.astype(np.uint8), (EACH, 1)), design.schema, "pyarrow")
    return table.append_column("name", pa.array(np.arange(len(table))))


def in_order(session: Any, true: Any, partitions: int) -> Any:
    """The records as a frame of partitions, in the same order."""
    frame = session.createDataFrame(true)
    return frame.repartitionByRange(partitions, "name").sortWithinPartitions("name")


def reports_have_the_frequencies_of_the_channel(session: Any) -> None:
    """Every (true, reported) pair; a slightly wrong channel is found."""
    for design, seed in ((DESIGN, 7), (DESIGN, None), (TALL, 7)):
        reported = disguise_spark(in_order(session, true_records(design), 5), design, seed)
        assert reported.columns == list(design.reported.names)
        codes = encode(reported.toArrow(), design.reported)
        cells = int(np.prod(design.schema.sizes))
        reports = np.ravel_multi_index(tuple(codes.T.astype(np.intp)), design.reported.sizes)
        pairs = reports * cells + np.tile(np.arange(cells), EACH)
        n_reports = int(np.prod(design.reported.sizes))
        counts = np.bincount(pairs, minlength=n_reports * cells).reshape(n_reports, cells)
        M = design.channel(design.schema.names).matrix
        assert looks_like(counts, EACH, M)
        wrong, columns = M.copy(), np.arange(cells)
        wrong[M.argmax(axis=0), columns] -= OFF
        wrong[M.argmin(axis=0), columns] += OFF
        assert not looks_like(counts, EACH, wrong)


def reports_are_the_same_for_the_same_partitions(session: Any) -> None:
    """For any size of Arrow batches, beside other frames, and for every action."""
    true = true_records(DESIGN)
    frame = in_order(session, true, 3).localCheckpoint()
    expected = disguise_spark(frame, DESIGN, 7).toArrow()
    batches = "spark.sql.execution.arrow.maxRecordsPerBatch"
    before = session.conf.get(batches)
    session.conf.set(batches, "977")
    try:
        assert disguise_spark(frame, DESIGN, 7).toArrow().equals(expected)
    finally:
        session.conf.set(batches, before)
    twice = disguise_spark(frame, DESIGN, 8).union(disguise_spark(frame, DESIGN, 7)).toArrow()
    assert twice.slice(len(true)).equals(expected)
    assert not twice.slice(0, len(true)).equals(expected)
    other = disguise_spark(frame.coalesce(1), DESIGN, 7).toArrow()
    assert not other.equals(expected)  # other partitions, other draws
    entropy = disguise_spark(frame, DESIGN)
    assert entropy.toArrow().equals(entropy.toArrow())  # a person has one report
    assert not disguise_spark(frame, DESIGN).toArrow().equals(entropy.toArrow())


def bad_records_are_refused(session: Any) -> None:
    frame = session.createDataFrame([("no", 0, True), ("yes", 9, False)], list(DESIGN.schema.names))
    with pytest.raises(Exception, match=r"partition \d: unknown category 9 of attribute 'child"):
        disguise_spark(frame.coalesce(1), DESIGN, 7).collect()
    with pytest.raises(DataError, match="no column for attribute 'ill'"):
        disguise_spark(frame.drop("ill"), DESIGN, 7)
    with pytest.raises(DataError, match="need a Spark frame"):
        disguise_spark(frame.toPandas(), DESIGN, 7)


def _sleepily(batches: Iterator[Any]) -> Iterator[Any]:
    for batch in batches:
        time.sleep(120)
        yield batch


def ctrl_c_cancels_the_jobs(session: Any) -> None:
    """The session can be used afterwards."""
    names = list(BINARY.schema.names)
    frame = session.createDataFrame([("no",) * len(names)] * 50, names)
    tracker = session.sparkContext.statusTracker()

    def interrupt() -> None:
        while not tracker.getActiveJobsIds():
            time.sleep(0.05)
        time.sleep(1)
        signal.pthread_kill(threading.main_thread().ident or 0, signal.SIGINT)

    thread = threading.Thread(target=interrupt)
    thread.start()
    with pytest.raises(KeyboardInterrupt):
        count_reported(frame.mapInArrow(_sleepily, frame.schema), BINARY)
    thread.join()
    for _ in range(200):
        if not tracker.getActiveJobsIds():
            break
        time.sleep(0.05)
    assert not tracker.getActiveJobsIds()
    assert count_reported(frame, BINARY).n_records == 50


SPARK_DISGUISES = [
    reports_have_the_frequencies_of_the_channel,
    reports_are_the_same_for_the_same_partitions,
    bad_records_are_refused,
    ctrl_c_cancels_the_jobs,
]
