"""Calls of an engine that Ctrl-C cancels, and that tell how far they are.

Compiled code of an engine does not see signals. So the engine works in a thread while the calling
thread waits: an exception there, such as Ctrl-C or an exceeded memory limit, cancels the query,
waits for its end and goes on.
"""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor, wait
from contextlib import suppress
from typing import TypeVar

Result = TypeVar("Result")

#: Seconds between two looks at the progress.
PERIOD = 0.1


def cancellable(
    work: Callable[[], Result],
    cancel: Callable[[], object],
    look: Callable[[], object] = lambda: None,
) -> Result:
    """The result of `work`; `cancel` must make it return soon, `look` is called now and then."""
    with ThreadPoolExecutor(1, "engine") as pool:
        running = pool.submit(work)
        try:
            while not wait([running], PERIOD).done:
                look()
        except BaseException:
            while not wait([running], PERIOD).done:  # a query may start after it was cancelled
                with suppress(Exception):
                    cancel()
            raise
        return running.result()
