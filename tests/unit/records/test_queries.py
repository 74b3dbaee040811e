"""cancellable: the result of a call, its error, or a cancelled query."""

from __future__ import annotations

import threading

import pytest

from tacit.records import queries
from tacit.records.queries import cancellable


def no_cancel() -> None:
    raise AssertionError("cancelled")


def test_the_result_and_the_error_of_the_work_pass() -> None:
    assert cancellable(lambda: 7, no_cancel) == 7
    with pytest.raises(ZeroDivisionError):
        cancellable(lambda: 1 / 0, no_cancel)


@pytest.mark.parametrize("raised", [KeyboardInterrupt, SystemExit, ValueError])
def test_an_exception_while_waiting_cancels_the_work_until_it_ends(
    raised: type[BaseException], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(queries, "PERIOD", 0.001)
    cancelled, ended = threading.Event(), []

    def work() -> None:
        cancelled.wait(60)
        ended.append(True)
        raise RuntimeError("query interrupted")

    def cancel() -> None:
        calls.append(1)
        if len(calls) == 1:
            raise OSError("the connection is busy")  # a call that fails is repeated
        cancelled.set()

    def look() -> None:
        raise raised

    calls: list[int] = []
    with pytest.raises(raised):
        cancellable(work, cancel, look)
    assert ended
    assert len(calls) >= 2
