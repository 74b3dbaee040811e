"""run: the settings that are not finished yet, on several processes.

Every setting is a job. Results are written as soon as a setting is finished, so a run that was
stopped continues from there; an unfinished setting starts again.
"""

from __future__ import annotations

import multiprocessing
import os
import signal
import threading
from collections.abc import Callable, Generator, Sequence
from contextlib import closing, suppress
from dataclasses import dataclass
from functools import partial
from multiprocessing.pool import IMapIterator
from pathlib import Path
from typing import Any

from threadpoolctl import threadpool_limits

from tacit.papers.stored_results import keep, kept
from tacit.papers.study_settings import Rows, Setting, Tell

#: Seconds between checks for messages of the processes.
_LOOK = 0.2

#: Runs one setting.
Job = Callable[[Setting, Tell], Rows]
#: Settings as they are finished, with their rows.
Finished = Generator[tuple[Setting, Rows], None, None]
#: Called after every step; see `Progress`.
Watch = Callable[["Progress"], None]


@dataclass
class Progress:
    """Progress of a run: settings, repeats and approximate seconds of work, in total and done.

    `name` is the setting that reported last.
    """

    settings: int
    repeats: int
    work: float
    settings_done: int = 0
    repeats_done: int = 0
    work_done: float = 0.0
    name: str = ""

    def add(self, setting: Setting, repeats: int) -> None:
        """More repeats of a setting are done."""
        self.repeats_done += repeats
        self.work_done += repeats * setting.seconds


def run(
    settings: Sequence[Setting],
    job: Job,
    folder: Path,
    processes: int = 1,
    watch: Watch | None = None,
) -> dict[Setting, Rows]:
    """The rows of every setting, in the given order; finished settings are not run again."""
    found = {one: rows for one in settings if (rows := kept(folder, one)) is not None}
    left = [one for one in settings if one not in found]
    work = sum(one.repeats * one.seconds for one in settings)
    progress = Progress(len(settings), sum(one.repeats for one in settings), work)
    progress.settings_done = len(found)
    for one in found:
        progress.add(one, one.repeats)
    watch = watch or (lambda _: None)
    watch(progress)
    working = _alone if processes == 1 else _several
    with closing(working(left, job, processes, _RepeatCounter(left, progress, watch))) as finished:
        for one, rows in finished:
            keep(folder, one, rows)
            found[one] = rows
            progress.settings_done += 1
            watch(progress)
    return {one: found[one] for one in settings}


class _RepeatCounter:
    """Adds up the finished repeats of all settings."""

    def __init__(self, settings: Sequence[Setting], progress: Progress, watch: Watch) -> None:
        self._progress, self._watch = progress, watch
        self._settings = {_name(one): one for one in settings}
        self._done: dict[str, int] = {}

    def __call__(self, name: str, done: int) -> None:
        self._progress.add(self._settings[name], done - self._done.get(name, 0))
        self._done[name] = done
        self._progress.name = name
        self._watch(self._progress)


def _name(setting: Setting) -> str:
    return f"{setting.study} {setting.name}"


def _alone(
    settings: Sequence[Setting], job: Job, processes: int, counter: _RepeatCounter
) -> Finished:
    """Run one after the other, in this process."""
    with threadpool_limits(1):
        for one in settings:
            yield one, job(one, partial(counter, _name(one)))
            counter(_name(one), one.repeats)


def _several(
    settings: Sequence[Setting], job: Job, processes: int, counter: _RepeatCounter
) -> Finished:
    """Run in several processes, in the order in which they finish; an exception ends all."""
    context = multiprocessing.get_context("spawn")
    messages = context.SimpleQueue()
    with context.Pool(processes, _begin, (messages, job)) as pool:
        coming = pool.imap_unordered(_work, settings)
        for _ in settings:
            one, rows = _next(coming, messages, counter)
            counter(_name(one), one.repeats)
            yield one, rows


def _next(
    coming: IMapIterator[Any], messages: Any, counter: _RepeatCounter
) -> tuple[Setting, Rows]:
    """The next result; messages that arrive meanwhile are passed on."""
    found: tuple[Setting, Rows] | None = None
    while found is None:
        with suppress(multiprocessing.TimeoutError):
            found = coming.next(_LOOK)
        while not messages.empty():
            counter(*messages.get())
    return found


#: The arguments that a process of the pool was started with.
_own: dict[str, Any] = {}


def _begin(messages: Any, job: Job) -> None:
    """Ignore Ctrl-C: the parent process ends this one, also if it is killed itself."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    signal.signal(signal.SIGTERM, signal.SIG_DFL)
    threading.Thread(target=_end_with_parent, daemon=True).start()
    _own.update(messages=messages, job=job)


def _end_with_parent() -> None:
    """Exit when the parent is gone: nobody needs the result."""
    parent = multiprocessing.parent_process()
    if parent is not None:
        parent.join()
        os._exit(1)


def _work(one: Setting) -> tuple[Setting, Rows]:
    with threadpool_limits(1):
        return one, _own["job"](one, lambda done: _own["messages"].put((_name(one), done)))
